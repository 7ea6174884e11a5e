package rules

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
)

var wire = []*spec.Check{
	OpensStream, FramesAreJSON, FramesArePlain, UTF8, LastFrameIsTerminated, BodyIsWhole, AnswerEnds,
	MatchesSchema, ReplyAsPromised, Flushes, KeepsAlive, KeepAliveText, HealthAnswers,
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
		var ask spec.Event
		asked := ""                  // for which run
		known := map[string]string{} // cursor → run
		last := map[string]bool{}    // cursors of the ends of runs
		var heads heads
		return func(e spec.Event) {
			if e.Frame() && e.Cursor != "" {
				if known[e.Cursor] = asked; terminal(e) {
					last[e.Cursor] = true
				}
			}
			switch {
			case e.Kind == spec.Asked:
				ask, asked = e, run(e)
			case e.Kind == "":
				heads.judge(p)
			case e.Kind != spec.Answered || !ask.Streams() || !ask.Whole() || stateful(e.HTTP) || errors.Is(e.Err, spec.ErrLeft):
			case ask.Header == nil && e.HTTP != 200: // nobody wrote down what was asked
			case e.HTTP/100 == 4 && ask.Cursor != "" && known[ask.Cursor] != run(ask):
			case ask.Cursor != "" && last[ask.Cursor] && (e.HTTP == 204 || e.HTTP/100 == 4):
			case e.HTTP/100 == 4 && len(ask.Upheld) > 0: // the business of accept.as-documented
			default:
				heads.add(p, ask, e)
			}
		}
	},
}

// heads are the answers to requests for a stream, as far as what is wrong with one can
// have two reasons: that it is no event stream may be for what its request left out.
type heads struct{ right, other []head }

// A head is the head of an answer, and the request that it is to.
type head struct{ ask, answer spec.Event }

// add judges status and coding of an answer, each for its own requirement.
func (h *heads) add(p *spec.Pass, ask, e spec.Event) {
	status, coding := e, e
	status.Law, coding.Law = ask.Promised.Status, ask.Promised.Coding
	switch {
	case e.HTTP == 0:
		p.Judge(status, false, "no answer came: %v", e.Err)
		return
	case e.HTTP != 200:
		p.Judge(status, false, "the answer is %d with content type %q", e.HTTP, e.Header.Get("Content-Type"))
		return
	}
	p.Judge(status, true, "")
	if encoded(e) && ask.Header.Get("Accept-Encoding") == "identity" {
		p.Judge(coding, false, "the answer is encoded as %s, which was not asked for", e.Header.Get("Content-Encoding"))
	}
	if e.Streams() {
		h.right = append(h.right, head{ask, e})
	} else {
		h.other = append(h.other, head{ask, e})
	}
}

// judge judges the media types, when all of the conversation is known. An answer that is
// no stream breaks the requirement on what its request left out where a request of the
// same operation that did not leave it out was answered by a stream.
func (h *heads) judge(p *spec.Pass) {
	for _, x := range h.right {
		for _, law := range append([]string{x.ask.Promised.Media}, x.ask.Omitted...) {
			x.answer.Law = law
			p.Judge(x.answer, true, "")
		}
	}
	for _, x := range h.other {
		blamed := []string{x.ask.Promised.Media}
		for _, law := range x.ask.Omitted {
			if slices.ContainsFunc(h.right, func(y head) bool { return y.ask.Op == x.ask.Op && !slices.Contains(y.ask.Omitted, law) }) {
				blamed = []string{law}
			}
		}
		for _, law := range blamed {
			x.answer.Law = law
			p.Judge(x.answer, false, "the answer is 200 with content type %q", x.answer.Header.Get("Content-Type"))
		}
	}
}

// encoded says that a body has a content coding.
func encoded(answer spec.Event) bool {
	coding := answer.Header.Get("Content-Encoding")
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
			if e.Frame() && e.Kind != spec.Done && !flawed(e, spec.FlawUTF8) {
				p.Judge(e, e.Kind != spec.Unknown, "%v", e.Err)
			}
		}
	},
}

func flawed(e spec.Event, k spec.FlawKind) bool {
	for _, f := range e.Flaws {
		if f.Kind == k {
			return true
		}
	}
	return false
}

