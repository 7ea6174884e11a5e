package rules

import (
	"errors"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// noticed is how long it may take a server to see that a client has left.
const noticed = 5 * time.Second

// blur is how much earlier or later than it is written down something may have been:
// recordings keep milliseconds.
const blur = 5 * time.Millisecond

// A line is one request for a stream by the user, and how long the stream was open for
// certain.
type line struct {
	dealing
	closed   spec.Event
	opened   bool
	signed   bool
	from, to time.Duration // the first and the last sign of it
}

// lines lets a rule see, at the end of a conversation, the user's requests for streams
// that are all there is to know about how many were open.
func lines(judge func(p *spec.Pass, all []*line)) watch {
	return func(p *spec.Pass) func(spec.Event) {
		var all []*line
		var now *line
		hear := dealings(func(*spec.Pass) (func(dealing), func()) {
			return func(x dealing) {
				if now != nil {
					now.dealing = x
				}
			}, func() {}
		})(p)
		return func(e spec.Event) {
			switch hear(e); {
			case e.Kind == "":
				judge(p, all)
			case e.Kind == spec.HTTPRequest:
				if now = nil; e.IsStream() && e.Valid() {
					now = &line{dealing: dealing{ask: e}}
					all = append(all, now)
				}
			case now != nil:
				now.sign(e)
			}
		}
	}
}

func (l *line) sign(e spec.Event) {
	switch {
	case e.Kind == spec.HTTPResponse:
		l.opened = e.StatusCode/100 == 2 && e.IsStream()
		return
	case e.Kind == spec.BodyEnd:
		l.closed, l.to = e, e.At
	}
	if !l.signed {
		l.signed, l.from = true, e.At
	}
}

// answered is when l was answered at the latest: a stream, when it gave its first sign.
func (l *line) answered() time.Duration {
	if l.opened {
		return l.from
	}
	return l.closed.At
}

// beside is how many other streams were open for certain while l was asked for and
// answered.
func (l *line) beside(all []*line) (n int) {
	for _, other := range all {
		if other != l && other.opened && other.from+blur <= l.ask.At && other.to >= l.answered()+blur {
			n++
		}
	}
	return n
}

// around is how many other streams can have been open when l was asked for.
func (l *line) around(all []*line) (n int) {
	for _, other := range all {
		held := errors.Is(other.closed.Err, spec.ErrIdleTimeout) // for how long nobody wrote down
		if other != l && other.opened && other.ask.At <= l.ask.At && (held || other.to+noticed >= l.ask.At) {
			n++
		}
	}
	return n
}

// LimitsStreams judges one stream too many.
var LimitsStreams = &spec.Check{
	ID: "limit.refuses-streams",
	Doc: `who has as many streams open as are allowed is refused another as the document says

How many that is the document does not say: judged where somebody did. A stream
counts as open from its first sign to its last.`,
	Watch: lines(func(p *spec.Pass, all []*line) {
		for _, l := range all {
			if l.ask.StreamLimit == 0 || l.status == 0 || l.status == 503 {
				continue
			}
			n := l.beside(all)
			if n < l.ask.StreamLimit {
				continue
			}
			for _, demand := range l.ask.Denials[spec.DeniedStreamLimit] {
				e := l.ask
				e.Requirement = demand.Requirement
				p.Judge(e, l.meets(demand), "%d streams were open and %d are allowed; %v; expected %s", n, l.ask.StreamLimit, l.dealing, Wanted(demand))
			}
		}
	}),
}

// FreesStreams judges the first streams after one too many.
var FreesStreams = &spec.Check{
	ID: "limit.frees-streams",
	Doc: `who was refused one stream too many gets it after others have ended

A server may need five seconds to see that a client has left, also one that left before
the conversation began.`,
	Watch: lines(func(p *spec.Pass, all []*line) {
		refused := false
		for _, l := range all {
			switch most := l.ask.StreamLimit; {
			case most == 0:
			case refused && l.opened && l.beside(all) < most:
				p.Judge(l.ask, true, "")
			case refused && l.status == 429 && l.ask.At >= noticed && l.around(all) < most:
				p.Judge(l.ask, false, "at most %d streams were open and %d are allowed, and %v", l.around(all), most, l.dealing)
			}
			refused = refused || l.status == 429 && l.ask.StreamLimit > 0
		}
	}),
}
