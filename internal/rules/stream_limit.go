package rules

import (
	"errors"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// disconnectDelay is how long a server may take to notice that a client has left. Until then, the
// stream of that client may count towards the limit on concurrent streams.
const disconnectDelay = 5 * time.Second

// timeTolerance is the possible error of recorded times, which are rounded to milliseconds. The
// order of two times that differ by less is unknown.
const timeTolerance = 5 * time.Millisecond

// A streamExchange is one request of the primary user for a stream, with its response and the time
// during which the stream was certainly open.
type streamExchange struct {
	exchange
	bodyEnd                     spec.Event
	opened                      bool
	hasActivity                 bool
	firstActivity, lastActivity time.Duration // of the first event after the head, and of the end of the body
}

// judgeStreamRequests returns a watchFunc that calls judge once, at the end of a conversation, with
// all requests of the primary user for streams.
func judgeStreamRequests(judge func(p *spec.Pass, all []*streamExchange)) watchFunc {
	return func(p *spec.Pass) func(spec.Event) {
		exchanges := exchangesOf(p)
		var all []*streamExchange
		var current *streamExchange
		p.AtEnd(func() { judge(p, all) })
		return func(e spec.Event) {
			if e.Kind == spec.HTTPRequest {
				if current = nil; e.IsStream() && e.Valid() {
					current = &streamExchange{exchange: exchange{request: e}}
					all = append(all, current)
				}
			} else if current != nil {
				if exchanges.ended {
					current.exchange = exchanges.current
				}
				current.observe(e)
			}
		}
	}
}

// observe records one event of the response: whether a stream opened, and the times of its first
// event and its end.
func (l *streamExchange) observe(e spec.Event) {
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

// respondedAt returns the latest time at which the server may have decided how to respond: the time
// of the first event of a stream, or of the end of the body if no stream was opened.
func (l *streamExchange) respondedAt() time.Duration {
	if l.opened {
		return l.firstActivity
	}
	return l.bodyEnd.At
}

// countCertainlyOpen returns the number of streams in all, other than l, that were certainly open
// during the whole time from the request for l to its response.
func (l *streamExchange) countCertainlyOpen(all []*streamExchange) (n int) {
	for _, other := range all {
		openBefore := other.opened && other.firstActivity+timeTolerance <= l.request.At
		if other != l && openBefore && other.lastActivity >= l.respondedAt()+timeTolerance {
			n++
		}
	}
	return n
}

// countPossiblyOpen returns the number of streams in all, other than l, that the server may have
// counted as open when l was requested.
func (l *streamExchange) countPossiblyOpen(all []*streamExchange) (n int) {
	for _, other := range all {
		openBefore := other.opened && other.request.At <= l.request.At
		unknownEnd := errors.Is(other.bodyEnd.Err, spec.ErrIdleTimeout) // the recording does not have the end
		if other != l && openBefore && (unknownEnd || other.lastActivity+disconnectDelay >= l.request.At) {
			n++
		}
	}
	return n
}

// RefusesExcessStreams judges whether a request for one more stream than the user may have open is
// refused.
var RefusesExcessStreams = &spec.Check{
	ID: "limit.refuses-streams", ReadsDocument: true,
	Doc: `a request for a stream above the user's limit is refused as documented

The document does not state the limit, so this is judged only if the target's configuration
does. A stream counts as open from its first event to its last.`,
	Watch: judgeStreamRequests(func(p *spec.Pass, all []*streamExchange) {
		for _, l := range all {
			if l.request.Facts().StreamLimit == 0 || l.status == 0 || l.status == 503 {
				continue
			}
			n := l.countCertainlyOpen(all)
			if n < l.request.Facts().StreamLimit {
				continue
			}
			for _, refusal := range l.request.Facts().Denials[spec.DeniedStreamLimit] {
				e := l.request
				e.Requirement = refusal.Requirement
				p.Judge(e, l.satisfies(refusal), "%v with %d streams open and a limit of %d; expected %s",
					l.exchange, n, l.request.Facts().StreamLimit, DescribeRefusal(refusal))
			}
		}
	}),
}

// ReleasesStreams judges whether a user at the stream limit can open a stream after another one has
// closed.
var ReleasesStreams = &spec.Check{
	ID: "limit.frees-streams",
	Doc: `a user at the stream limit can open a stream after another has closed

A server may take five seconds to notice that a client has left, even one that left before
the conversation began.`,
	Watch: judgeStreamRequests(func(p *spec.Pass, all []*streamExchange) {
		refused := false
		for _, l := range all {
			switch limit := l.request.Facts().StreamLimit; {
			case limit == 0:
			case refused && l.opened && l.countCertainlyOpen(all) < limit:
				p.Judge(l.request, true, "")
			case refused && l.status == 429 && l.request.At >= disconnectDelay && l.countPossiblyOpen(all) < limit:
				p.Judge(l.request, false, "%v with at most %d streams open and a limit of %d; expected a stream",
					l.exchange, l.countPossiblyOpen(all), limit)
			}
			refused = refused || l.status == 429 && l.request.Facts().StreamLimit > 0
		}
	}),
}