// FramesArePlain judges which SSE fields frames have.
var FramesArePlain = &spec.Check{
	ID: "wire.frames-are-plain",
	Doc: `frames carry data and no other SSE field

Clients that read lines by hand, as most of this protocol do, know no other.`,
	Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) {
			if !e.Frame() {
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
	Overhears: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) {
			if e.Kind != spec.Asked && len(e.Raw) > 0 {
				p.Judge(e, !flawed(e, spec.FlawUTF8), "%s is not valid UTF-8", whatOf(e))
			}
		}
	},
}

// whatOf names what the bytes of an event are.
func whatOf(e spec.Event) string {
	switch {
	case e.Frame():
		return "the event"
	case e.Kind == spec.Comment:
		return "the comment"
	case e.Kind == spec.Rest:
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
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var last, rest spec.Event
		return func(e spec.Event) {
			switch {
			case e.Frame():
				last = e
			case e.Kind == spec.Rest && len(e.Fields) > 0:
				last, rest = e, e
			case whole(e) && last.Raw != nil:
				p.Judge(last, rest.Raw == nil, "no blank line follows the last %d bytes", len(rest.Raw))
			}
		}
	}),
}

// BodyIsWhole judges how bodies end.
var BodyIsWhole = &spec.Check{
	ID: "wire.body-is-whole",
	Doc: `a body ends the way it was announced to end

A reply that is cut off cannot be trusted; a stream that has told its end and is then
broken off looks like a failure to every HTTP library.`,
	Overhears: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		var ask, answer spec.Event
		ended := false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Asked:
				ask, ended = e, false
			case e.Kind == spec.Answered:
				answer = e
			case e.Kind == spec.RunEnd || e.Kind == spec.Done:
				ended = true
			case e.Kind != spec.Closed || answer.HTTP == 0 || errors.Is(e.Err, spec.ErrLeft):
			case errors.Is(e.Err, spec.ErrEndless): // the business of wire.ends
			case ended || !answer.Streams() && ask.Op != "":
				p.Judge(e, e.Err == nil, "the body did not end properly: %v", e.Err)
			}
		}
	},
}

// AnswerEnds judges whether answers end.
var AnswerEnds = &spec.Check{
	ID: "wire.ends",
	Doc: `an answer ends, and does so within the limits of the client: of time, of silence, of bytes and of events

A client that waits for the end must come to it. The limits are flags of run: --timeout,
--idle-timeout, --max-bytes and --max-events. A stream of a run that nobody was seen to ask
for is not judged: there may be no such run. Nor is one that is taken up at a cursor: it
may be that of the end.`,
	Overhears: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		var ask, answer spec.Event
		ended := false
		streams := tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
			stray := ask.Run != "" && ask.Text == "" && len(ask.Parts) == 0
			return func(e spec.Event) {
				ended = ended || terminal(e)
				if e.Kind == spec.Closed && !stray && !(ended && errors.Is(e.Err, spec.ErrIdle)) {
					what := spec.Overrun(e.Err)
					p.Judge(e, what == "", "the stream %s", what)
				}
			}
		})(p)
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Asked:
				ask, answer, ended = e, spec.Event{}, false
			case e.Kind == spec.Answered:
				answer = e
			case e.Kind == spec.Closed && answer.HTTP > 0 && !answer.Streams() && ask.Op != "" && !errors.Is(e.Err, spec.ErrLeft):
				what := spec.Overrun(e.Err)
				p.Judge(e, what == "", "the reply %s", what)
			}
			streams(e)
		}
	},
}

