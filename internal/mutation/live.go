package mutation

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A runTracker records the runs of a server: when they were started, whether they have ended, which
// frames were sent, and how many requests asked to cancel each run. The caller must hold mu to use
// runs and the runs in it.
type runTracker struct {
	mu   sync.Mutex
	runs map[string]*trackedRun // by run id
}

// A trackedRun is what a [runTracker] knows about one run.
type trackedRun struct {
	thread   string          // id of the thread
	started  time.Time       // when the request that started the run arrived
	ended    bool            // a stream of the run has reached its terminal event
	failed   bool            // that event reports a failure
	readers  int             // number of requests for the stream of the run that had no cursor
	cancels  int             // number of valid requests to cancel the run
	late     int             // number of valid requests to cancel the run after its end
	cursors  map[string]bool // set of the ids of the frames that were sent
	lastSent time.Time       // when the latest frame was sent
}

// logRuns returns a middleware that keeps a log of the runs and calls serve for each request v that
// names a run r in the log. A valid request to start a run adds the run to the log first.
//
// The function serve returns the request that is sent to the server in place of v, and an edit of
// the stream with which the server responds. Requests that name no run in the log are passed on
// unchanged. The mutex log.mu is locked during each call of serve. If v is a request for a stream,
// log.mu is also locked while the field frame of the edit is called.
func logRuns(serve func(log *runTracker, r *trackedRun, v parsedRequest) (spec.Request, streamEdit)) middleware {
	return func(next dialectHandler) dialectHandler {
		log := &runTracker{runs: map[string]*trackedRun{}}
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			log.mu.Lock()
			r := log.note(v)
			if r == nil {
				log.mu.Unlock()
				next.ServeHTTP(w, v.httpRequest)
				return
			}
			request, edit := serve(log, r, v)
			log.mu.Unlock()
			serveStream(w, v.withRequest(request), next, log.watch(r, v, edit))
		})(next)
	}
}

// note records the request v and returns the run that v names, or nil if the run is not in the log.
// If v is a valid request to start a run, note adds the run first. The caller must hold log.mu.
func (log *runTracker) note(v parsedRequest) *trackedRun {
	id := v.parsed().Run
	if log.runs[id] == nil && v.startsRun() && v.parsed().Valid() && id != "" {
		log.runs[id] = &trackedRun{thread: v.parsed().Thread, started: time.Now(), cursors: map[string]bool{}}
	}
	r := log.runs[id]
	switch {
	case r == nil:
	case v.isOperation("cancel") && v.parsed().Valid():
		r.cancels++
		if r.ended {
			r.late++
		}
	case v.isOperation("listen") && v.parsed().Cursor == "":
		r.readers++
	}
	return r
}

// watch returns an edit of the stream with which the server responds to the request v, which names
// the run r. The result is a copy of edit that also records in r the id of each frame, the time at
// which it was sent, and whether it ends the run. Its field frame locks log.mu. If v is not a
// request for a stream, watch returns edit itself.
func (log *runTracker) watch(r *trackedRun, v parsedRequest, edit streamEdit) streamEdit {
	if !v.isOperation("listen") {
		return edit
	}
	change := edit.frame
	edit.frame = func(frame []byte) []byte {
		log.mu.Lock()
		defer log.mu.Unlock()
		e := v.decodeFrame(frame)
		out := frame
		if change != nil {
			out = change(frame)
		}
		r.cursors[e.Cursor], r.lastSent = true, time.Now()
		r.ended = r.ended || e.Kind == spec.RunEnd || e.Kind == spec.RunError
		r.failed = r.failed || e.Kind == spec.RunError
		return out
	}
	return edit
}

// isOfSibling reports whether cursor is the id of a frame that was sent for a different run in the
// thread of r. The caller must hold log.mu.
func (log *runTracker) isOfSibling(r *trackedRun, cursor string) bool {
	for _, other := range log.runs {
		if other != r && other.thread == r.thread && other.cursors[cursor] {
			return true
		}
	}
	return false
}

// unedited returns the request v and an edit that changes nothing, as results for the function that
// is passed to logRuns.
func unedited(v parsedRequest) (spec.Request, streamEdit) { return v.raw, streamEdit{} }

