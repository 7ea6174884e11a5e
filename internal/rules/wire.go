package rules

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var wireChecks = []*spec.Check{
	OpensStream, FramesAreJSON, FramesHaveDataOnly, UTF8, LastFrameIsTerminated, BodyIsComplete, ResponseEnds,
	MatchesSchema, ReplyAsPromised, DeltasArriveIncrementally, KeepsAlive, KeepAliveText, HealthResponds,
}

// OpensStream judges whether the response to a valid request for a stream is an event stream.
var OpensStream = &spec.Check{
	ID: "wire.opens-stream", ReadsDocument: true,
	Doc: `a valid request for a stream is answered with status 200 and text/event-stream

EventSource clients reject every other response. The statuses 401, 403, 404, 409, 410, 429 and 503 are
not judged, because they depend on the client or on the state of the server. There is one exception:
the first request for the stream of a run must not be refused with 403, 404, 409 or 410 in the first
five seconds after the run was accepted.

Also not judged: the refusal of a cursor that the server did not send in a stream of this run; status
204 or a refusal if the cursor is that of the terminal event; an error status if the request answers a
tool call or an interrupt that neither the conversation nor the request contains; a status that the
document states for a run that fails before it has a stream, if the prompt asked for a failure at the
start; other refusals (4xx) that accept.as-documented judges or excuses; a status other than 200 if the
request was not recorded; and a response for which the client did not wait.`,
	Watch: func(p *spec.Pass) func(spec.Event) {
		exchanges := exchangesOf(p)
		var request spec.Event
		requestedRun := ""              // run key of request
		known := map[string]string{}    // by cursor: the run key
		endCursors := map[string]bool{} // cursors of terminal events
		var responses streamResponsesByMediaType
		requests := validRequestsOf(p)
		isLeft := map[int]bool{} // by index of the exchange: refusals that are left to accept.as-documented
		p.AtEnd(func() {
			for _, x := range requests.refused {
				if _, blamed := requests.blame(p, x); len(blamed) == 0 && isLeft[x.request.Exchange] {
					responses.add(p, x.request, x.response)
				}
			}
			responses.judge(p)
		})
		return func(e spec.Event) {
			if e.IsFrame() && e.Cursor != "" {
				if known[e.Cursor] = requestedRun; isTerminal(e) {
					endCursors[e.Cursor] = true
				}
			}
			switch {
			case e.Kind == spec.HTTPRequest:
				request, requestedRun = e, runKey(e)
			case e.Kind != spec.HTTPResponse || !request.IsStream() || !request.Valid() ||
				exchanges.current.hasExcusedStatus() || errors.Is(e.Err, spec.ErrClientLeft):
			case request.Header == nil && e.StatusCode != 200: // the request was not recorded
			case e.StatusCode/100 == 4 && request.Cursor != "" && known[request.Cursor] != runKey(request):
			case request.Cursor != "" && endCursors[request.Cursor] && (e.StatusCode == 204 || e.StatusCode/100 == 4):
			case e.StatusCode >= 400 && exchanges.current.unaskedAnswer || failsBeforeStream(request, e):
			case e.StatusCode/100 == 4 && len(request.Exercised) > 0:
				isLeft[request.Exchange] = true
			default:
				responses.add(p, request, e)
			}
		}
	},
}

// A streamResponsesByMediaType collects the responses with status 200 to requests for a stream. The
// field streams contains the responses that are event streams, and others contains the other ones.
//
// The media types are judged at the end of the conversation. Only then is it known whether the
// server sends no streams at all, or only ignores the default value of a member that the request
// omitted.
type streamResponsesByMediaType struct{ streams, others []requestWithResponseHead }

// A requestWithResponseHead is a request and the head of its response.
type requestWithResponseHead struct{ request, response spec.Event }

