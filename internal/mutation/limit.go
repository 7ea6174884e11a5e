package mutation

import (
	"net/http"
	"sync"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
)

// editTooManyStreams returns a middleware that calls edit to change the refusals of streams to
// users who have too many open streams. a is the refusal and v the refused request.
func editTooManyStreams(edit func(v parsedRequest, a *plainResponse)) middleware {
	return editDenials(http.StatusTooManyRequests, edit)
}

// limitMutants are servers that do not limit the streams of a user as the protocol requires.
var limitMutants = []*Mutant{
	{
		Name: "any-number-of-streams", Doc: "a user may have any number of streams",
		KilledBy:  map[string]string{"limit.refuses-streams": "http.request"},
		Configure: func(cfg *reference.Config) { cfg.Limits.StreamsPerUser = 4096 },
	}, {
		Name: "one-stream-more", Doc: "a user may have one stream more than allowed",
		KilledBy:  map[string]string{"limit.refuses-streams": "http.request"},
		Configure: func(cfg *reference.Config) { cfg.Limits.StreamsPerUser++ },
	}, {
		Name: "crowd-400", Doc: "one stream too many is refused with 400",
		KilledBy:   map[string]string{"limit.refuses-streams": "http.request"},
		AlsoFails:  []string{"wire.opens-stream"}, // the request itself is valid and must open a stream
		Middleware: editTooManyStreams(func(_ parsedRequest, a *plainResponse) { a.status = http.StatusBadRequest }),
	}, {
		Name: "crowd-streamed", Doc: "one stream too many is refused by a stream",
		KilledBy:   map[string]string{"limit.refuses-streams": "http.request"},
		Middleware: editTooManyStreams(asStream),
	}, {
		Name: "crowd-without-code", Doc: "one stream too many is refused with an unknown code",
		KilledBy: map[string]string{"limit.refuses-streams": "http.request"},
		Middleware: editTooManyStreams(func(v parsedRequest, a *plainResponse) {
			a.hideTexts(v.parsed().Facts().Denials[spec.DeniedStreamLimit])
		}),
	}, {
		Name: "crowd-for-ever", Doc: "a user who once exceeded the stream limit gets no more streams",
		KilledBy: map[string]string{"limit.frees-streams": "http.request"},
		Middleware: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			refused := map[string]plainResponse{}
			inner := editTooManyStreams(func(v parsedRequest, a *plainResponse) {
				mu.Lock()
				defer mu.Unlock()
				refused[v.httpRequest.Header.Get("Authorization")] = *a
			})(next)
			return interceptRequests(func(w http.ResponseWriter, v parsedRequest, _ http.Handler) {
				mu.Lock()
				a, ok := refused[v.httpRequest.Header.Get("Authorization")]
				mu.Unlock()
				if ok && v.isOperation("listen") {
					a.send(w)
					return
				}
				inner.ServeHTTP(w, v.httpRequest)
			})(next)
		},
	}, {
		Name: "streams-never-freed", Doc: "streams of a run count until the run is over, not until they are",
		KilledBy: map[string]string{"limit.frees-streams": "http.request"},
		Middleware: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			opened, refused := map[string]int{}, map[string]plainResponse{}
			inner := editTooManyStreams(func(v parsedRequest, a *plainResponse) {
				mu.Lock()
				defer mu.Unlock()
				refused[v.parsed().Run] = *a
			})(next)
			return interceptRequests(func(w http.ResponseWriter, v parsedRequest, _ http.Handler) {
				mu.Lock()
				a, ok := refused[v.parsed().Run]
				if v.isOperation("listen") {
					opened[v.parsed().Run]++
				}
				late := opened[v.parsed().Run] > streamLimit
				mu.Unlock()
				if ok && late && v.isOperation("listen") {
					a.send(w)
					return
				}
				inner.ServeHTTP(w, v.httpRequest)
			})(next)
		},
	},
}
