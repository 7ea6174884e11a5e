package mutation

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// replyHealthMutants are servers whose health operation responds with a wrong status.
var replyHealthMutants = []*Mutant{
	{
		Name: "health-204", Doc: "responds to health requests with status 204",
		KilledBy:   map[string]string{"health.answers": "http.response"},
		AlsoFails:  []string{repliesAsPromised}, // the status is not the documented one
		Middleware: changeHealthStatus(http.StatusNoContent),
	}, {
		Name: "health-500", Doc: "responds to health requests with status 500",
		KilledBy:   map[string]string{"health.answers": "http.response"},
		AlsoFails:  []string{repliesAsPromised}, // the status is not the documented one
		Middleware: changeHealthStatus(http.StatusInternalServerError),
	}, {
		Name: "health-503", Doc: "responds to health requests with status 503",
		KilledBy:   map[string]string{"health.answers": "http.response"},
		Middleware: changeHealthStatus(http.StatusServiceUnavailable),
	},
}

func changeHealthStatus(status int) middleware {
	return editResponses(func(v parsedRequest, a *completeResponse) {
		if v.parsed().Name == "health" && v.parsed().Valid() {
			a.status = status
		}
	})
}

// A threadFlags describes the earlier requests about a thread: whether its history was
// requested, and whether a request to start a run in it was refused.
type threadFlags struct{ wasRead, wasRefused bool }

// changeCreatedFlag returns a middleware that changes a flag in replies to requests to start a run,
// which states whether the thread of the run is new. The new value is isNew(first, known). The
// argument first is true if no earlier run was accepted in the thread, and known describes the
// earlier requests about the thread.
func changeCreatedFlag(isNew func(first bool, known threadFlags) bool) middleware {
	return func(next dialectHandler) dialectHandler {
		var mu sync.Mutex
		had, known := map[string]bool{}, map[string]threadFlags{}
		return editResponses(func(v parsedRequest, a *completeResponse) {
			mu.Lock()
			defer mu.Unlock()
			thread := v.parsed().Thread
			switch {
			case v.isOperation("history"):
				known[thread] = threadFlags{true, known[thread].wasRefused}
			case v.startsRun() && a.status/100 == 4:
				known[thread] = threadFlags{known[thread].wasRead, true}
			case v.startsRun():
				if e, ok := v.decodeReply(a); ok {
					e.Created = strconv.FormatBool(isNew(!had[thread], known[thread]))
					v.encodeReply(a, e)
					had[thread] = true
				}
			}
		})(next)
	}
}

// replyAcceptedMutants are servers whose replies to requests to start a run wrongly state whether
// the thread of the run is new.
var replyAcceptedMutants = []*Mutant{
	{
		Name: "thread-never-new", Doc: "never reports a run as the first of its thread",
		KilledBy:   map[string]string{"accepted.new-thread": "run.accepted"},
		Middleware: changeCreatedFlag(func(bool, threadFlags) bool { return false }),
	}, {
		Name: "thread-not-new-after-history", Doc: "does not report a thread as new if its history was requested",
		KilledBy:   map[string]string{"accepted.new-thread": "run.accepted"},
		Middleware: changeCreatedFlag(func(first bool, known threadFlags) bool { return first && !known.wasRead }),
	}, {
		Name: "thread-not-new-after-refusal", Doc: "does not report a thread as new if a prompt was refused in it before the first run",
		KilledBy: map[string]string{"accepted.new-thread": "run.accepted"},
		Middleware: changeCreatedFlag(func(first bool, known threadFlags) bool {
			return first && !known.wasRefused
		}),
	}, {
		Name: "thread-always-new", Doc: "reports every run as the first of its thread",
		KilledBy:   map[string]string{"accepted.known-thread": "run.accepted"},
		Middleware: changeCreatedFlag(func(bool, threadFlags) bool { return true }),
	}, {
		Name: "thread-new-inverted", Doc: "reports a new thread as known and a known one as new",
		KilledBy: map[string]string{
			"accepted.known-thread": "run.accepted",
			"accepted.new-thread":   "run.accepted",
		},
		Middleware: changeCreatedFlag(func(first bool, _ threadFlags) bool { return !first }),
	}, {
		Name: "thread-new-twice", Doc: "reports runs as the first of their thread if they begin while the first one is being accepted",
		KilledBy:   map[string]string{"accepted.known-thread": "run.accepted"},
		Middleware: reportConcurrentAsFirst,
	},
}

// reportConcurrentAsFirst is a middleware that reports several concurrent runs as the first of
// their thread: all those that are requested before the server has responded to any request to
// start a run in the thread. Requests are delayed by 5 milliseconds, so that concurrent ones
// overlap.
func reportConcurrentAsFirst(next dialectHandler) dialectHandler {
	var accepted sync.Map // ids of threads
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		if !v.startsRun() {
			next.ServeHTTP(w, v.httpRequest)
			return
		}
		_, isKnown := accepted.Load(v.parsed().Thread)
		time.Sleep(5 * time.Millisecond)
		if a := serveEdited(w, v.httpRequest, next, streamEdit{}); a != nil {
			if e, ok := v.decodeReply(a); ok && !isKnown {
				e.Created = "true"
				v.encodeReply(a, e)
			}
			accepted.Store(v.parsed().Thread, true)
			a.send(w)
		}
	})(next)
}

// lacksReply reports whether the last message of a history is a user message, to which there is no
// reply yet. It returns false if there are no messages.
func lacksReply(messages []spec.Event) bool {
	return len(messages) > 0 && messages[len(messages)-1].Kind == spec.HistoryUser
}

// replyHistoryMutants are servers whose histories lack an accepted prompt until the prompt has been
// answered, or that report the thread of the prompt as unknown until then.
var replyHistoryMutants = []*Mutant{
	{
		Name: "prompt-stored-with-answer", Doc: "stores the user's message only when it is answered",
		KilledBy: map[string]string{"accepted.keeps-prompt": "history"},
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if lacksReply(e.Parts) {
				e.Parts = e.Parts[:len(e.Parts)-1]
			}
		}),
	}, {
		Name: "thread-unknown-before-answer", Doc: "reports a thread as unknown before the first answer",
		KilledBy:   map[string]string{"accepted.keeps-prompt": "problem"},
		Middleware: hideUnanswered,
	},
}

// hideUnanswered is a middleware that hides a new thread until its first prompt has been answered.
// If the history of the thread was requested before the thread existed, the middleware repeats that
// response, with status 404, as long as the history consists of a single user message.
var hideUnanswered middleware = func(next dialectHandler) dialectHandler {
	var unknown sync.Map // thread id → completeResponse
	return editResponses(func(v parsedRequest, a *completeResponse) {
		if !v.isOperation("history") || v.parsed().Thread == "" {
			return
		}
		if a.status == http.StatusNotFound {
			unknown.Store(v.parsed().Thread, *a)
		}
		before, asked := unknown.Load(v.parsed().Thread)
		if e, ok := v.decodeReply(a); ok && asked && lacksReply(e.Parts) && len(e.Parts) == 1 {
			*a = before.(completeResponse)
		}
	})(next)
}
