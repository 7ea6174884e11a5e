package suites

import (
	"bytes"
	"cmp"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/redact"
	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// The symptoms are the values of [Cause].Kind. Each is a reason why checks can judge little in an
// exchange or in a whole conversation.
const (
	symptomUnreachable    = "unreachable"   // no connection
	symptomInterrupted    = "interrupted"   // the test run was cancelled
	symptomNotSent        = "not-sent"      // the request could not be built
	symptomNotHTTP        = "not-http"      // the response is not HTTP
	symptomNoResponse     = "no-answer"     // no byte of a response in time
	symptomClosed         = "closed"        // connection closed without a response
	symptomCredentials    = "credentials"   // 401, 403, 407
	symptomNotFound       = "path"          // 404, 405, 410, 501
	symptomRedirect       = "redirect"      // 3xx
	symptomRefused        = "refused"       // any other 4xx
	symptomServerError    = "server-error"  // 5xx
	symptomNotEventStream = "not-a-stream"  // 2xx with a media type other than text/event-stream
	symptomContentCoding  = "coding"        // a content coding that was not requested
	symptomNotAccepted    = "not-accepted"  // 2xx that does not report an accepted run
	symptomEmpty          = "empty-stream"  // empty body, or no event except the terminator
	symptomNoData         = "no-data"       // no data line
	symptomNoBlankLine    = "no-blank-line" // data, but no blank line that ends an event
	symptomNotJSON        = "not-json"      // no event has JSON as its data
	symptomEventTooLarge  = "too-large"     // the first event is larger than the maximum size of an event
	symptomOtherDialect   = "other-dialect" // most events are unknown in the dialect, or those of another
	symptomNotEnded       = "not-ended"     // the stream did not end in time
	symptomRunFailed      = "run-failed"    // the run failed before any text
	symptomNoText         = "no-text"       // no stream of the conversation has readable text
	symptomNotScripted    = "not-scripted"  // the agent does not follow the test prompts
)

// maxBodyPrefix is the number of bytes of a body that a summary retains for quotations in messages.
const maxBodyPrefix = 16 << 10

// An exchangeSummary contains the data of one exchange that a [CauseAnalysis] needs, so that the
// recording need not be read again.
type exchangeSummary struct {
	operation     string // method and path of the operation, such as "POST /runs"; of the request if it matches none
	requestTarget string // path and query
	isStream      bool   // the operation responds with an event stream
	startsRun     bool   // the operation starts a run
	isPlain       bool   // the request is valid, matches an operation, is from the primary user and does not accept gzip
	prompt        string // text of the last user message in the request, or in that for its run

	statusRequirement string     // id of the requirement on the status of a successful response
	head, bodyEnd     spec.Event // the events for the head of the response and for the end of its body
	hasUnrecognized   bool       // at least one frame is of no type that the dialect has

	status       int         // status code; 0 if there was no response
	reason       string      // reason phrase of the status
	header       spec.Header // header of the response
	end          error       // the error with which the response ended early; nil if it is complete
	accepted     bool        // the reply reports an accepted run
	frames       int         // number of frames, not counting the terminator
	validFrames  int         // number of frames that are valid in the dialect
	knownFrames  int         // number of frames that the dialect has a schema for, valid or not
	jsonFrames   int         // number of frames whose data is JSON
	terminated   bool        // the stream has the terminator, such as [DONE]
	firstFrame   []byte      // beginning of the first frame
	tooLarge     bool        // a frame is larger than the maximum size of an event; it is the last frame
	hasText      bool        // hasReadableText returned true for an event
	responseText string      // beginning of the assistant's text
	failureText  string      // code and beginning of the message of a failed or refused run
	failed       bool        // the run failed or was refused
	symptom      string      // one of the symptoms; "" if there is none
	bodyPrefix   []byte      // the first [maxBodyPrefix] bytes of the body; nil if symptom is ""
}

// summarizeExchanges returns an iterator that yields the given events unchanged and appends a
// summary of each exchange to *list. The events must be those of recording t, decoded in dialect d.
// The summary of an exchange is complete when the iterator has yielded the event for the end of its
// body.
func summarizeExchanges(
	d *dialect.Dialect, t spec.Trace, events iter.Seq[spec.Event], list *[]exchangeSummary,
) iter.Seq[spec.Event] {
	operations := map[string]*dialect.Operation{}
	for _, o := range d.Operations() {
		operations[o.Name] = o
	}
	return func(yield func(spec.Event) bool) {
		prompts := map[[2]string]string{} // by thread and run
		for e := range events {
			if e.Kind == spec.HTTPRequest {
				o, run := newExchangeSummary(e, operations[e.Operation], t), [2]string{e.Thread, e.Run}
				if o.prompt = cmp.Or(o.prompt, prompts[run]); e.Run != "" {
					prompts[run] = o.prompt
				}
				*list = append(*list, o)
			}
			if n := len(*list); n > 0 {
				(*list)[n-1].addEvent(e)
				if e.Kind == spec.BodyEnd && e.Exchange < len(t.Exchanges) {
					(*list)[n-1].classify(d, t.Exchanges[e.Exchange].Response)
				}
			}
			if !yield(e) {
				return
			}
		}
	}
}

// newExchangeSummary returns a summary that contains only the data of the request of an exchange.
// The argument e is the event of the request, o is the operation that the request matches, or nil
// if there is none, and t is the recording.
func newExchangeSummary(e spec.Event, o *dialect.Operation, t spec.Trace) exchangeSummary {
	out := exchangeSummary{isPlain: e.Principal == spec.PrimaryUser && e.Valid()}
	out.prompt, _ = e.Prompt()
	out.statusRequirement = cmp.Or(e.Facts().Promised.Status, e.Requirement)
	var request spec.Request
	if e.Exchange < len(t.Exchanges) {
		request = t.Exchanges[e.Exchange].Request
	}
	out.requestTarget = request.Target
	out.isPlain = out.isPlain && request.Header.Get("Accept-Encoding") != acceptGzip
	if o != nil {
		out.operation, out.isStream, out.startsRun = o.Name, o.IsStream, o.StartsRun
		return out
	}
	out.isPlain = false
	path, _, _ := strings.Cut(request.Target, "?")
	out.operation = strings.TrimSpace(request.Method + " " + path)
	return out
}

// addEvent updates the summary with e, the next event of the exchange.
func (o *exchangeSummary) addEvent(e spec.Event) {
	switch e.Kind {
	case spec.HTTPResponse:
		o.head = e
	case spec.BodyEnd:
		o.bodyEnd = e
	case spec.RunAccepted:
		o.accepted = true
	case spec.MessageDelta, spec.ContentEnd:
		if len(o.responseText) < maxExcerptBytes {
			o.responseText += e.Text[:min(len(e.Text), maxExcerptBytes)]
		}
	}
	o.hasText = o.hasText || hasReadableText(e)
	o.hasUnrecognized = o.hasUnrecognized || e.IsFrame() && e.Kind == spec.Unrecognized
	if e.Kind == spec.RunError || e.Kind == spec.RunRefused {
		o.failed, o.failureText = true, strings.TrimSpace(e.Code+" "+e.Text[:min(len(e.Text), maxExcerptBytes)])
	}
	if o.terminated = o.terminated || e.Kind == spec.Done; !e.IsFrame() || e.Kind == spec.Done {
		return
	}
	if o.frames++; o.frames == 1 {
		o.firstFrame = bytes.Clone(bytes.TrimSpace(e.Raw[:min(len(e.Raw), maxExcerptBytes)]))
	}
	notJSON := func(f spec.EncodingFlaw) bool { return f.Kind == spec.FlawJSON || f.Kind == spec.FlawUTF8 }
	if !slices.ContainsFunc(e.Flaws, notJSON) {
		o.jsonFrames++
	}
	isTooLarge := func(f spec.EncodingFlaw) bool { return f.Kind == spec.FlawTooLarge }
	o.tooLarge = o.tooLarge || slices.ContainsFunc(e.Flaws, isTooLarge)
	if e.Kind != spec.Undecodable && e.Valid() && len(e.Flaws) == 0 {
		o.validFrames++
	}
	if isKnownFrame(e) {
		o.knownFrames++
	}
}

// isKnownFrame reports whether the dialect has a schema for e, an event that was decoded from a
// frame. The event may violate that schema.
func isKnownFrame(e spec.Event) bool {
	return e.Kind != spec.Undecodable && e.Kind != spec.Unrecognized
}

// classify sets the fields of o that depend on the complete response r in dialect d, including the
// symptom of the exchange. It must be called once, after addEvent was called with the last event of
// the exchange.
func (o *exchangeSummary) classify(d *dialect.Dialect, r spec.Response) {
	o.status, o.reason, o.header, o.end = r.Status, r.Reason, r.Header, r.End
	if o.symptom = o.headSymptom(); o.symptom == "" {
		o.symptom = o.bodySymptom(d, r)
	}
	if o.symptom != "" {
		o.bodyPrefix = bytes.Clone(prefixOf(r.Body))
	}
}

// prefixOf returns the first [maxBodyPrefix] bytes of body, or all if it is shorter.
func prefixOf(body []byte) []byte { return body[:min(len(body), maxBodyPrefix)] }

// headSymptom returns the symptom, such as [symptomNotFound], that the status of the response or
// the lack of a response shows, or "" if there is none. It uses the fields status and end.
func (o *exchangeSummary) headSymptom() string {
	switch {
	case o.status == 0 && errors.Is(o.end, spec.ErrNotHTTP):
		return symptomNotHTTP
	case o.status == 0 && (errors.Is(o.end, spec.ErrIdleTimeout) || errors.Is(o.end, spec.ErrLimitExceeded)):
		return symptomNoResponse
	case o.status == 0 && o.end != nil && !errors.Is(o.end, spec.ErrClientLeft):
		return symptomClosed
	case o.status == 401 || o.status == 403 || o.status == 407:
		return symptomCredentials
	case o.status == 404 || o.status == 405 || o.status == 410 || o.status == 501:
		return symptomNotFound
	case o.status/100 == 3:
		return symptomRedirect
	case o.status/100 == 4:
		return symptomRefused
	case o.status/100 == 5:
		return symptomServerError
	}
	return ""
}

// bodySymptom returns the symptom, such as [symptomEmpty], that the body of r shows, or "" if there
// is none. The argument r is a response in dialect d. If the status of r is not 2xx, bodySymptom
// returns "".
func (o *exchangeSummary) bodySymptom(d *dialect.Dialect, r spec.Response) string {
	switch {
	case o.status/100 != 2:
		return ""
	case o.isStream && !o.head.IsStream():
		return symptomNotEventStream
	case o.startsRun && !o.isStream:
		if !o.accepted {
			return symptomNotAccepted
		}
		return ""
	case !o.isStream:
		return ""
	}
	ended := !errors.Is(o.end, spec.ErrIdleTimeout) && !errors.Is(o.end, spec.ErrLimitExceeded)
	switch {
	case o.frames == 0 && !ended && len(r.Body) == 0, o.frames > 0 && o.validFrames > 0 && !ended:
		return symptomNotEnded
	case o.frames == 0 && errors.Is(o.end, spec.ErrClientLeft):
		if r.Header.ContentCoding() != "" {
			return symptomContentCoding
		}
		return ""
	case len(r.Body) == 0 || o.frames == 0 && o.terminated:
		return symptomEmpty
	case o.frames == 0 && r.Header.ContentCoding() != "":
		return symptomContentCoding
	case o.frames == 0 && !hasData(r.Body):
		return symptomNoData
	case o.frames == 0:
		return symptomNoBlankLine
	case o.frames == 1 && o.tooLarge:
		return symptomEventTooLarge
	case o.jsonFrames == 0:
		return symptomNotJSON
	case 2*o.validFrames < o.frames && (2*o.knownFrames < o.frames || similarDialect(d, prefixOf(r.Body)) != ""):
		return symptomOtherDialect
	case o.failed && o.responseText == "" && !o.failedAsRequested():
		return symptomRunFailed
	}
	return ""
}

// failedAsRequested reports whether the prompt asked for a failure, and the message of the failure
// contains the words of the prompt.
func (o *exchangeSummary) failedAsRequested() bool {
	_, words, _ := strings.Cut(o.prompt, " ")
	return rules.IsFailurePrompt(o.prompt) && words != "" && strings.Contains(o.failureText, words)
}

// hasData reports whether body, an event stream, contains a data field.
func hasData(body []byte) bool {
	_, ok := sse.FindField(bytes.TrimPrefix(body, []byte("\ufeff")), "data")
	return ok
}

// Limits on the length of a text that a message quotes from a request or response.
const (
	maxExcerpt      = 160              // characters
	maxExcerptBytes = 4*maxExcerpt + 4 // bytes of a text that are kept, enough for the first maxExcerpt characters
)

// quote returns the first [maxExcerpt] characters of text as a quoted Go string, followed by an
// ellipsis if text is longer. If the text contains double quotation marks, as JSON does, but no
// single ones and no backslashes, the quotation marks around it are single.
func quote(text []byte) string {
	s, cut := shorten(text)
	if cut {
		s += redact.Ellipsis // no space before it: a secret that was cut is recognized by what follows it
	}
	quoted := strconv.Quote(s)
	if strings.Contains(s, `"`) && !strings.ContainsAny(s, `'\`) {
		return "'" + strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`) + "'"
	}
	return quoted
}

// shorten returns the first [maxExcerpt] characters of text as valid UTF-8. cut reports whether
// text is longer than that.
func shorten(text []byte) (s string, cut bool) {
	all := len(text)
	text = text[:min(all, maxExcerptBytes)]
	cut = len(text) < all
	for cut && len(text) > 0 && !utf8.Valid(text) { // cut within a character, or binary
		if r, n := utf8.DecodeLastRune(text); r != utf8.RuneError || n > 1 {
			break
		}
		text = text[:len(text)-1]
	}
	runes := []rune(strings.ToValidUTF8(string(text), "\ufffd"))
	if len(runes) > maxExcerpt {
		return string(runes[:maxExcerpt]), true
	}
	return string(runes), cut
}
