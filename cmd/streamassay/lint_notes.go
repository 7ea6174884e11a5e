package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// lintNotes returns notes on the recording in p. If no request calls an operation of its dialect,
// the only note says so. Otherwise, if a check judged the recording, there are no notes. If no
// check did, the notes say why: for example, the server refused the requests, no frame is
// recognized, or the responses are not HTTP. Notes may quote bodies, from which hide removes
// credentials. The argument base is the base URL that the user gave with --upstream, or nil. The
// argument maxEvent is the maximum size of one event in bytes.
func lintNotes(p suites.ScenarioResult, hide *redact.Redactor, base *url.URL, maxEvent int) (notes []string) {
	d := p.Dialect
	if note := foreignRequestNote(d, p.Trace); note != "" {
		return []string{note}
	}
	for _, r := range p.Evaluation.Results {
		if r.Judged > 0 {
			return nil
		}
	}
	for _, x := range p.Trace.Exchanges {
		if x.Response.Status >= 400 {
			note := refusalNote(d, x, hide)
			if advice := d.EndpointAdvice("--upstream", base); advice != "" && x.Response.Status == http.StatusNotFound {
				note += "; " + advice
			}
			notes = append(notes, note)
		}
	}
	streams := slices.ContainsFunc(p.Trace.Exchanges, func(x spec.Exchange) bool {
		return x.Response.Status/100 == 2 && x.Response.Header.MediaType() == spec.EventStream
	})
	switch {
	case streams && !slices.ContainsFunc(p.Trace.Exchanges, hasBody):
		notes = append(notes, "contains no event: the body of the response is empty")
	case streams && !p.Evaluation.Recognized && beginsTooLarge(p, maxEvent):
		limit := printable.Bytes(maxEvent)
		notes = append(notes, fmt.Sprintf("the first event has more than %s, the limit of --max-event", limit))
	case streams && !p.Evaluation.Recognized:
		note := fmt.Sprintf("contains no event of %s (another dialect, or not an event stream?)", d.Name)
		if done := onlyTerminator(p, maxEvent); done != "" {
			note = fmt.Sprintf("contains only the terminator %s, and no event before it", done)
		}
		notes = append(notes, note)
	case p.Evaluation.NotHTTP && !p.Evaluation.HTTP:
		notes = append(notes, spec.ErrNotHTTP.Error())
	}
	return notes
}

// maxReportedNotes is the maximum number of notes on recordings in a report.
const maxReportedNotes = 5

// firstNotes returns the notes that a report shows: the first [maxReportedNotes] and, if there are
// more, how many are left out.
func firstNotes(notes []string) []string {
	if len(notes) <= maxReportedNotes {
		return notes
	}
	more := fmt.Sprintf("and %d more notes, on standard error", len(notes)-maxReportedNotes)
	return append(slices.Clone(notes[:maxReportedNotes]), more)
}

// hasBody reports whether the response of x has a body that is not empty.
func hasBody(x spec.Exchange) bool { return len(x.Response.Body) > 0 }

// beginsTooLarge reports whether the first frame in the recording of p has more than maxEvent
// bytes.
func beginsTooLarge(p suites.ScenarioResult, maxEvent int) bool {
	for e := range p.Dialect.DecodeExchanges(p.Trace.All(), spec.TargetFacts{}, maxEvent) {
		if e.IsFrame() {
			return slices.ContainsFunc(e.Flaws, func(f spec.EncodingFlaw) bool { return f.Kind == spec.FlawTooLarge })
		}
	}
	return false
}

// onlyTerminator returns the in-band terminator of the dialect, such as [DONE], if all frames in the
// recording of p are that terminator. Otherwise, it returns "".
func onlyTerminator(p suites.ScenarioResult, maxEvent int) (text string) {
	for e := range p.Dialect.DecodeExchanges(p.Trace.All(), spec.TargetFacts{}, maxEvent) {
		switch {
		case e.IsFrame() && e.Kind != spec.Done:
			return ""
		case e.IsFrame():
			text = e.WireName
		}
	}
	return text
}

// foreignRequestNote returns a message if no request of the recording t calls an operation of
// dialect d. The message names the first request. The result is "" if t is empty or a request was
// not recorded, because that request may call an operation of d.
func foreignRequestNote(d *dialect.Dialect, t spec.Trace) string {
	isOwn := func(x spec.Exchange) bool { return x.Request.Method == "" || d.Operation(x.Request) != nil }
	if len(t.Exchanges) == 0 || slices.ContainsFunc(t.Exchanges, isOwn) {
		return ""
	}
	r := t.Exchanges[0].Request
	path, _, _ := strings.Cut(r.Target, "?")
	note := fmt.Sprintf("%s %s: not an operation of %s (its streaming operations: %s)", printableLine([]byte(r.Method)),
		printableLine([]byte(path)), d.Name, strings.Join(streamOperations(d), ", "))
	if others := familiesWithOperation(d, r); len(others) > 0 {
		note += "; is this " + strings.Join(others, " or ") + "?"
	}
	return note
}

// streamOperations returns the names of the operations of d whose response is an event stream.
func streamOperations(d *dialect.Dialect) (names []string) {
	for _, o := range d.Operations() {
		if o.IsStream {
			names = append(names, o.Name)
		}
	}
	return names
}

// familiesWithOperation returns the names of the protocol families, other than that of d, that have
// an operation for the request r. The names are in alphabetical order.
func familiesWithOperation(d *dialect.Dialect, r spec.Request) (families []string) {
	all, err := dialect.All()
	if err != nil {
		return nil // only a hint is lost
	}
	for _, other := range all {
		relative := r
		relative.Target = strings.TrimPrefix(r.Target, other.Base)
		if other.Family != d.Family && other.Operation(relative) != nil && !slices.Contains(families, other.Family) {
			families = append(families, other.Family)
		}
	}
	slices.Sort(families)
	return families
}

// maxShownBody is the maximum number of characters that refusalNote quotes from the body of a
// response.
const maxShownBody = 200

// printableLine returns text on one line, with each sequence of white space replaced by one space.
// Unprintable characters, which could control a terminal, are replaced with U+FFFD.
func printableLine(text []byte) string {
	return oneLine(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || unicode.IsSpace(r) {
			return r
		}
		return unicode.ReplacementChar
	}, string(text)))
}

// refusalNote returns a note on x, an exchange in which the server refused the request. The note
// contains the method and path of the request, and the status and the beginning of the body of the
// response, from which hide has removed credentials. It ends with "the request has no body" if x is
// a POST request to start a run and has no body, and otherwise with "no stream to judge".
func refusalNote(d *dialect.Dialect, x spec.Exchange, hide *redact.Redactor) string {
	what := "the request (not recorded)"
	if x.Request.Method != "" {
		path, _, _ := strings.Cut(x.Request.Target, "?")
		what = printableLine([]byte(x.Request.Method + " " + path))
	}
	reason := cmp.Or(x.Response.Reason, http.StatusText(x.Response.Status))
	note := strings.TrimSpace(fmt.Sprintf("%s got %d %s", what, x.Response.Status, reason))
	if body := hide.String(printableLine(x.Response.Body)); body != "" {
		note += fmt.Sprintf(" %.*s", maxShownBody, body)
	}
	o := d.Operation(x.Request)
	if x.Request.Method == http.MethodPost && len(x.Request.Body) == 0 && o != nil && o.StartsRun {
		note += ": the request has no body"
	} else {
		note += ": no stream to judge"
	}
	return note
}
