package mutant

import (
	"net/http"
	"sync"

	"github.com/streamassay/streamassay/reference"
)

// crowded makes a server that says otherwise that there are too many streams.
func crowded(edit func(v view, a *reply)) twist {
	return denying(http.StatusTooManyRequests, edit)
}

var limitMutants = []*Mutant{
	{
		Name: "any-number-of-streams", Doc: "a user may have any number of streams",
		Breaks: []string{"runs.stream.limit-429", "runs.stream.limit-plain", "runs.errors.code-sse-limit"},
		Kills:  map[string]string{"limit.refuses-streams": "http.request"},
		Server: func(cfg *reference.Config) { cfg.Limits.Streams = 4096 },
	}, {
		Name: "one-stream-more", Doc: "a user may have one stream more than allowed",
		Breaks: []string{"runs.stream.limit-429", "runs.stream.limit-plain", "runs.errors.code-sse-limit"},
		Kills:  map[string]string{"limit.refuses-streams": "http.request"},
		Server: func(cfg *reference.Config) { cfg.Limits.Streams++ },
	}, {
		Name: "crowd-400", Doc: "one stream too many is refused with 400",
		// How a refusal with 400 looks the document does not say here, so it has no code.
		Breaks: []string{"runs.stream.limit-429", "runs.errors.code-sse-limit"},
		Kills:  map[string]string{"limit.refuses-streams": "http.request"},
		Also:   []string{"wire.opens-stream"}, // nothing is wrong with the request itself
		Twist:  crowded(func(_ view, a *reply) { a.status = http.StatusBadRequest }),
	}, {
		Name: "crowd-streamed", Doc: "one stream too many is refused by a stream",
		Breaks: []string{"runs.stream.limit-plain", "runs.errors.code-sse-limit"}, // a stream has no code
		Kills:  map[string]string{"limit.refuses-streams": "http.request"},
		Twist:  crowded(asStream),
	}, {
		Name: "crowd-without-code", Doc: "one stream too many is refused with a code that nobody knows",
		Breaks: []string{"runs.errors.code-sse-limit"},
		Kills:  map[string]string{"limit.refuses-streams": "http.request"},
		Twist:  crowded(func(_ view, a *reply) { a.json(func(m map[string]any) { m["code"] = "BUSY" }) }),
	}, {
		Name: "crowd-for-ever", Doc: "who had too many streams once gets none any more",
		Breaks: []string{"runs.stream.limit-frees"},
		Kills:  map[string]string{"limit.frees-streams": "http.request"},
		Twist: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			refused := map[string]reply{}
			inner := crowded(func(v view, a *reply) {
				mu.Lock()
				defer mu.Unlock()
				refused[v.http.Header.Get("Authorization")] = *a
			})(next)
			return seeing(func(w http.ResponseWriter, v view, _ http.Handler) {
				mu.Lock()
				a, ok := refused[v.http.Header.Get("Authorization")]
				mu.Unlock()
				if ok && v.says("listen") {
					a.send(w)
					return
				}
				inner.ServeHTTP(w, v.http)
			})(next)
		},
	}, {
		Name: "streams-never-freed", Doc: "streams of a run count until the run is over, not until they are",
		Breaks: []string{"runs.stream.limit-frees"},
		Kills:  map[string]string{"limit.frees-streams": "http.request"},
		Twist: func(next http.Handler) http.Handler {
			var mu sync.Mutex
			opened, refused := map[string]int{}, map[string]reply{}
			inner := crowded(func(v view, a *reply) {
				mu.Lock()
				defer mu.Unlock()
				refused[v.heard().Run] = *a
			})(next)
			return seeing(func(w http.ResponseWriter, v view, _ http.Handler) {
				mu.Lock()
				a, ok := refused[v.heard().Run]
				if v.says("listen") {
					opened[v.heard().Run]++
				}
				late := opened[v.heard().Run] > streams
				mu.Unlock()
				if ok && late && v.says("listen") {
					a.send(w)
					return
				}
				inner.ServeHTTP(w, v.http)
			})(next)
		},
	},
}