// MatchesSchema judges everything that a server says against the document.
var MatchesSchema = &spec.Check{
	ID: "wire.matches-schema",
	Doc: `every frame and reply matches its schema

The document says which members there are, of which types, and which requirement each
of them is; a finding names the requirement.`,
	Overhears: true,
	Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) {
			if e.Kind == spec.Asked {
				return
			}
			for _, b := range e.Broken {
				at := e
				at.Law, at.Broken = b.Law, []spec.Broken{b}
				p.Judge(at, false, "%v", b)
			}
			for _, law := range e.Upheld {
				at := e
				at.Law = law
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
		var ask spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Asked:
				ask = e
			case e.Kind != spec.Answered || ask.Law == "" || ask.Streams() || !ask.Whole() || stateful(e.HTTP) || errors.Is(e.Err, spec.ErrLeft):
			case e.HTTP/100 == 4: // the business of accept.as-documented
			default:
				e.Law = ask.Law
				want := "a success"
				if ask.HTTP > 0 {
					want = strconv.Itoa(ask.HTTP)
				}
				if e.HTTP == 0 && ask.Name == "health" { // the business of health.answers
					return
				}
				if e.HTTP == 0 {
					p.Judge(e, false, "no answer came: %v; the document promises %s %s", e.Err, want, ask.Media)
					return
				}
				right := (e.HTTP == ask.HTTP || ask.HTTP == 0 && e.HTTP/100 == 2) && (ask.Media == "" || e.Media == ask.Media)
				p.Judge(e, right, "the answer is %d with content type %q, the document promises %s %s",
					e.HTTP, e.Header.Get("Content-Type"), want, ask.Media)
			}
		}
	},
}

// HealthAnswers judges the health operation.
var HealthAnswers = &spec.Check{
	ID:  "health.answers",
	Doc: "the health operation answers with its documented status",
	Watch: func(p *spec.Pass) func(spec.Event) {
		var ask spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Asked:
				ask = e
			case e.Kind == spec.Answered && ask.Name == "health" && ask.Whole() && !errors.Is(e.Err, spec.ErrLeft):
				p.Judge(e, e.HTTP == ask.HTTP, "the answer is %d, the document promises %d", e.HTTP, ask.HTTP)
			}
		}
	},
}

// Flushes judges when deltas arrive.
var Flushes = &spec.Check{
	ID: "wire.flushes",
	Doc: `deltas arrive while they are produced

A stream that is delivered at once at its end is no stream. Judged where a scripted
target was asked for deltas some time apart: half of that time must lie between the
first and the last. Whoever listens to a run later than it was asked for finds what
was produced before then at once, and a run that is canceled is over sooner.`,
	Needs: []spec.Kind{spec.MessageDelta},
	Watch: lives(func(p *spec.Pass, a *lifetimes) {
		for _, l := range a.streams {
			least, slow := slowness(l.ask)
			if at, known := a.asked[run(l.ask)]; known {
				least -= l.ask.At - at
			}
			timed := l.closed.At > l.ask.At && l.first.Raw != nil
			if slow && timed && !l.failed && least >= shortest && !a.canceled(l) {
				took := l.last.At - l.first.At
				p.Judge(l.last, took >= least/2, "deltas produced over %v arrived within %v", least, took.Round(time.Millisecond))
			}
		}
	}),
}

// shortest is the least time over which anybody can tell a stream from what came at
// once.
const shortest = 300 * time.Millisecond

// slowness is how long a scripted target was asked to take from the first delta to
// the last.
func slowness(ask spec.Event) (time.Duration, bool) {
	words, ok := strings.CutPrefix(ask.Text, "conformance:slow ")
	count, apart, _ := strings.Cut(words, " ")
	n, err := strconv.Atoi(count)
	ms, err2 := strconv.Atoi(apart)
	took := time.Duration((n-1)*ms) * time.Millisecond
	return took, ok && ask.Scripted && err == nil && err2 == nil && n > 1 && took >= shortest
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
	Watch: tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
		ended, alive := false, false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Comment:
				if !alive {
					p.Judge(e, true, "")
				}
				alive = true
			case terminal(e):
				ended = true
			case whole(e) && !ended && !alive && ask.Limit != "" && ask.Limit != "1":
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
	Watch: tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
		var before, other, late spec.Event
		said, ended := false, false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Comment && e.Text == " keep-alive":
				if !said {
					p.Judge(e, true, "")
				}
				said = true
			case e.Kind == spec.Comment:
				if other = e; before.Raw != nil && e.At-before.At >= time.Second {
					late = e
				}
			case terminal(e):
				ended = true
			case whole(e) && ask.Limit != "" && !ended && late.Raw == nil:
				late = other
			}
			if e.Kind == spec.Closed && late.Raw != nil && !said {
				p.Judge(late, false, "the comments say %q, and never \" keep-alive\"", late.Text)
			}
			before = e
		}
	}),
}
