package mutation

import (
	"net/http"
	"sync"

	"github.com/streamassay/streamassay/reference"
)

// limitMutants are servers that do not limit the concurrent streams of a user as the protocol
// requires. Mutants that refuse a stream in a wrong form are generated instead; see deniedRequests.
var limitMutants = []*Mutant{
	{
		Name: "stream-limit-missing", Doc: "allows a user any number of concurrent streams",
		KilledBy:  map[string]string{"limit.refuses-streams": "http.request"},
		Configure: func(cfg *reference.Config) { cfg.Limits.StreamsPerUser = 4096 },
	}, {
		Name: "stream-limit-off-by-one", Doc: "allows a user one concurrent stream more than the limit",
		KilledBy:  map[string]string{"limit.refuses-streams": "http.request"},
		Configure: func(cfg *reference.Config) { cfg.Limits.StreamsPerUser++ },
	}, {
		Name: "stream-limit-permanent", Doc: "refuses all streams of a user who has exceeded the stream limit once",
		KilledBy:   map[string]string{"limit.frees-streams": "http.request"},
		Middleware: repeatTooManyStreams(parsedRequest.user),
	}, {
		Name: "streams-counted-until-run-ends", Doc: "counts a stream toward the stream limit until its run ends, even if the stream ends earlier",
		KilledBy:   map[string]string{"limit.frees-streams": "http.request"},
		Middleware: repeatTooManyStreams(func(v parsedRequest) string { return v.parsed().Run }),
	},
}

// repeatTooManyStreams returns a middleware that repeats refusals of streams. Once the server has
// refused a request for a stream with status 429, the middleware sends the same response to all
// later requests for streams for which key returns the same value.
func repeatTooManyStreams(key func(v parsedRequest) string) middleware {
	return func(next dialectHandler) dialectHandler {
		var refused sync.Map // key → *completeResponse
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			if !v.isOperation("listen") {
				next.ServeHTTP(w, v.httpRequest)
			} else if again, ok := refused.Load(key(v)); ok {
				again.(*completeResponse).send(w)
			} else if a := serveEdited(w, v.httpRequest, next, streamEdit{}); a != nil {
				if a.status == http.StatusTooManyRequests {
					refused.Store(key(v), a)
				}
				a.send(w)
			}
		})(next)
	}
}