// isReadAgain reports whether v requests the stream of the run r, without a cursor, after a stream
// of the run has reached its end and more than 400 milliseconds after the latest frame of the run
// was sent.
func isReadAgain(r *trackedRun, v parsedRequest) bool {
	return v.isOperation("listen") && v.parsed().Cursor == "" && r.ended && time.Since(r.lastSent) > 400*time.Millisecond
}

// liveMutants are servers that handle some requests about a run wrongly, but only while the run is
// active, or only after its end.
var liveMutants = []*Mutant{
	{
		Name: "malformed-cursor-accepted-while-active", Doc: "ignores a malformed cursor instead of refusing it while the run is active",
		KilledBy: map[string]string{"refuse.as-documented": "http.request"}, Needs: []spec.Kind{spec.SlotCursor, spec.CancelAccepted},
		Middleware: logRuns(func(_ *runTracker, r *trackedRun, v parsedRequest) (spec.Request, streamEdit) {
			if v.isOperation("listen") && !r.ended && strings.Contains(v.parsed().Cursor, "%") {
				out := v.raw
				out.Header = out.Header.Without("Last-Event-ID")
				return out, streamEdit{}
			}
			return unedited(v)
		}),
	}, {
		Name: "earlier-cursor-refused-while-active", Doc: "refuses a cursor from an earlier run of the thread while the run is active",
		KilledBy: map[string]string{"resume.takes-thread-cursor": "http.response"},
		Middleware: logRuns(func(log *runTracker, r *trackedRun, v parsedRequest) (spec.Request, streamEdit) {
			cursor := v.parsed().Cursor
			if v.isOperation("listen") && cursor != "" && !r.ended && log.isOfSibling(r, cursor) {
				out := v.raw
				out.Header = out.Header.With("Last-Event-ID", "%")
				return out, streamEdit{}
			}
			return unedited(v)
		}),
	}, {
		Name: "late-cancel-terminal-event-twice", Doc: "sends a second terminal event after a cancel request for a run that has ended",
		KilledBy:  map[string]string{"run.ends-once": "run.end run.error", "cancel.run-ends": "http.close"},
		Needs:     []spec.Kind{spec.SlotCursor, spec.CancelAccepted},
		AlsoFails: []string{"run.end-is-last", "resume.*", "cursor.unique"}, // the second end follows the first
		Middleware: logRuns(func(_ *runTracker, r *trackedRun, v parsedRequest) (spec.Request, streamEdit) {
			return v.raw, repeatEnd(v, func() bool { return r.late > 0 })
		}),
	}, {
		Name: "second-cancel-terminal-event-twice", Doc: "sends the terminal event twice for a run that is canceled twice",
		KilledBy:  map[string]string{"run.ends-once": "run.error run.end", "cancel.run-ends": "http.close"},
		Needs:     []spec.Kind{spec.SlotCursor, spec.CancelAccepted},
		AlsoFails: []string{"run.end-is-last", "resume.*", "cursor.unique"}, // the second end follows the first
		Middleware: logRuns(func(_ *runTracker, r *trackedRun, v parsedRequest) (spec.Request, streamEdit) {
			return v.raw, repeatEnd(v, func() bool { return r.cancels-r.late > 1 })
		}),
	}, {
		Name: "failed-replay-terminal-event-twice", Doc: "sends the terminal event twice when the stream of a failed run is requested again some time after its end",
		KilledBy:  map[string]string{"run.ends-once": "run.error"},
		Needs:     []spec.Kind{spec.SlotCursor},
		AlsoFails: []string{"run.end-is-last", "resume.*", "cursor.unique"}, // the second end follows the first
		Middleware: logRuns(func(_ *runTracker, r *trackedRun, v parsedRequest) (spec.Request, streamEdit) {
			if isReadAgain(r, v) && r.failed {
				return v.raw, repeatEnd(v, func() bool { return true })
			}
			return unedited(v)
		}),
	}, {
		Name: "ended-replay-empty", Doc: "sends no events when the stream of a run is requested again some time after its end",
		KilledBy:  map[string]string{"run.ends": "http.close"},
		Needs:     []spec.Kind{spec.SlotCursor},
		AlsoFails: slices.Concat(alsoWithoutEnd, []string{"script.*", "resume.*"}), // everything else is missing, too
		Middleware: logRuns(func(_ *runTracker, r *trackedRun, v parsedRequest) (spec.Request, streamEdit) {
			if isReadAgain(r, v) {
				return v.raw, streamEdit{frame: dropFrame}
			}
			return unedited(v)
		}),
	}, {
		Name: "cursor-kept-per-connection", Doc: "starts a stream requested without a cursor after the last cursor that the connection sent for the run",
		KilledBy:   map[string]string{"resume.loses-nothing": "message.delta message.end"},
		Middleware: rememberCursor,
	},
}

