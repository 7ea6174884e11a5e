package suites

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// The symptoms: what can be wrong with an exchange as a whole, so that nothing else
// about it can be judged. They are the kinds of a [Cause].
const (
	SymptomUnreachable    = "unreachable"   // no connection
	SymptomInterrupted    = "interrupted"   // the run was called off
	SymptomNotSent        = "not-sent"      // the request could not be made
	SymptomNotHTTP        = "not-http"      // bytes came that are no HTTP
	SymptomNoResponse     = "no-answer"     // nothing came in time
	SymptomClosed         = "closed"        // the connection closed without an answer
	SymptomCredentials    = "credentials"   // 401, 403, 407
	SymptomNotFound       = "path"          // 404, 405, 410, 501
	SymptomRedirect       = "redirect"      // 3xx
	SymptomRefused        = "refused"       // any other 4xx
	SymptomServerError    = "server-error"  // 5xx
	SymptomNotEventStream = "not-a-stream"  // a success of another media type
	SymptomContentCoding  = "coding"        // a content coding that cannot be undone
	SymptomNotAccepted    = "not-accepted"  // a success that does not say that a run was accepted
	SymptomEmpty          = "empty-stream"  // a stream without a byte
	SymptomNoData         = "no-data"       // a stream without a line of data
	SymptomNoBlankLine    = "no-blank-line" // a stream whose first event does not end
	SymptomNotJSON        = "not-json"      // no event holds JSON
	SymptomOtherDialect   = "other-dialect" // most events are not of the dialect
	SymptomNotEnded       = "not-ended"     // the answer began and did not end in time
	SymptomRunFailed      = "run-failed"    // a stream that tells of nothing but a failure
	SymptomNoText         = "no-text"       // streams of events that hold no readable text
	SymptomNotScripted    = "not-scripted"  // the target does not follow the test prompts
)

// maxBodyPrefix bounds what an outline keeps of a body.
const maxBodyPrefix = 16 << 10

// An exchangeSummary is an exchange without its bytes: enough to say why little could be judged.
type exchangeSummary struct {
	operation string // "POST /runs"; where the document has no such operation, method and path
	isStream  bool   // the operation answers with a stream
	startsRun bool   // the operation opens a run
	isPlain   bool   // the user asked, and the document knows no fault of the request
	prompt    string // the prompt

	status       int
	reason       string
	header       spec.Header
	end          error
	accepted     bool // a reply said that a run was accepted
	frames       int
	validFrames  int    // frames of the dialect
	jsonFrames   int    // frames that hold JSON
	terminated   bool   // the terminator came
	firstFrame   []byte // the beginning of the first frame
	hasText      bool   // the answer has text for a person to read
	responseText string // the beginning of the text of the answer
	failureText  string // what a run failed or was refused with
	failed       bool
	symptom      string
	bodyPrefix   []byte // of a body with a symptom, the beginning
}

// summarizeExchanges passes the events of a conversation on, and notes the outline of each
// exchange in list.
func summarizeExchanges(d *dialect.Dialect, t spec.Trace, events iter.Seq[spec.Event], list *[]exchangeSummary) iter.Seq[spec.Event] {
	operations := map[string]*dialect.Operation{}
	for _, o := range d.Operations() {
		operations[o.Name] = o
	}
	return func(yield func(spec.Event) bool) {
		for e := range events {
			if e.Kind == spec.HTTPRequest {
				*list = append(*list, newExchangeSummary(e, operations[e.Operation], t))
			}
			if n := len(*list); n > 0 {
				(*list)[n-1].addEvent(e)
				if e.Kind == spec.BodyEnd && e.Exchange < len(t.Exchanges) {
					(*list)[n-1].classify(t.Exchanges[e.Exchange].Response)
				}
			}
			if !yield(e) {
				return
			}
		}
	}
}

func newExchangeSummary(e spec.Event, o *dialect.Operation, t spec.Trace) exchangeSummary {
	out := exchangeSummary{isPlain: e.Principal == spec.PrimaryUser && e.Valid()}
	out.prompt, _ = e.Prompt()
	if o != nil {
		out.operation, out.isStream, out.startsRun = o.Name, o.IsStream, o.StartsRun
		return out
	}
	out.isPlain = false
	if e.Exchange < len(t.Exchanges) {
		r := t.Exchanges[e.Exchange].Request
		path, _, _ := strings.Cut(r.Target, "?")
		out.operation = strings.TrimSpace(r.Method + " " + path)
	}
	return out
}