// add judges the status and, if the status is 200, the content coding of the response to request.
// Each judgement is about the requirement that the OpenAPI document states for it. If the status is
// 200, add also keeps the response, so that the judge method can judge its media type.
func (h *streamResponsesByMediaType) add(p *spec.Pass, request, response spec.Event) {
	status, coding := response, response
	status.Requirement, coding.Requirement = request.Facts().Promised.Status, request.Facts().Promised.ContentCoding
	if response.StatusCode != 200 {
		p.Judge(status, false, "%s; expected status 200 with text/event-stream", describeHead(response))
		return
	}
	p.Judge(status, true, "")
	used := response.Header.Get("Content-Encoding")
	if used != "" && !strings.EqualFold(used, "identity") && request.Header.Get("Accept-Encoding") == "identity" {
		p.Judge(coding, false, "response has the content coding %s; expected none, as the request accepts only identity",
			used)
	}
	if response.IsStream() {
		h.streams = append(h.streams, requestWithResponseHead{request, response})
	} else {
		h.others = append(h.others, requestWithResponseHead{request, response})
	}
}

// judge judges the media types of the collected responses. An event stream meets the requirement
// on the media type, and the requirements on the default values of the members that its request
// omitted.
//
// Any other response counts against one requirement. Usually, that is the requirement on the media
// type. If the same operation returned an event stream for a request with a member that this
// request omitted, it is the requirement on the default value of that member.
func (h *streamResponsesByMediaType) judge(p *spec.Pass) {
	for _, x := range h.streams {
		for _, requirement := range append([]string{x.request.Facts().Promised.MediaType}, x.request.Facts().Omitted...) {
			x.response.Requirement = requirement
			p.Judge(x.response, true, "")
		}
	}
	for _, x := range h.others {
		blamed := []string{x.request.Facts().Promised.MediaType}
		for _, requirement := range x.request.Facts().Omitted {
			if slices.ContainsFunc(h.streams, func(y requestWithResponseHead) bool {
				return y.request.Operation == x.request.Operation && !slices.Contains(y.request.Facts().Omitted, requirement)
			}) {
				blamed = []string{requirement}
			}
		}
		for _, requirement := range blamed {
			x.response.Requirement = requirement
			p.Judge(x.response, false, "%s; expected content type text/event-stream", describeHead(x.response))
		}
	}
}

// describeHead describes the head of a response for the message of a finding, as in "got status 503
// with no content type". If there was no response, the description states the reason.
func describeHead(response spec.Event) string {
	contentType := response.Header.Get("Content-Type")
	switch {
	case response.StatusCode == 0:
		return fmt.Sprintf("no response (%v)", response.Err)
	case contentType == "":
		return fmt.Sprintf("got status %d with no content type", response.StatusCode)
	}
	return fmt.Sprintf("got status %d with content type %s", response.StatusCode, contentType)
}

// FramesAreJSON judges whether the data of each frame is one JSON object, or the in-band
// terminator, such as "[DONE]". It does not judge frames that are not valid UTF-8; [UTF8] reports
// them.
var FramesAreJSON = &spec.Check{
	ID: "wire.frames-are-json",
	Doc: `the data of every frame is one JSON object, or the in-band terminator

Clients parse each event separately. They ignore an event that they cannot parse, or stop reading the
stream.`,
	Watch: eachResponseEvent(func(p *spec.Pass, _ *exchange, e spec.Event) {
		if e.IsFrame() && e.Kind != spec.Done && !hasFlaw(e, spec.FlawUTF8) {
			p.Judge(e, e.Kind != spec.Undecodable, "%v", e.Err)
		}
	}),
}

// hasFlaw reports whether the bytes of e have a flaw of kind k.
func hasFlaw(e spec.Event, k spec.EncodingFlawKind) bool {
	return slices.ContainsFunc(e.Flaws, func(f spec.EncodingFlaw) bool { return f.Kind == k })
}

// fieldName matches a text that may be the name of an SSE field, such as "event".
var fieldName = regexp.MustCompile(`^[a-z-]+$`)

