package rules

import (
	"errors"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// disconnectDelay is how long a server may take to notice that a client has left. Until then, the
// stream of that client may count toward the limit on concurrent streams.
const disconnectDelay = 5 * time.Second

// timeTolerance is the possible error of recorded times, which are rounded to milliseconds. If two
// times differ by less, their order is unknown.
const timeTolerance = 5 * time.Millisecond

// judgeStreamRequests returns a watchFunc that calls judge once, at the end of a conversation. The
// argument exchanges lists all exchanges whose request is a valid request of the primary user for a
// stream, in the order in which the responses ended.
func judgeStreamRequests(judge func(p *spec.Pass, exchanges []*exchange)) watchFunc {
	return eachExchange(func(p *spec.Pass) func(exchange) {
		var all []*exchange
		p.AtEnd(func() { judge(p, all) })
		return func(x exchange) {
			if x.request.IsStream() && x.request.Valid() {
				all = append(all, &x)
			}
		}
	})
}

// opensStream reports whether the response is an event stream with a 2xx status.
func (x *exchange) opensStream() bool {
	return x.status()/100 == 2 && x.response.IsStream()
}

// respondedAt returns the latest time, since the start of the conversation, at which the server
// could have decided how to respond. That is the time of the first event of the stream or, if no
// stream was opened, the end of the body.
func (x *exchange) respondedAt() time.Duration {
	if x.opensStream() {
		return x.firstBodyEvent.At
	}
	return x.bodyEnd.At
}

// countCertainlyOpen returns how many of the streams of the given exchanges, other than x, were
// certainly open during the whole time from the request of x until x.respondedAt().
func (x *exchange) countCertainlyOpen(exchanges []*exchange) (n int) {
	for _, other := range exchanges {
		openBefore := other.opensStream() && other.firstBodyEvent.At+timeTolerance <= x.request.At
		if other != x && openBefore && other.bodyEnd.At >= x.respondedAt()+timeTolerance {
			n++
		}
	}
	return n
}

// countPossiblyOpen returns how many of the streams of the given exchanges, other than x, the
// server may have counted as open when it received the request of x.
func (x *exchange) countPossiblyOpen(exchanges []*exchange) (n int) {
	for _, other := range exchanges {
		openBefore := other.opensStream() && other.request.At <= x.request.At
		unknownEnd := errors.Is(other.bodyEnd.Err, spec.ErrIdleTimeout) // the recording does not have the end
		if other != x && openBefore && (unknownEnd || other.bodyEnd.At+disconnectDelay >= x.request.At) {
			n++
		}
	}
	return n
}

// RefusesExcessStreams judges whether a request is refused if it asks for one more stream than the
// user may have open.
var RefusesExcessStreams = &spec.Check{
	ID: "limit.refuses-streams", ReadsDocument: true,
	Doc: `a request for a stream above the user's limit is refused as documented

This is judged only if the configuration of the target states the limit, because the document does
not. A stream counts as open from its first event to the end of its body.`,
	Watch: judgeStreamRequests(func(p *spec.Pass, all []*exchange) {
		for _, x := range all {
			if x.request.Facts().StreamLimit == 0 || x.status() == 0 {
				continue
			}
			n := x.countCertainlyOpen(all)
			if n < x.request.Facts().StreamLimit {
				continue
			}
			for _, refusal := range x.request.Facts().Denials[spec.DeniedStreamLimit] {
				e := x.request
				e.Requirement = refusal.Requirement
				p.Judge(e, x.satisfies(refusal), "%v with %d streams open and a limit of %d; expected %s",
					x, n, x.request.Facts().StreamLimit, DescribeRefusal(refusal))
			}
		}
	}),
}

// ReleasesStreams judges whether a user at the stream limit can open another stream after one of
// the open streams has closed.
var ReleasesStreams = &spec.Check{
	ID: "limit.frees-streams",
	Doc: `a user at the stream limit can open a stream after another has closed

A server may take five seconds to notice that a client has left, even one that left before
the conversation began.`,
	Watch: judgeStreamRequests(func(p *spec.Pass, all []*exchange) {
		refused := false
		for _, x := range all {
			switch limit := x.request.Facts().StreamLimit; {
			case limit == 0:
			case refused && x.opensStream() && x.countCertainlyOpen(all) < limit:
				p.Judge(x.request, true, "")
			case refused && x.status() == 429 && x.request.At >= disconnectDelay && x.countPossiblyOpen(all) < limit:
				p.Judge(x.request, false, "%v with at most %d streams open and a limit of %d; expected a stream",
					x, x.countPossiblyOpen(all), limit)
			}
			refused = refused || x.status() == 429 && x.request.Facts().StreamLimit > 0
		}
	}),
}
