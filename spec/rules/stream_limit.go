package rules

import (
	"errors"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// disconnectDelay is how long it may take a server to see that a client has left.
const disconnectDelay = 5 * time.Second

// timeTolerance is how much earlier or later than it is written down something may have been:
// recordings keep milliseconds.
const timeTolerance = 5 * time.Millisecond

// A streamRequest is one request for a stream by the user, and how long the stream was open for
// certain.
type streamRequest struct {
	exchange
	bodyEnd                     spec.Event
	opened                      bool
	hasActivity                 bool
	firstActivity, lastActivity time.Duration // the first and the last sign of it
}

// judgeStreamRequests lets a rule see, at the end of a conversation, the user's requests for streams
// that are all there is to know about how many were open.
func judgeStreamRequests(judge func(p *spec.Pass, all []*streamRequest)) watchFunc {
	return func(p *spec.Pass) func(spec.Event) {
		var all []*streamRequest
		var current *streamRequest
		observe := eachExchange(func(*spec.Pass) (func(exchange), func()) {
			return func(x exchange) {
				if current != nil {
					current.exchange = x
				}
			}, func() {}
		})(p)
		return func(e spec.Event) {
			switch observe(e); {
			case e.Kind == "":
				judge(p, all)
			case e.Kind == spec.HTTPRequest:
				if current = nil; e.IsStream() && e.Valid() {
					current = &streamRequest{exchange: exchange{request: e}}
					all = append(all, current)
				}
			case current != nil:
				current.observe(e)
			}
		}
	}
}

func (l *streamRequest) observe(e spec.Event) {
	switch {
	case e.Kind == spec.HTTPResponse:
		l.opened = e.StatusCode/100 == 2 && e.IsStream()
		return
	case e.Kind == spec.BodyEnd:
		l.bodyEnd, l.lastActivity = e, e.At
	}
	if !l.hasActivity {
		l.hasActivity, l.firstActivity = true, e.At
	}
}

// respondedAt is when l was answered at the latest: a stream, when it gave its first sign.
func (l *streamRequest) respondedAt() time.Duration {
	if l.opened {
		return l.firstActivity
	}
	return l.bodyEnd.At
}

// countCertainlyOpen is how many other streams were open for certain while l was asked for and
// answered.
func (l *streamRequest) countCertainlyOpen(all []*streamRequest) (n int) {
	for _, other := range all {
		if other != l && other.opened && other.firstActivity+timeTolerance <= l.request.At && other.lastActivity >= l.respondedAt()+timeTolerance {
			n++
		}
	}
	return n
}

// countPossiblyOpen is how many other streams can have been open when l was asked for.
func (l *streamRequest) countPossiblyOpen(all []*streamRequest) (n int) {
	for _, other := range all {
		unknownEnd := errors.Is(other.bodyEnd.Err, spec.ErrIdleTimeout) // for how long nobody wrote down
		if other != l && other.opened && other.request.At <= l.request.At && (unknownEnd || other.lastActivity+disconnectDelay >= l.request.At) {
			n++
		}
	}
	return n
}

// RefusesExcessStreams judges one stream too many.
var RefusesExcessStreams = &spec.Check{
	ID: "limit.refuses-streams",
	Doc: `who has as many streams open as are allowed is refused another as the document says

How many that is the document does not say: judged where somebody did. A stream
counts as open from its first sign to its last.`,
	Watch: judgeStreamRequests(func(p *spec.Pass, all []*streamRequest) {
		for _, l := range all {
			if l.request.StreamLimit == 0 || l.status == 0 || l.status == 503 {
				continue
			}
			n := l.countCertainlyOpen(all)
			if n < l.request.StreamLimit {
				continue
			}
			for _, refusal := range l.request.Denials[spec.DeniedStreamLimit] {
				e := l.request
				e.Requirement = refusal.Requirement
				p.Judge(e, l.satisfies(refusal), "%d streams were open and %d are allowed; %v; expected %s", n, l.request.StreamLimit, l.exchange, DescribeRefusal(refusal))
			}
		}
	}),
}

// ReleasesStreams judges the first streams after one too many.
var ReleasesStreams = &spec.Check{
	ID: "limit.frees-streams",
	Doc: `who was refused one stream too many gets it after others have ended

A server may need five seconds to see that a client has left, also one that left before
the conversation began.`,
	Watch: judgeStreamRequests(func(p *spec.Pass, all []*streamRequest) {
		refused := false
		for _, l := range all {
			switch limit := l.request.StreamLimit; {
			case limit == 0:
			case refused && l.opened && l.countCertainlyOpen(all) < limit:
				p.Judge(l.request, true, "")
			case refused && l.status == 429 && l.request.At >= disconnectDelay && l.countPossiblyOpen(all) < limit:
				p.Judge(l.request, false, "at most %d streams were open and %d are allowed, and %v", l.countPossiblyOpen(all), limit, l.exchange)
			}
			refused = refused || l.status == 429 && l.request.StreamLimit > 0
		}
	}),
}