// FramesHaveDataOnly judges whether each frame has no SSE fields other than data and those that the
// document allows, and whether a stream without an in-band terminator has none of another protocol,
// such as "[DONE]".
var FramesHaveDataOnly = &spec.Check{
	ID: "wire.frames-are-plain",
	Doc: `frames have no SSE field other than data, and no frame is the terminator of another protocol

Clients that parse lines by hand, as most clients of this protocol do, support no field other than data
and those that the document names. They parse the data of each frame as JSON, which a terminator such as
[DONE] is not.`,
	Watch: eachResponseEvent(func(p *spec.Pass, x *exchange, e spec.Event) {
		if !e.IsFrame() {
			return
		}
		if e.Kind == spec.Done && x.request.Facts().WireNames[spec.Done] == "" {
			p.Judge(e, false, "frame is %q, a terminator of other protocols; expected no such frame", e.WireName)
			return
		}
		allowed := x.request.Facts().Promised.Fields
		i := slices.IndexFunc(e.Fields, func(name string) bool { return name != "data" && !slices.Contains(allowed, name) })
		if i < 0 {
			p.Judge(e, true, "")
			return
		}
		hint := ""
		if !fieldName.MatchString(e.Fields[i]) {
			hint = " (is there a line break in the data?)"
		}
		p.Judge(e, false, "frame has the SSE field %s%s; expected no field other than %s",
			quoteStart(e.Fields[i]), hint, strings.Join(slices.Concat([]string{"data"}, allowed), ", "))
	}),
}

// UTF8 judges whether all text that a server sends is valid UTF-8.
var UTF8 = &spec.Check{
	ID: "wire.utf-8",
	Doc: `bodies and events are valid UTF-8

Event streams are UTF-8 by definition (HTML section 9.2.5), JSON by RFC 8259 section 8.1.`,
	AllPrincipals: true,
	Watch: eachResponseEvent(func(p *spec.Pass, _ *exchange, e spec.Event) {
		if len(e.Raw) > 0 {
			p.Judge(e, !hasFlaw(e, spec.FlawUTF8),
				"%s contains bytes that are not UTF-8; expected valid UTF-8", describeBytes(e))
		}
	}),
}

// describeBytes returns the name of the bytes of e for the message of a finding: "event",
// "comment", "end of the stream" or "response body".
func describeBytes(e spec.Event) string {
	switch {
	case e.IsFrame():
		return "event"
	case e.Kind == spec.Comment:
		return "comment"
	case e.Kind == spec.Incomplete:
		return "end of the stream"
	}
	return "response body"
}

// LastFrameIsTerminated judges whether a blank line follows the last frame of a stream.
var LastFrameIsTerminated = &spec.Check{
	ID: "wire.last-frame-is-terminated",
	Doc: `the last frame of a stream is followed by a blank line

If no blank line follows, clients discard the event (HTML section 9.2.6). An incomplete comment is not
judged, because it has no data.`,
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var last, rest spec.Event
		return func(e spec.Event) {
			switch {
			case e.IsFrame():
				last = e
			case e.Kind == spec.Incomplete && len(e.Fields) > 0:
				last, rest = e, e
			case e.Kind == spec.BodyEnd && e.Err == nil && last.Raw != nil:
				p.Judge(last, rest.Raw == nil,
					"stream ended within a frame of %d bytes; expected a blank line after it", len(rest.Raw))
			}
		}
	}),
}

// BodyIsComplete judges whether bodies are transferred completely.
var BodyIsComplete = &spec.Check{
	ID: "wire.body-is-whole",
	Doc: `a body is transferred completely, as its framing announces

A client cannot rely on a truncated reply. HTTP libraries report an error even if a stream is cut off
only after its terminal event. If the dialect has no event for the end of a run, its servers may cut
off a stream to report a failure, so it is not judged after an event that reports the failure. A body
that cannot be decoded from its content coding is incomplete, too. A stream without a terminal event
is judged if a request canceled its thread; run.ends judges the others.`,
	AllPrincipals: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		exchanges := exchangesOf(p)
		var cut []completedStream // without a terminal event
		p.AtEnd(func() {
			for _, l := range cut {
				if exchanges.isThreadCanceled(l) {
					p.Judge(l.bodyEnd, false,
						"the stream of a canceled run is truncated (%v); expected it to end as its framing announces", l.bodyEnd.Err)
				}
			}
		})
		return eachResponseEvent(func(p *spec.Pass, x *exchange, e spec.Event) {
			judgeBodyEnd(p, x, e, &cut)
		})(p)
	},
}

