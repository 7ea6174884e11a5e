package rules

import (
	"errors"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// disconnectDelay is how long a server may take to notice that a client has left. Until then, the
// stream of that client may count toward the limit on concurrent streams.
const disconnectDelay = 5 * time.Second

// timeTolerance is the largest error of the difference between two recorded times, which are
// rounded to milliseconds. The order of two times that differ by less is unknown.
const timeTolerance = 5 * time.Millisecond

// judgeStreamRequests returns a newWatcherFunc that calls judge once, at the end of a conversation.
// The argument exchanges lists all exchanges whose request is a valid request of [spec.PrimaryUser]
// for a stream, in the order in which the responses ended.
func judgeStreamRequests(judge func(p *spec.Pass, exchanges []*exchange)) newWatcherFunc {
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

// respondedAt returns a time by which the server had decided how to respond, measured from the
// start of the conversation. It is the time at which the client received the first event of the
// stream or, if no stream was opened, the end of the body.
func (x *exchange) respondedAt() time.Duration {
	if x.opensStream() {
		return x.firstBodyEvent.At
	}
	return x.bodyEnd.At
}

// countCertainlyOpen returns the number of streams that were certainly open from the request of x
// until x.respondedAt(). It counts the streams of the given exchanges except that of x.
func (x *exchange) countCertainlyOpen(exchanges []*exchange) (n int) {
	for _, other := range exchanges {
		openBefore := other.opensStream() && other.firstBodyEvent.At+timeTolerance <= x.request.At
		if other != x && openBefore && other.bodyEnd.At >= x.respondedAt()+timeTolerance {
			n++
		}
	}
	return n
}

// countPossiblyOpen returns the number of streams that the server may have counted as open when it
// received the request of x. It counts the streams of the given exchanges except that of x.
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

// RefusesExcessStreams judges whether a request for a stream is refused if the user already has as
// many open streams as the server allows one user; see [spec.RequestFacts.StreamLimit].
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
				p.Judge(e, x.satisfies(refusal),
					"requested a stream while %d were open and the limit was %d: %v; expected a refusal with %s",
					n, x.request.Facts().StreamLimit, x, DescribeRefusal(refusal))
			}
		}
	}),
}

// ReleasesStreams judges whether a user who has as many open streams as the server allows (see
// [spec.RequestFacts.StreamLimit]) can open another one after one of them has closed.
var ReleasesStreams = &spec.Check{
	ID: "limit.frees-streams",
	Doc: `a user at the stream limit can open a stream after another has closed

A server may take five seconds to notice that a client has closed its connection, even if the client
did so before the conversation began.`,
	Watch: judgeStreamRequests(func(p *spec.Pass, all []*exchange) {
		refused := false
		for _, x := range all {
			switch limit := x.request.Facts().StreamLimit; {
			case limit == 0:
			case refused && x.opensStream() && x.countCertainlyOpen(all) < limit:
				p.Judge(x.request, true, "")
			case refused && x.status() == 429 && x.request.At >= disconnectDelay && x.countPossiblyOpen(all) < limit:
				p.Judge(x.request, false,
					"requested a stream while at most %d were open and the limit was %d: %v; expected a stream",
					x.countPossiblyOpen(all), limit, x)
			}
			refused = refused || x.status() == 429 && x.request.Facts().StreamLimit > 0
		}
	}),
}