// addEvent takes in one event of the exchange.
func (o *exchangeSummary) addEvent(e spec.Event) {
	switch {
	case e.Kind == spec.RunAccepted:
		o.accepted = true
	case e.Kind == spec.MessageDelta || e.Kind == spec.ContentEnd:
		if len(o.responseText) < maxExcerpt {
			o.responseText += e.Text[:min(len(e.Text), maxExcerpt)]
		}
	}
	o.hasText = o.hasText || hasReadableText(e)
	if e.Kind == spec.RunError || e.Kind == spec.RunRefused {
		o.failed, o.failureText = true, strings.TrimSpace(e.Code+" "+excerpt([]byte(e.Text)))
	}
	if o.terminated = o.terminated || e.Kind == spec.Done; !e.IsFrame() || e.Kind == spec.Done {
		return
	}
	if o.frames++; o.frames == 1 {
		o.firstFrame = bytes.Clone(e.Raw[:min(len(e.Raw), 8*maxExcerpt)])
	}
	if !slices.ContainsFunc(e.Flaws, func(f spec.Flaw) bool { return f.Kind == spec.FlawJSON || f.Kind == spec.FlawUTF8 }) {
		o.jsonFrames++
	}
	if e.Kind != spec.Undecodable && e.Valid() && len(e.Flaws) == 0 {
		o.validFrames++
	}
}

// classify finds the symptom.
func (o *exchangeSummary) classify(r spec.Response) {
	o.status, o.reason, o.header, o.end = r.Status, r.Reason, r.Header, r.End
	if o.symptom = o.headSymptom(); o.symptom == "" {
		o.symptom = o.bodySymptom(r)
	}
	if o.symptom != "" {
		o.bodyPrefix = bytes.Clone(r.Body[:min(len(r.Body), maxBodyPrefix)])
	}
}

// headSymptom is the symptom that an answer shows before its body.
func (o *exchangeSummary) headSymptom() string {
	switch {
	case o.status == 0 && errors.Is(o.end, spec.ErrNotHTTP):
		return SymptomNotHTTP
	case o.status == 0 && (errors.Is(o.end, spec.ErrIdleTimeout) || errors.Is(o.end, spec.ErrLimitExceeded)):
		return SymptomNoResponse
	case o.status == 0 && o.end != nil && !errors.Is(o.end, spec.ErrClientLeft):
		return SymptomClosed
	case o.status == 401 || o.status == 403 || o.status == 407:
		return SymptomCredentials
	case o.status == 404 || o.status == 405 || o.status == 410 || o.status == 501:
		return SymptomNotFound
	case o.status/100 == 3:
		return SymptomRedirect
	case o.status/100 == 4:
		return SymptomRefused
	case o.status/100 == 5:
		return SymptomServerError
	}
	return ""
}

// bodySymptom is the symptom of a success.
func (o *exchangeSummary) bodySymptom(r spec.Response) string {
	switch {
	case o.status/100 != 2:
		return ""
	case o.isStream && r.Header.MediaType() != spec.EventStream:
		return SymptomNotEventStream
	case o.startsRun && !o.isStream:
		if !o.accepted {
			return SymptomNotAccepted
		}
		return ""
	case !o.isStream:
		return ""
	}
	ended := !errors.Is(o.end, spec.ErrIdleTimeout) && !errors.Is(o.end, spec.ErrLimitExceeded)
	switch {
	case o.frames == 0 && !ended && len(r.Body) == 0, o.frames > 0 && o.validFrames > 0 && !ended:
		return SymptomNotEnded
	case o.frames == 0 && errors.Is(o.end, spec.ErrClientLeft):
		if isEncoded(r.Header) {
			return SymptomContentCoding
		}
		return ""
	case len(r.Body) == 0 || o.frames == 0 && o.terminated:
		return SymptomEmpty
	case o.frames == 0 && isEncoded(r.Header):
		return SymptomContentCoding
	case o.frames == 0 && !hasData(r.Body):
		return SymptomNoData
	case o.frames == 0:
		return SymptomNoBlankLine
	case o.jsonFrames == 0:
		return SymptomNotJSON
	case 2*o.validFrames < o.frames:
		return SymptomOtherDialect
	case o.failed && o.responseText == "":
		return SymptomRunFailed
	}
	return ""
}

// isEncoded reports whether a body has a content coding.
func isEncoded(h spec.Header) bool {
	coding := strings.TrimSpace(h.Get("Content-Encoding"))
	return coding != "" && !strings.EqualFold(coding, "identity")
}

// hasData reports whether a line of an event stream is a data field.
func hasData(body []byte) bool {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	for line := range bytes.FieldsFuncSeq(body, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if bytes.HasPrefix(line, []byte("data:")) {
			return true
		}
	}
	return false
}

// maxExcerpt bounds a quotation of what was sent or answered, in characters.
const maxExcerpt = 160

// excerpt is the beginning of a text as one line.
func excerpt(text []byte) string {
	text = text[:min(len(text), 8*maxExcerpt)]
	for len(text) > 0 && !utf8.Valid(text) { // cut within a character, or no text at all
		if r, n := utf8.DecodeLastRune(text); r != utf8.RuneError || n > 1 {
			break
		}
		text = text[:len(text)-1]
	}
	line := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "\ufffd")), " "))
	if len(line) > maxExcerpt {
		return string(line[:maxExcerpt]) + " …"
	}
	return string(line)
}
