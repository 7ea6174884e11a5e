package mutation

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// stopMutants are servers that leave the stream of a cancelled run open, or fail to process a
// request to cancel a run that has ended.
var stopMutants = []*Mutant{
	{
		Name: "body-open-after-cancel", Doc: "sends nothing more in the stream of a canceled run and keeps the response body open",
		KilledBy: map[string]string{"wire.ends": "http.close"},
		// The end of the run is missing, and what the client waits for after it comes late or not
		// at all.
		AlsoFails: append([]string{"wire.body-is-whole"}, contentChecks...),
		Needs:     []spec.Kind{spec.CancelAccepted},
		Middleware: endCanceled(func(r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(maxHeld):
			}
		}),
	}, {
		Name: "body-truncated-after-cancel", Doc: "sends nothing more in the stream of a canceled run and truncates the response body when the run ends",
		KilledBy:   map[string]string{"wire.body-is-whole": "http.close", "run.ends": "http.close"},
		AlsoFails:  contentChecks,
		Needs:      []spec.Kind{spec.CancelAccepted},
		Middleware: endCanceled(func(*http.Request) { panic(http.ErrAbortHandler) }),
	}, {
		Name: "late-cancel-status-500", Doc: "responds with status 500 to a cancel request for a run that has ended",
		KilledBy:   map[string]string{repliesAsPromised: "http.response"},
		Needs:      []spec.Kind{spec.CancelAccepted, spec.SlotCursor}, // in other dialects, no status is required
		Middleware: failLateCancels,
	},
}

// An openStream is the response to a request for the stream of a run.
type openStream struct {
	thread, run string
	isHeld      atomic.Bool // a client has asked to cancel the run, so nothing more is sent
}

// maxHeld is the maximum time for which the mutant open-after-a-stop keeps a body open after the
// end of its run. It is longer than the time for which the suite waits.
const maxHeld = 30 * time.Second

// endCanceled returns a middleware that sends nothing more in the streams of a run after
// [PrimaryUser] has sent a valid request to cancel the run. If the cancel request names only a
// thread, this applies to all open streams of the thread. When the server ends such a stream, the
// middleware calls end with the request for the stream; the body ends when end returns.
func endCanceled(end func(*http.Request)) middleware {
	return func(next dialectHandler) dialectHandler {
		var open sync.Map // set of *openStream
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			thread, run := v.event.Thread, v.event.Run
			if v.isOperation("cancel") && v.event.Valid() && v.user() == PrimaryUser {
				open.Range(func(key, _ any) bool {
					if s := key.(*openStream); s.thread == thread && (s.run == run || run == "") {
						s.isHeld.Store(true)
					}
					return true
				})
			}
			if !v.startsRun() && !v.isOperation("listen") || !v.event.Valid() {
				next.ServeHTTP(w, v.httpRequest)
				return
			}
			s := &openStream{thread: thread, run: run}
			open.Store(s, true)
			defer open.Delete(s)
			send := func(frame []byte) []byte {
				if s.isHeld.Load() {
					return nil
				}
				return frame
			}
			serveStream(w, v.httpRequest, next, streamEdit{frame: send, comment: send, end: func() []byte {
				if s.isHeld.Load() {
					end(v.httpRequest)
				}
				return nil
			}})
		})(next)
	}
}

// failLateCancels is a middleware that responds with status 500 to valid requests of [PrimaryUser]
// to cancel a run if a stream of the run has reached its terminal event.
func failLateCancels(next dialectHandler) dialectHandler {
	var ended sync.Map // set of threadRuns
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		run := threadRun{v.event.Thread, v.event.Run}
		_, isLate := ended.Load(run)
		switch {
		case isLate && v.isOperation("cancel") && v.event.Valid() && v.user() == PrimaryUser:
			http.Error(w, "no such run", http.StatusInternalServerError)
		case v.isOperation("listen"):
			serveStream(w, v.httpRequest, next, streamEdit{sent: func(frame []byte) {
				if k := v.decodeFrame(frame).Kind; k == spec.RunEnd || k == spec.RunError {
					ended.Store(run, true)
				}
			}})
		default:
			next.ServeHTTP(w, v.httpRequest)
		}
	})(next)
}
