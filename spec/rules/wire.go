package rules

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var wireChecks = []*spec.Check{
	OpensStream, FramesAreJSON, FramesHaveDataOnly, UTF8, LastFrameIsTerminated, BodyIsComplete, ResponseEnds,
	MatchesSchema, ReplyAsPromised, DeltasArriveIncrementally, KeepsAlive, KeepAliveText, HealthResponds,
}

// OpensStream judges the answer to a request for a stream.
var OpensStream = &spec.Check{
	ID: "wire.opens-stream",
	Doc: `a request for a stream that has no fault is answered 200 with text/event-stream

A client opens an event source on nothing else. Statuses that speak of who asks or
of the state of things (401, 403, 404, 409, 410, 429, 503) are not judged here, nor
is the refusal of a cursor that the server was not seen to hand out for this run, nor
how somebody is answered who has heard the end and asks for what comes after it.`,
	Watch: func(p *spec.Pass) func(spec.Event) {
		var request spec.Event
		requestedRun := ""              // for which run
		known := map[string]string{}    // cursor → run
		endCursors := map[string]bool{} // cursors of the ends of runs
		var responses streamResponses
		return func(e spec.Event) {
			if e.IsFrame() && e.Cursor != "" {
				if known[e.Cursor] = requestedRun; isTerminal(e) {
					endCursors[e.Cursor] = true
				}
			}
			switch {
			case e.Kind == spec.HTTPRequest:
				request, requestedRun = e, runKey(e)
			case e.Kind == "":
				responses.judge(p)
			case e.Kind != spec.HTTPResponse || !request.IsStream() || !request.Valid() || isStateDependentStatus(e.StatusCode) || errors.Is(e.Err, spec.ErrClientLeft):
			case request.Header == nil && e.StatusCode != 200: // nobody wrote down what was asked
			case e.StatusCode/100 == 4 && request.Cursor != "" && known[request.Cursor] != runKey(request):
			case request.Cursor != "" && endCursors[request.Cursor] && (e.StatusCode == 204 || e.StatusCode/100 == 4):
			case e.StatusCode/100 == 4 && len(request.Exercised) > 0: // the business of accept.as-documented
			default:
				responses.add(p, request, e)
			}
		}
	},
}

// streamResponses are the answers to requests for a stream, as far as what is wrong with one can
// have two reasons: that it is no event stream may be for what its request left out.
type streamResponses struct{ streams, others []responsePair }

// A responsePair is the head of an answer, and the request that it is to.
type responsePair struct{ request, response spec.Event }

// add judges status and coding of an answer, each for its own requirement.
func (h *streamResponses) add(p *spec.Pass, request, response spec.Event) {
	status, coding := response, response
	status.Requirement, coding.Requirement = request.Promised.Status, request.Promised.ContentCoding
	switch {
	case response.StatusCode == 0:
		p.Judge(status, false, "no answer came: %v", response.Err)
		return
	case response.StatusCode != 200:
		p.Judge(status, false, "the answer is %d with content type %q", response.StatusCode, response.Header.Get("Content-Type"))
		return
	}
	p.Judge(status, true, "")
	if hasContentCoding(response) && request.Header.Get("Accept-Encoding") == "identity" {
		p.Judge(coding, false, "the answer is encoded as %s, which was not asked for", response.Header.Get("Content-Encoding"))
	}
	if response.IsStream() {
		h.streams = append(h.streams, responsePair{request, response})
	} else {
		h.others = append(h.others, responsePair{request, response})
	}
}

// judge judges the media types, when all of the conversation is known. An answer that is
// no stream breaks the requirement on what its request left out where a request of the
// same operation that did not leave it out was answered by a stream.
func (h *streamResponses) judge(p *spec.Pass) {
	for _, x := range h.streams {
		for _, requirement := range append([]string{x.request.Promised.MediaType}, x.request.Omitted...) {
			x.response.Requirement = requirement
			p.Judge(x.response, true, "")
		}
	}
	for _, x := range h.others {
		blamed := []string{x.request.Promised.MediaType}
		for _, requirement := range x.request.Omitted {
			if slices.ContainsFunc(h.streams, func(y responsePair) bool {
				return y.request.Operation == x.request.Operation && !slices.Contains(y.request.Omitted, requirement)
			}) {
				blamed = []string{requirement}
			}
		}
		for _, requirement := range blamed {
			x.response.Requirement = requirement
			p.Judge(x.response, false, "the answer is 200 with content type %q", x.response.Header.Get("Content-Type"))
		}
	}
}

