package mutation

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// A runLog records when runs were started and ended, and how many times they were cancelled.
type runLog struct {
	mu   sync.Mutex
	runs map[string]*loggedRun // by run id
}

// A loggedRun is what a [runLog] knows of one run.
type loggedRun struct {
	thread   string
	started  time.Time
	ended    bool            // a stream had its terminal event
	readers  int             // number of requests for its stream without a cursor
	cancels  int             // number of requests to cancel it
	late     int             // number of cancels that came after its end
	cursors  map[string]bool // the ids of its frames that were sent
	lastSent time.Time       // when the latest frame was sent
}

// logRuns returns a middleware that logs the runs and handles each valid request about a run with
// serve, which may change the request and edit its stream. r is the run that the request names; log
// is locked while serve and the edit of a stream run.
func logRuns(serve func(log *runLog, r *loggedRun, v parsedRequest) (spec.Request, streamEdit)) middleware {
	return func(next dialectHandler) dialectHandler {
		log := &runLog{runs: map[string]*loggedRun{}}
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
			if a := serveEdited(w, v.withRequest(request), next, log.watch(r, v, edit)); a != nil {
				a.send(w)
			}
		})(next)
	}
}

// note records request v and returns the run that it names, or nil if there is none.
func (log *runLog) note(v parsedRequest) *loggedRun {
	id := v.parsed().Run
	if log.runs[id] == nil && v.startsRun() && v.parsed().Valid() && id != "" {
		log.runs[id] = &loggedRun{thread: v.parsed().Thread, started: time.Now(), cursors: map[string]bool{}}
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

// watch returns a copy of edit, the edit of the stream of run r that responds to v. The copy also
// locks the log during each call and records what was sent.
func (log *runLog) watch(r *loggedRun, v parsedRequest, edit streamEdit) streamEdit {
	if !v.isOperation("listen") {
		return edit
	}
	change := edit.frame
	edit.frame = func(frame []byte) [][]byte {
		log.mu.Lock()
		defer log.mu.Unlock()
		e := v.decodeFrame(frame)
		out := [][]byte{frame}
		if change != nil {
			out = change(frame)
		}
		r.cursors[e.Cursor], r.lastSent = true, time.Now()
		r.ended = r.ended || e.Kind == spec.RunEnd || e.Kind == spec.RunError
		return out
	}
	return edit
}

// isOfSibling reports whether the cursor was sent with a frame of another run of the thread of r.
func (log *runLog) isOfSibling(r *loggedRun, cursor string) bool {
	for _, other := range log.runs {
		if other != r && other.thread == r.thread && other.cursors[cursor] {
			return true
		}
	}
	return false
}

// without returns request v without its header fields of the given name.
func without(v parsedRequest, name string) spec.Request {
	r := v.raw
	r.Header = r.Header.Without(name)
	return r
}

// unedited returns request v as it is, with no edit of its stream.
func unedited(v parsedRequest) (spec.Request, streamEdit) { return v.raw, streamEdit{} }

// liveMutants are servers that have a defect only while a run goes on, or only after its end.
var liveMutants = []*Mutant{
	{
		Name: "malformed-cursor-while-live", Doc: "a malformed cursor is ignored while the run goes on",
		KilledBy: map[string]string{"refuse.as-documented": "http.request"}, Needs: []spec.Kind{spec.SlotCursor, spec.CancelAccepted},
		Middleware: logRuns(func(_ *runLog, r *loggedRun, v parsedRequest) (spec.Request, streamEdit) {
			if v.isOperation("listen") && !r.ended && bytes.Contains([]byte(v.parsed().Cursor), []byte("%")) {
				return without(v, "Last-Event-ID"), streamEdit{}
			}
			return unedited(v)
		}),
	}, {
		Name: "cursor-of-before-while-live", Doc: "a cursor of an earlier run is refused while the run goes on",
		KilledBy: map[string]string{"resume.takes-thread-cursor": "http.response"},
		Middleware: logRuns(func(log *runLog, r *loggedRun, v parsedRequest) (spec.Request, streamEdit) {
			cursor := v.parsed().Cursor
			if v.isOperation("listen") && cursor != "" && !r.ended && log.isOfSibling(r, cursor) {
				out := without(v, "Last-Event-ID")
				out.Header = append(out.Header, spec.Field{Name: "Last-Event-ID", Value: "%"})
				return out, streamEdit{}
			}
			return unedited(v)
		}),
	}, {
		Name: "canceled-after-its-end", Doc: "a cancel request after the end of a run ends the run once more",
		KilledBy:  map[string]string{"run.ends-once": "run.end run.error", "cancel.run-ends": "http.close"},
		Needs:     []spec.Kind{spec.SlotCursor, spec.CancelAccepted},
		AlsoFails: []string{"run.end-is-last", "resume.*", "cursor.unique"}, // the second end follows the first
		Middleware: logRuns(func(_ *runLog, r *loggedRun, v parsedRequest) (spec.Request, streamEdit) {
			return v.raw, repeatEnd(v, func() bool { return r.late > 0 })
		}),
	}, {
		Name: "canceled-once-each", Doc: "a run that is cancelled twice ends twice",
		KilledBy:  map[string]string{"run.ends-once": "run.error", "cancel.run-ends": "http.close"},
		Needs:     []spec.Kind{spec.SlotCursor, spec.CancelAccepted},
		AlsoFails: []string{"run.end-is-last", "resume.*", "cursor.unique"}, // the second end follows the first
		Middleware: logRuns(func(_ *runLog, r *loggedRun, v parsedRequest) (spec.Request, streamEdit) {
			return v.raw, repeatEnd(v, func() bool { return r.cancels-r.late > 1 })
		}),
	},
}

// repeatEnd returns an edit of the response to v that sends the terminal event of a run twice if
// twice() is true at that time.
func repeatEnd(v parsedRequest, twice func() bool) streamEdit {
	return streamEdit{frame: func(frame []byte) [][]byte {
		k := v.decodeFrame(frame).Kind
		if (k == spec.RunEnd || k == spec.RunError) && twice() {
			return [][]byte{frame, frame}
		}
		return [][]byte{frame}
	}}
}
