package mutation

import (
	"github.com/streamassay/streamassay/spec"

	"bytes"
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
)

// concurrencyMutants are servers in which the start, the end or the cancellation of one run ends
// other runs or their streams. In one of them, a refused cancel request cancels the run. In
// another, the end of one stream of a run ends the other streams of the run.
var concurrencyMutants = []*Mutant{
	{
		Name: "run-end-ends-other-streams", Doc: "ends the streams of all runs of the thread when one of the runs ends",
		KilledBy: map[string]string{"run.outlives-others": "http.close"},
		// The stream has no end, and lacks events of its run.
		AlsoFails:  []string{"run.ends", "script.idle", "cancel.spares-others"},
		Middleware: onRunEnd(func(n *cancellableStreams, thread, run string, canceled bool) { n.endOthers(thread, run) }),
	}, {
		Name: "canceled-run-ends-other-streams", Doc: "ends the streams of all runs of the thread when a canceled run ends",
		KilledBy: map[string]string{
			"run.outlives-others":  "http.close",
			"cancel.spares-others": "http.close",
		},
		AlsoFails: []string{"run.ends", "script.idle"}, // the other runs end without a terminal event
		Middleware: onRunEnd(func(n *cancellableStreams, thread, run string, canceled bool) {
			if canceled {
				n.endOthers(thread, run)
			}
		}),
	}, {
		Name: "cancels-all-runs", Doc: "cancels all runs of the thread in response to a cancel request for one of them",
		KilledBy:   map[string]string{"cancel.spares-others": "http.close"},
		AlsoFails:  []string{"script.idle", "script.slow"}, // the run is not streamed to its end
		Middleware: redirectCancel(threadID, runID, func(runs []string, named string) []string { return runs }),
	}, {
		Name: "cancels-first-run", Doc: "cancels the first run of the thread, whichever run the cancel request names",
		KilledBy:   map[string]string{"cancel.spares-others": "http.close"},
		AlsoFails:  []string{"script.idle", "script.slow"}, // the run is not streamed to its end
		Middleware: redirectCancel(threadID, runID, func(runs []string, named string) []string { return runs[:1] }),
	}, {
		Name: "cancels-in-all-threads", Doc: "also cancels the runs with the same id in other threads",
		KilledBy:  map[string]string{"cancel.spares-others": "http.close"},
		AlsoFails: []string{"script.idle", "script.slow"}, // the run is not streamed to its end
		Middleware: redirectCancel(runID, threadID, func(threads []string, named string) []string {
			return append(slices.DeleteFunc(threads, func(t string) bool { return t == named }), named)
		}),
	}, {
		Name: "cancels-despite-refusal", Doc: "cancels the run although it refuses the cancel request for lack of permission",
		KilledBy:   map[string]string{"cancel.spares-others": "http.close"},
		AlsoFails:  []string{"script.slow"}, // the run is not streamed to its end
		Middleware: cancelDespiteRefusal,
	}, {
		Name: "new-run-ends-previous-stream", Doc: "ends the stream of a run without a terminal event when a new run of the thread starts",
		Without:    []spec.Kind{"slot.limit"}, // streams are requested apart from runs
		KilledBy:   map[string]string{"run.ends": "http.close"},
		Middleware: endPreviousStream,
	}, {
		Name: "idle-limit-ends-other-streams", Doc: "ends the other streams of a run when one of its streams ends because of its idle limit",
		KilledBy: map[string]string{"run.ends": "http.close"},
		// The stream lacks events of its run, and other runs of the thread end at about the same
		// time.
		AlsoFails:  []string{"script.idle", "run.outlives-others", "cancel.spares-others"},
		Needs:      []spec.Kind{"slot.limit"},
		Middleware: endWithIdleStream,
	},
}