// hasContentCoding says that a body has a content coding.
func hasContentCoding(response spec.Event) bool {
	coding := response.Header.Get("Content-Encoding")
	return coding != "" && !strings.EqualFold(coding, "identity")
}

// FramesAreJSON judges every frame's data.
var FramesAreJSON = &spec.Check{
	ID: "wire.frames-are-json",
	Doc: `every frame's data is one JSON object, or the sentinel

A client parses each event on its own; one that does not parse is lost, or ends the
client.`,
	Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) {
			if e.IsFrame() && e.Kind != spec.Done && !hasFlaw(e, spec.FlawUTF8) {
				p.Judge(e, e.Kind != spec.Undecodable, "%v", e.Err)
			}
		}
	},
}

func hasFlaw(e spec.Event, k spec.FlawKind) bool {
	for _, f := range e.Flaws {
		if f.Kind == k {
			return true
		}
	}
	return false
}

// FramesHaveDataOnly judges which SSE fields frames have.
var FramesHaveDataOnly = &spec.Check{
	ID: "wire.frames-are-plain",
	Doc: `frames carry data and no other SSE field

Clients that read lines by hand, as most of this protocol do, know no other.`,
	Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) {
			if !e.IsFrame() {
				return
			}
			odd := ""
			for _, f := range e.Fields {
				if f != "data" {
					odd = f
				}
			}
			p.Judge(e, odd == "", "the frame has the field %q", odd)
		}
	},
}

// UTF8 judges the bytes of everything that is text.
var UTF8 = &spec.Check{
	ID: "wire.utf-8",
	Doc: `what is sent is valid UTF-8

Event streams are UTF-8 by definition (HTML section 9.2.5), JSON by RFC 8259 section 8.1.`,
	AllPrincipals: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) {
			if e.Kind != spec.HTTPRequest && len(e.Raw) > 0 {
				p.Judge(e, !hasFlaw(e, spec.FlawUTF8), "%s is not valid UTF-8", describeBytes(e))
			}
		}
	},
}

// describeBytes names what the bytes of an event are.
func describeBytes(e spec.Event) string {
	switch {
	case e.IsFrame():
		return "the event"
	case e.Kind == spec.Comment:
		return "the comment"
	case e.Kind == spec.Incomplete:
		return "the end of the stream"
	}
	return "the response body"
}

// LastFrameIsTerminated judges how a stream stops.
var LastFrameIsTerminated = &spec.Check{
	ID: "wire.last-frame-is-terminated",
	Doc: `the last frame of a stream is followed by its blank line

The standard discards an event that the end of the stream cuts off (HTML section
9.2.6). Of a comment that is cut off nothing is lost.`,
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var last, rest spec.Event
		return func(e spec.Event) {
			switch {
			case e.IsFrame():
				last = e
			case e.Kind == spec.Incomplete && len(e.Fields) > 0:
				last, rest = e, e
			case isCleanEnd(e) && last.Raw != nil:
				p.Judge(last, rest.Raw == nil, "no blank line follows the last %d bytes", len(rest.Raw))
			}
		}
	}),
}

// BodyIsComplete judges how bodies end.
var BodyIsComplete = &spec.Check{
	ID: "wire.body-is-whole",
	Doc: `a body ends the way it was announced to end

A reply that is cut off cannot be trusted; a stream that has told its end and is then
broken off looks like a failure to every HTTP library.`,
	AllPrincipals: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		var request, response spec.Event
		ended := false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				request, ended = e, false
			case e.Kind == spec.HTTPResponse:
				response = e
			case e.Kind == spec.RunEnd || e.Kind == spec.Done:
				ended = true
			case e.Kind != spec.BodyEnd || response.StatusCode == 0 || errors.Is(e.Err, spec.ErrClientLeft):
			case errors.Is(e.Err, spec.ErrLimitExceeded): // the business of wire.ends
			case ended || !response.IsStream() && request.Operation != "":
				p.Judge(e, e.Err == nil, "the body did not end properly: %v", e.Err)
			}
		}
	},
}

