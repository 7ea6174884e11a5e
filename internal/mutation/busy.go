package mutation

import (
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/streamassay/streamassay/spec"
)

// busyMutants are servers that wrongly treat a thread as busy, or that handle a prompt for a busy
// thread wrongly. Some refuse a prompt because the user has an active run in another thread. Others
// refuse all further prompts of a thread, even after the end of the run that kept it busy.
var busyMutants = []*Mutant{
	{
		Name: "busy-user-status-409", Doc: "refuses a prompt with status 409 while a run of the same user is active in another thread",
		KilledBy:   map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails:  alsoIfRefused,
		Needs:      []spec.Kind{"slot.user", spec.CancelAccepted}, // in other dialects, no user has two threads at a time
		Middleware: lockUsers(refuseAsBusy),
	}, {
		Name: "busy-user-refusal-event", Doc: "refuses a prompt with an event while a run of the same user is active in another thread",
		KilledBy:   map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails:  alsoIfRefused,
		Needs:      []spec.Kind{"slot.user", spec.CancelAccepted, spec.RunRefused},
		Middleware: lockUsers(refuseInBand),
	}, {
		Name: "refused-prompt-ends-active-stream", Doc: "ends the stream of the active run when it refuses a prompt because the thread is busy",
		KilledBy:   map[string]string{"run.ends": "http.close", "script.slow": "message.delta"},
		Without:    []spec.Kind{"slot.limit"}, // streams are requested apart from runs
		Middleware: endBusyStream,
	}, {
		Name: "thread-locked-after-refused-prompt", Doc: "refuses all later prompts of a thread after it has refused a prompt because the thread was busy",
		KilledBy:   map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails:  alsoIfRefused,
		Without:    []spec.Kind{"slot.limit"}, // streams are requested apart from runs
		Middleware: lockThreads(afterRefusedPrompt),
	}, {
		Name: "thread-locked-after-disconnect", Doc: "refuses all later prompts of a thread after a client has closed a stream of the thread before its end",
		KilledBy:   map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails:  alsoIfRefused,
		Middleware: lockThreads(afterDisconnect),
	}, {
		Name: "thread-locked-after-cancel", Doc: "refuses all later prompts of a thread after a run of the thread was canceled",
		KilledBy:   map[string]string{acceptsAsDocumented: "http.request"},
		AlsoFails:  append([]string{"wire.ends"}, alsoIfRefused...), // the streams of refused runs have no end
		Needs:      []spec.Kind{spec.CancelAccepted},
		Middleware: lockThreads(afterStop),
	},
}

// refuseAsBusy sends a refusal with status 409 (Conflict) to w.
func refuseAsBusy(w http.ResponseWriter, _ parsedRequest) {
	http.Error(w, "the thread is busy", http.StatusConflict)
}

// refuseInBand sends an event stream to w whose only event refuses the request v. If the dialect
// has no event that refuses a request, it sends a refusal with status 409 (Conflict) instead.
func refuseInBand(w http.ResponseWriter, v parsedRequest) {
	refusal := spec.Event{Kind: spec.RunRefused, Text: "the thread is busy"}
	frame, err := v.dialect.Operation(v.raw).AppendEvent(nil, &refusal)
	if err != nil { // the dialect has no such events
		refuseAsBusy(w, v)
		return
	}
	w.Header().Set("Content-Type", spec.EventStream)
	_, _ = w.Write(frame) // an error means that the client has left
}

// lockUsers returns a middleware that allows each user only one busy thread at a time. A thread is
// busy while the response to a request that starts a run in it is being sent. Valid requests to
// start a run in another thread are passed to refuse, which sends the refusal of the request v to
// w. Requests that name no user are always passed on.
func lockUsers(refuse func(w http.ResponseWriter, v parsedRequest)) middleware {
	return func(next dialectHandler) dialectHandler {
		var mu sync.Mutex
		open := map[string]map[string]int{} // user → thread id → number of open responses
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			user, thread := v.event.User, v.event.Thread
			if !v.startsRun() || !v.event.Valid() || user == "" {
				next.ServeHTTP(w, v.httpRequest)
				return
			}
			mu.Lock()
			isBusy := false
			for other, n := range open[user] {
				isBusy = isBusy || other != thread && n > 0
			}
			if isBusy {
				mu.Unlock()
				refuse(w, v)
				return
			}
			if open[user] == nil {
				open[user] = map[string]int{}
			}
			open[user][thread]++
			mu.Unlock()
			defer func() {
				mu.Lock()
				open[user][thread]--
				mu.Unlock()
			}()
			next.ServeHTTP(w, v.httpRequest)
		})(next)
	}
}

// endBusyStream is a middleware that refuses prompts for a busy thread and, as a defect, also stops
// the stream that keeps the thread busy: no more frames are sent in that stream. A thread is busy
// while a response to a request that starts a run in it is being sent to the same user.
func endBusyStream(next dialectHandler) dialectHandler {
	var open sync.Map // threadKey → *atomic.Bool: whether the stream gets no more frames
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		if !v.startsRun() || !v.event.Valid() || v.event.Thread == "" {
			next.ServeHTTP(w, v.httpRequest)
			return
		}
		isOver := &atomic.Bool{}
		if other, isBusy := open.LoadOrStore(threadKey(v), isOver); isBusy {
			other.(*atomic.Bool).Store(true)
			refuseAsBusy(w, v)
			return
		}
		defer open.Delete(threadKey(v))
		serveStream(w, v.httpRequest, next, streamEdit{frame: func(frame []byte) []byte {
			if isOver.Load() {
				return nil
			}
			return frame
		}})
	})(next)
}

// A lockCondition says what must happen in a thread before lockThreads refuses all of its
// prompts.
type lockCondition int

const (
	afterRefusedPrompt lockCondition = iota // a prompt arrived while a stream of the thread was open, and was refused
	afterDisconnect                         // a client left a stream of the thread before the end of the run
	afterStop                               // a request to cancel a run of the thread was accepted
)

// lockThreads returns a middleware that locks a thread of a user once the condition has
// occurred in it: it refuses all further valid requests of the user to start a run in the thread,
// with status 409 (Conflict). If condition is afterRefusedPrompt, the middleware also refuses, with
// the same status, the prompts that arrive while a stream of the thread is open.
func lockThreads(condition lockCondition) middleware {
	return func(next dialectHandler) dialectHandler {
		var locked, open sync.Map // sets of threadKeys; open has the threads with an open stream
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			key, starts := threadKey(v), v.startsRun()
			isOther := !starts && !v.isOperation("listen") && !v.isOperation("cancel")
			if isOther || !v.event.Valid() || v.event.Thread == "" {
				next.ServeHTTP(w, v.httpRequest)
				return
			}
			_, isLocked := locked.Load(key)
			_, isBusy := open.Load(key)
			if starts && (isLocked || isBusy && condition == afterRefusedPrompt) {
				locked.Store(key, true)
				refuseAsBusy(w, v)
				return
			}
			if starts {
				open.Store(key, true)
				defer open.Delete(key)
			}
			hasLeft := false // before the last frame was sent
			a := serveEdited(w, v.httpRequest, next, streamEdit{sent: func([]byte) {
				hasLeft = hasLeft || v.httpRequest.Context().Err() != nil
			}})
			isStopped := a != nil && a.status/100 == 2 && v.isOperation("cancel")
			if condition == afterDisconnect && hasLeft || condition == afterStop && isStopped {
				locked.Store(key, true)
			}
			if a != nil {
				a.send(w)
			}
		})(next)
	}
}