// endWithIdleStream is a middleware that ends all open streams of a run when one of them ends
// because of its idle limit: the number of polls without an event, stated in the request, after
// which the server ends the stream. The other streams end without the terminal event of the run.
func endWithIdleStream(next dialectHandler) dialectHandler {
	var mu sync.Mutex
	open := map[threadRun]map[int]context.CancelFunc{} // functions that end the open streams of a run
	count := 0                                         // number of requests for streams
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		if !v.isOperation("listen") || !v.event.Valid() {
			next.ServeHTTP(w, v.httpRequest)
			return
		}
		run := threadRun{v.event.Thread, v.event.Run}
		ctx, end := context.WithCancel(v.httpRequest.Context())
		defer end()
		mu.Lock()
		if open[run] == nil {
			open[run] = map[int]context.CancelFunc{}
		}
		count++
		own := count
		open[run][own] = end
		mu.Unlock()
		isOver := false // the terminal event was sent
		a := serveEdited(w, v.httpRequest.WithContext(ctx), next, streamEdit{sent: func(frame []byte) {
			k := v.decodeFrame(frame).Kind
			isOver = isOver || k == spec.RunEnd || k == spec.RunError
		}})
		isIdle := a == nil && v.event.PollLimit != "" && !isOver && ctx.Err() == nil
		mu.Lock()
		defer mu.Unlock()
		delete(open[run], own)
		if isIdle {
			for _, end := range open[run] {
				end()
			}
		}
		if a != nil {
			a.send(w)
		}
	})(next)
}

// endPreviousStream is a middleware that sends no more frames in the stream of a run once a valid
// request starts the next run of the same thread.
func endPreviousStream(next dialectHandler) dialectHandler {
	var latest sync.Map // thread id → *atomic.Bool: whether the stream of its latest run gets no more frames
	return editFrames(func(v parsedRequest) func([]byte) []byte {
		thread := v.parsed().Thread
		if !v.startsRun() || !v.parsed().Valid() || thread == "" {
			return nil
		}
		ended := &atomic.Bool{}
		if previous, ok := latest.Swap(thread, ended); ok {
			previous.(*atomic.Bool).Store(true)
		}
		return func(frame []byte) []byte {
			if ended.Load() {
				return nil
			}
			return frame
		}
	})(next)
}

// A cancellableStreams holds the open streams of a server and remembers which runs were canceled.
// The caller must hold mu to use the other fields.
type cancellableStreams struct {
	mu       sync.Mutex
	end      map[threadRun]context.CancelFunc // ends the open stream of the run
	canceled map[threadRun]bool               // whether a client canceled the run
}

// A threadRun identifies a run by the ids of its thread and of the run itself.
type threadRun struct{ thread, run string }

// serveCancel passes v, a valid request to cancel a run, to next and sends the response. Unless the
// response is a refusal, it remembers the run as canceled. The caller must not hold n.mu.
func (n *cancellableStreams) serveCancel(w http.ResponseWriter, v parsedRequest, next http.Handler) {
	run := threadRun{v.parsed().Thread, v.parsed().Run}
	n.mu.Lock()
	before := n.canceled[run]
	n.canceled[run] = true // the run may end before the response
	n.mu.Unlock()
	a := serveEdited(w, v.httpRequest, next, streamEdit{})
	if a == nil {
		return
	}
	if a.status >= 300 {
		n.mu.Lock()
		n.canceled[run] = before
		n.mu.Unlock()
	}
	a.send(w)
}

// endOthers ends the open streams of all runs of the thread with the id thread, except the stream
// of the run with the id run. The caller must hold n.mu.
func (n *cancellableStreams) endOthers(thread, run string) {
	for other, end := range n.end {
		if other.thread == thread && other.run != run {
			end()
		}
	}
}