// ResponseEnds judges whether answers end.
var ResponseEnds = &spec.Check{
	ID: "wire.ends",
	Doc: `an answer ends, and does so within the limits of the client: of time, of silence, of bytes and of events

A client that waits for the end must come to it. The limits are flags of run: --timeout,
--idle-timeout, --max-bytes and --max-events. A stream of a run that nobody was seen to ask
for is not judged: there may be no such run. Nor is one that is taken up at a cursor: it
may be that of the end.`,
	AllPrincipals: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		var request, response spec.Event
		ended := false
		observeStream := eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			unrequested := request.Run != "" && request.Text == "" && len(request.Parts) == 0
			return func(e spec.Event) {
				ended = ended || isTerminal(e)
				if e.Kind == spec.BodyEnd && !unrequested && !(ended && errors.Is(e.Err, spec.ErrIdleTimeout)) {
					what := spec.DescribeOverrun(e.Err)
					p.Judge(e, what == "", "the stream %s", what)
				}
			}
		})(p)
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				request, response, ended = e, spec.Event{}, false
			case e.Kind == spec.HTTPResponse:
				response = e
			case e.Kind == spec.BodyEnd && response.StatusCode > 0 && !response.IsStream() && request.Operation != "" && !errors.Is(e.Err, spec.ErrClientLeft):
				what := spec.DescribeOverrun(e.Err)
				p.Judge(e, what == "", "the reply %s", what)
			}
			observeStream(e)
		}
	},
}

// MatchesSchema judges everything that a server says against the document.
var MatchesSchema = &spec.Check{
	ID: "wire.matches-schema",
	Doc: `every frame and reply matches its schema

The document says which members there are, of which types, and which requirement each
of them is; a finding names the requirement.`,
	AllPrincipals: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) {
			if e.Kind == spec.HTTPRequest {
				return
			}
			for _, b := range e.Violations {
				at := e
				at.Requirement, at.Violations = b.Requirement, []spec.Violation{b}
				p.Judge(at, false, "%v", b)
			}
			for _, requirement := range e.Exercised {
				at := e
				at.Requirement = requirement
				p.Judge(at, true, "")
			}
		}
	},
}

// ReplyAsPromised judges the answers to requests that ask for no stream.
var ReplyAsPromised = &spec.Check{
	ID: "reply.as-promised",
	Doc: `a request without fault is answered with the documented status and media type

Statuses that speak of who asks or of the state of things are not judged here, nor
are operations of which no requirement speaks.`,
	Watch: func(p *spec.Pass) func(spec.Event) {
		var request spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				request = e
			case e.Kind != spec.HTTPResponse || request.Requirement == "" || request.IsStream() || !request.Valid() || isStateDependentStatus(e.StatusCode) || errors.Is(e.Err, spec.ErrClientLeft):
			case e.StatusCode/100 == 4: // the business of accept.as-documented
			default:
				e.Requirement = request.Requirement
				want := "a success"
				if request.StatusCode > 0 {
					want = strconv.Itoa(request.StatusCode)
				}
				if e.StatusCode == 0 && request.Name == "health" { // the business of health.answers
					return
				}
				right := (e.StatusCode == request.StatusCode || request.StatusCode == 0 && e.StatusCode/100 == 2) && (request.MediaType == "" || e.MediaType == request.MediaType)
				p.Judge(e, right, "the answer is %d with content type %q, the document promises %s %s",
					e.StatusCode, e.Header.Get("Content-Type"), want, request.MediaType)
			}
		}
	},
}

// HealthResponds judges the health operation.
var HealthResponds = &spec.Check{
	ID:  "health.answers",
	Doc: "the health operation answers with its documented status",
	Watch: func(p *spec.Pass) func(spec.Event) {
		var request spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				request = e
			case e.Kind == spec.HTTPResponse && request.Name == "health" && request.Valid() && !errors.Is(e.Err, spec.ErrClientLeft):
				p.Judge(e, e.StatusCode == request.StatusCode, "the answer is %d, the document promises %d", e.StatusCode, request.StatusCode)
			}
		}
	},
}