// acceptedLateMutants are servers that reply to a request to start a run only after the end of that
// run or of the previous run of the thread.
var acceptedLateMutants = []*Mutant{
	{
		Name: "idle-run-accepted-at-end", Doc: "accepts an idle run only when that run has ended",
		KilledBy: map[string]string{"accepted.before-end": "run.accepted"}, Needs: []spec.Kind{spec.RunAccepted},
		Middleware: delayAcceptance(true),
	}, {
		Name: "run-accepted-after-idle-run", Doc: "accepts a run only when the idle run before it in the thread has ended",
		KilledBy: map[string]string{"accepted.before-end": "run.accepted"}, Needs: []spec.Kind{spec.RunAccepted},
		Middleware: delayAcceptance(false),
	},
}

// maxReplyDelay is the maximum time for which delayAcceptance delays a reply. It is less than the
// time for which the suite waits for the reply of a mutant.
const maxReplyDelay = 2 * time.Second

// delayAcceptance returns a middleware that delays replies to requests to start a run until a
// silent run has ended, but at most for maxReplyDelay. A run is silent if its prompt is
// conformance:idle. If own is true, the reply to the request for the silent run itself is delayed.
// If own is false, the reply to the next request for a run in the same thread is delayed.
func delayAcceptance(own bool) middleware {
	return func(next dialectHandler) dialectHandler {
		var ends sync.Map // by thread id: when the last silent run ends
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			if !v.startsRun() || !v.parsed().Valid() {
				next.ServeHTTP(w, v.httpRequest)
				return
			}
			argument, _ := strings.CutPrefix(v.parsed().Text, "conformance:idle ")
			ms, _ := strconv.Atoi(argument) // 0 for other prompts
			silence := min(time.Duration(ms)*time.Millisecond, maxReplyDelay)
			if end, ok := ends.Load(v.parsed().Thread); ok && !own {
				time.Sleep(time.Until(end.(time.Time)))
			}
			ends.Store(v.parsed().Thread, time.Now().Add(silence))
			a := serveEdited(w, v.httpRequest, next, streamEdit{})
			if own {
				time.Sleep(silence)
			}
			if a != nil {
				a.send(w)
			}
		})(next)
	}
}

// rememberCursor is a middleware that adds a cursor to valid stream requests without one: the
// cursor of the last request for a stream of the same run over the same connection that had one. If
// there was no such request, the request is not changed.
func rememberCursor(next dialectHandler) dialectHandler {
	var cursors sync.Map // by remote address and run id
	return editRequests(func(v parsedRequest) *http.Request {
		key := [2]string{v.httpRequest.RemoteAddr, v.parsed().Run}
		if cursor := v.parsed().Cursor; !v.isOperation("listen") || !v.parsed().Valid() {
			return v.httpRequest
		} else if cursor != "" {
			cursors.Store(key, cursor)
		} else if last, ok := cursors.Load(key); ok {
			r := v.raw
			r.Header = r.Header.With("Last-Event-ID", last.(string))
			return v.withRequest(r)
		}
		return v.httpRequest
	})(next)
}

// repeatEnd returns an edit of a stream that sends the terminal event of the run a second time if
// repeats returns true. The stream is the response to the request v. The edit calls repeats when
// the terminal event is sent.
func repeatEnd(v parsedRequest, repeats func() bool) streamEdit {
	return streamEdit{frame: func(frame []byte) []byte {
		k := v.decodeFrame(frame).Kind
		if (k == spec.RunEnd || k == spec.RunError) && repeats() {
			return slices.Concat(frame, frame)
		}
		return frame
	}}
}