// judgeBodyEnd judges whether the body of x was transferred completely, as its framing announces.
// It does nothing unless e is the event for the end of the body. A stream that was truncated before
// its terminal event and its in-band terminator is not judged, but added to *cut.
func judgeBodyEnd(p *spec.Pass, x *exchange, e spec.Event, cut *[]completedStream) {
	mayBreakOff := x.runFailed && !x.request.Facts().Promised.HasEndEvent
	ended := x.runEnded && !mayBreakOff || x.streamDone
	switch {
	case e.Kind != spec.BodyEnd || x.status() == 0 || errors.Is(e.Err, spec.ErrClientLeft):
	case errors.Is(e.Err, spec.ErrLimitExceeded): // judged by wire.ends
	case errors.Is(e.Err, spec.ErrInvalidCoding):
		p.Judge(e, false, "%v; expected the coding that the header field Content-Encoding names", e.Err)
	case !ended && (x.response.IsStream() || x.request.Operation == ""):
		if isBrokenTransfer(e) {
			*cut = append(*cut, completedStream{request: x.request, bodyEnd: e})
		}
	case errors.Is(e.Err, spec.ErrStillOpen) && x.runEnded: // judged by run.closes-after-end
	case errors.Is(e.Err, spec.ErrIdleTimeout) || errors.Is(e.Err, spec.ErrStillOpen):
		p.Judge(e, false, "body %s; expected it to end as its framing announces", spec.DescribeOverrun(e.Err))
	default:
		p.Judge(e, e.Err == nil, "body is truncated (%v); expected it to end as its framing announces", e.Err)
	}
}

// ResponseEnds judges whether each response ends within the client's limits.
var ResponseEnds = &spec.Check{
	ID: "wire.ends",
	Doc: `a response ends within the client's limits on time, silence, bytes and events

A client that reads a response to its end must not wait forever. The limits are flags of the command
run: --timeout, --idle-timeout, --max-bytes and --max-events. Two kinds of streams are not judged: the
stream of a run that was not started in this conversation, because the run might not exist, and a stream
that was resumed from a cursor, because no event might come after the cursor.`,
	AllPrincipals: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		streams := streamsOf(p)
		return eachResponseEvent(func(p *spec.Pass, x *exchange, e spec.Event) {
			if e.Kind != spec.BodyEnd || errors.Is(e.Err, spec.ErrClientLeft) {
				return
			}
			switch what := spec.DescribeOverrun(e.Err); {
			case streams.isOpen && !isUnrequested(streams.request):
				p.Judge(e, what == "", "stream %s; expected the server to end it before that", what)
			case x.status() > 0 && !x.response.IsStream() && x.request.Operation != "":
				p.Judge(e, what == "", "reply %s; expected the server to end it before that", what)
			}
		})(p)
	},
}

// MatchesSchema judges whether each frame of a stream, and each other response body, matches its
// schema in the OpenAPI document of the protocol.
var MatchesSchema = &spec.Check{
	ID: "wire.matches-schema", ReadsDocument: true,
	Doc: `every frame and reply matches its schema

The document defines the members and their types, and assigns each of them to a requirement, which
the finding names.`,
	AllPrincipals: true,
	Watch: eachResponseEvent(func(p *spec.Pass, _ *exchange, e spec.Event) {
		for _, b := range e.Violations {
			at := e
			at.Requirement, at.Violations = b.Requirement, []spec.Violation{b}
			p.Judge(at, false, "%v", b)
		}
		for _, requirement := range e.Exercised {
			e.Requirement = requirement
			p.Judge(e, true, "")
		}
	}),
}