// DeltasArriveIncrementally judges when deltas arrive.
var DeltasArriveIncrementally = &spec.Check{
	ID: "wire.flushes",
	Doc: `deltas arrive while they are produced

A stream that is delivered at once at its end is no stream. Judged where a scripted
target was asked for deltas some time apart: half of that time must lie between the
first and the last. Whoever listens to a run later than it was asked for finds what
was produced before then at once, and a run that is canceled is over sooner.`,
	Needs: []spec.Kind{spec.MessageDelta},
	Watch: judgeStreams(func(p *spec.Pass, a *streamTimeline) {
		for _, l := range a.streams {
			minimum, slow := scriptedDeltaSpan(l.request)
			if at, known := a.requestedAt[runKey(l.request)]; known {
				minimum -= l.request.At - at
			}
			timed := l.bodyEnd.At > l.request.At && l.firstDelta.Raw != nil
			if slow && timed && !l.failed && minimum >= minDeltaSpan && !a.isCanceled(l) {
				took := l.lastDelta.At - l.firstDelta.At
				p.Judge(l.lastDelta, took >= minimum/2, "deltas produced over %v arrived within %v", minimum, took.Round(time.Millisecond))
			}
		}
	}),
}

// minDeltaSpan is the least time over which anybody can tell a stream from what came at
// once.
const minDeltaSpan = 300 * time.Millisecond

// scriptedDeltaSpan is how long a scripted target was asked to take from the first delta to
// the last.
func scriptedDeltaSpan(request spec.Event) (time.Duration, bool) {
	argument, ok := strings.CutPrefix(request.Text, "conformance:slow ")
	count, interval, _ := strings.Cut(argument, " ")
	n, err := strconv.Atoi(count)
	ms, err2 := strconv.Atoi(interval)
	span := time.Duration((n-1)*ms) * time.Millisecond
	return span, ok && request.Scripted && err == nil && err2 == nil && n > 1 && span >= minDeltaSpan
}

// KeepsAlive judges silence.
var KeepsAlive = &spec.Check{
	ID: "wire.keeps-alive",
	Doc: `a silent stream carries comments in the meantime

Proxies close connections on which nothing moves. How often is not stated, so a
silence counts against a server only where the server itself found it long enough to
end the stream, and where that took it more than one poll: the first may end the
stream before a comment is due.`,
	Needs: []spec.Kind{"slot.limit"},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		ended, alive := false, false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Comment:
				if !alive {
					p.Judge(e, true, "")
				}
				alive = true
			case isTerminal(e):
				ended = true
			case isCleanEnd(e) && !ended && !alive && request.PollLimit != "" && request.PollLimit != "1":
				p.Judge(e, false, "the stream was ended for its silence, and no comment had been sent")
			}
		}
	}),
}

// KeepAliveText judges what is said in silence.
var KeepAliveText = &spec.Check{
	ID: "wire.keep-alive-text",
	Doc: `the comment that keeps a connection alive says keep-alive

Other comments are anybody's right. One is held to the words only if it came in
silence: a second after what came before it, or in a stream that was ended for its
silence.`,
	Needs: []spec.Kind{"slot.limit"},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		var before, other, late spec.Event
		seen, ended := false, false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Comment && e.Text == " keep-alive":
				if !seen {
					p.Judge(e, true, "")
				}
				seen = true
			case e.Kind == spec.Comment:
				if other = e; before.Raw != nil && e.At-before.At >= time.Second {
					late = e
				}
			case isTerminal(e):
				ended = true
			case isCleanEnd(e) && request.PollLimit != "" && !ended && late.Raw == nil:
				late = other
			}
			if e.Kind == spec.BodyEnd && late.Raw != nil && !seen {
				p.Judge(late, false, "the comments say %q, and never \" keep-alive\"", late.Text)
			}
			before = e
		}
	}),
}