// onRunEnd returns a middleware that calls ended each time the server has sent the terminal event
// of a run. It does not call ended for streams that were requested with a cursor.
//
// The arguments thread and run of ended are the ids of the thread and of the run. The argument
// canceled reports whether a client has canceled the run. The argument n holds the open streams of
// the server; n.mu is locked during the call.
func onRunEnd(ended func(n *cancellableStreams, thread, run string, canceled bool)) middleware {
	return func(next dialectHandler) dialectHandler {
		n := &cancellableStreams{end: map[threadRun]context.CancelFunc{}, canceled: map[threadRun]bool{}}
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			run := threadRun{v.parsed().Thread, v.parsed().Run}
			if v.isOperation("cancel") && v.parsed().Valid() {
				n.serveCancel(w, v, next)
				return
			}
			if !v.isOperation("listen") || !v.parsed().Valid() || v.parsed().Cursor != "" {
				next.ServeHTTP(w, v.httpRequest)
				return
			}
			ctx, end := context.WithCancel(v.httpRequest.Context())
			defer end()
			n.mu.Lock()
			n.end[run] = end
			n.mu.Unlock()
			defer func() {
				n.mu.Lock()
				delete(n.end, run)
				n.mu.Unlock()
			}()
			names := v.parsed().Facts().WireNames
			isEnd := func(frame []byte, k spec.Kind) bool { return names[k] != "" && bytes.Contains(frame, []byte(names[k])) }
			notify := streamEdit{sent: func(frame []byte) {
				if isEnd(frame, spec.RunEnd) || isEnd(frame, spec.RunError) {
					n.mu.Lock()
					defer n.mu.Unlock()
					ended(n, run.thread, run.run, n.canceled[run])
				}
			}}
			serveStream(w, v.httpRequest.WithContext(ctx), next, notify)
		})(next)
	}
}

// cancelDespiteRefusal is a middleware that repeats, with the credentials of [PrimaryUser], each
// valid request to cancel a run that the server refused with the status 401 or 403. The client
// receives the refusal.
func cancelDespiteRefusal(next dialectHandler) dialectHandler {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		a := serveEdited(w, v.httpRequest, next, streamEdit{})
		if a == nil {
			return
		}
		isDenied := a.status == http.StatusUnauthorized || a.status == http.StatusForbidden
		if isDenied && v.isOperation("cancel") && v.parsed().Valid() {
			serveEdited(w, v.asUser(PrimaryUser), next, streamEdit{})
		}
		a.send(w)
	})(next)
}

// redirectCancel returns a middleware that replaces one id in each cancel request, so that the
// server cancels other runs than the requested one. A cancel request names a thread and a run: slot
// returns the id to replace, and scope returns the id that is kept.
//
// The function choose returns the new ids, at least one; the server cancels one run for each of
// them. Its argument ids, which it may modify, lists the candidates, oldest first: if slot is
// runID, all runs of the thread; if slot is threadID, all threads with a run of that id. Its
// argument requested is the id in the request, which is one of ids.
//
// The client receives the response to the last cancellation, with the requested id in it. Invalid
// requests and requests for unknown runs are passed on unchanged.
func redirectCancel(scope, slot idGetter, choose func(ids []string, requested string) []string) middleware {
	return func(next dialectHandler) dialectHandler {
		var mu sync.Mutex
		started := map[string][]string{} // id of the scope → ids of the slot
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			in, requested := scope(v.parsed()), slot(v.parsed())
			mu.Lock()
			if v.startsRun() && v.parsed().Valid() {
				started[in] = append(started[in], requested)
			}
			ids := slices.Clone(started[in])
			mu.Unlock()
			if !v.isOperation("cancel") || !v.parsed().Valid() || !slices.Contains(ids, requested) {
				next.ServeHTTP(w, v.httpRequest)
				return
			}
			var last *completeResponse
			for _, id := range choose(ids, requested) {
				other := v.raw
				other.Target = replaceInTarget(other.Target, requested, id)
				if a := serveEdited(w, v.withRequest(other), next, streamEdit{}); a != nil {
					a.body = bytes.ReplaceAll(a.body, []byte(id), []byte(requested))
					last = a
				}
			}
			if last != nil {
				last.send(w)
			}
		})(next)
	}
}
