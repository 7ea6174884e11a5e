package mutation

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// historyThreadMutants are servers that return the history of a wrong thread, under a wrong id or
// not at all. Some of them mix the messages of several threads, or return a wrong history to a user
// without threads.
var historyThreadMutants = []*Mutant{
	{
		Name: "history-thread-ignored", Doc: "returns the history of the user's first thread, whichever thread the request names",
		KilledBy:  map[string]string{"history.thread-as-asked": "history"},
		AlsoFails: []string{"history.keeps-to-its-thread"}, // messages of one thread appear in the history of another
		Middleware: chooseHistory(func(own []string, asked *spec.Event) {
			if asked.Thread != "" && len(own) > 0 {
				asked.Thread = own[0]
			}
		}),
	}, {
		Name: "history-thread-id-uppercase", Doc: "returns the thread id in upper case in a history with two messages",
		KilledBy: map[string]string{"history.thread-as-asked": "history"},
		Middleware: editHistories(func(v parsedRequest, e *spec.Event) {
			if len(e.Parts) == 2 && v.parsed().Thread != "" {
				e.Thread = strings.ToUpper(e.Thread)
			}
		}),
	}, {
		Name: "history-tool-thread-unknown", Doc: "reports a thread as unknown if its history contains a tool result",
		KilledBy: map[string]string{"history.thread-as-asked": "http.response"},
		// The conversation was known before, and the histories of its days are not requested.
		AlsoFails: []string{"history.before-*", acceptsAsDocumented},
		Middleware: editResponses(func(v parsedRequest, a *completeResponse) {
			isTool := func(m spec.Event) bool { return m.Kind == spec.HistoryTool }
			e, ok := v.decodeReply(a)
			if ok && e.Kind == spec.History && v.parsed().Thread != "" && slices.ContainsFunc(e.Parts, isTool) {
				a.refuse(v, http.StatusNotFound, "conversation not found")
			}
		}),
	}, {
		Name: "history-threads-mixed", Doc: "adds the messages of the user's other threads to every history",
		KilledBy:   map[string]string{"history.keeps-to-its-thread": "history"},
		AlsoFails:  alsoWithOtherMessages,
		Middleware: mixThreads(func([]spec.Event) bool { return true }),
	}, {
		Name: "history-short-threads-mixed", Doc: "adds the messages of the user's other threads to a history with two messages",
		KilledBy:   map[string]string{"history.keeps-to-its-thread": "history"},
		AlsoFails:  alsoWithOtherMessages,
		Middleware: mixThreads(func(messages []spec.Event) bool { return len(messages) == 2 }),
	}, {
		Name: "latest-thread-missing", Doc: "returns an empty history when the request asks for the latest thread",
		KilledBy: map[string]string{"history.latest": "history"},
		Middleware: editHistories(func(v parsedRequest, e *spec.Event) {
			if v.parsed().Thread == "" {
				e.Thread, e.Day, e.HasMore, e.Parts = "", "", "false", nil
			}
		}),
	}, {
		Name: "latest-thread-is-previous", Doc: "returns the last thread but one when the request asks for the latest thread",
		KilledBy: map[string]string{"history.latest": "history"},
		Middleware: chooseHistory(func(own []string, asked *spec.Event) {
			if asked.Thread == "" && len(own) > 1 {
				asked.Thread = own[len(own)-2]
			}
		}),
	}, {
		Name: "latest-thread-from-refused-prompt", Doc: "returns the thread of a refused prompt when the request asks for the latest thread",
		KilledBy:   map[string]string{"history.latest": "history"},
		Middleware: refusedIsLatest,
	}, {
		Name: "empty-history-has-more", Doc: "returns more: true in the empty history of a user without threads",
		KilledBy: map[string]string{"history.none-is-empty": "history"},
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if e.Thread == "" {
				e.HasMore = "true"
			}
		}),
	}, {
		Name: "empty-history-has-day", Doc: "returns a day in the empty history of a user without threads",
		KilledBy: map[string]string{"history.none-is-empty": "history"},
		Middleware: editHistories(func(_ parsedRequest, e *spec.Event) {
			if e.Thread == "" {
				e.Day = "2026-01-01"
			}
		}),
	},
}

// chooseHistory returns a middleware that makes the server return a different history from the
// requested one. The argument asked of choose contains only the requested thread and day, both of
// which choose may change. The argument own contains the ids of the threads that the user has
// started, oldest first, and must not be modified.
func chooseHistory(choose func(own []string, asked *spec.Event)) middleware {
	return trackThreads(func(m *threadOwners) middleware {
		return editHistoryRequests(func(v parsedRequest, asked *spec.Event) {
			m.mu.Lock()
			defer m.mu.Unlock()
			choose(m.threadsOf[v.user()], asked)
		})
	})
}

// refusedIsLatest is a middleware that makes the server return the history of a wrong thread in
// response to requests for a history that name no thread. If the user's last request to start a run
// was invalid, but named one of the user's threads, the server returns the history of that thread,
// and not that of the user's latest thread.
func refusedIsLatest(next dialectHandler) dialectHandler {
	return trackThreads(func(m *threadOwners) middleware {
		latest := map[string]string{} // by user; guarded by m.mu
		note := editRequests(func(v parsedRequest) *http.Request {
			m.mu.Lock()
			defer m.mu.Unlock()
			if who := v.user(); v.startsRun() {
				if latest[who] = ""; !v.parsed().Valid() && slices.Contains(m.threadsOf[who], v.parsed().Thread) {
					latest[who] = v.parsed().Thread
				}
			}
			return v.httpRequest
		})
		edit := editHistoryRequests(func(v parsedRequest, asked *spec.Event) {
			m.mu.Lock()
			defer m.mu.Unlock()
			asked.Thread = cmp.Or(asked.Thread, latest[v.user()])
		})
		return func(next dialectHandler) dialectHandler { return note(edit(next)) }
	})(next)
}

// mixThreads returns a middleware that appends messages of the user's other threads to each history
// for whose messages isMixed returns true. Only messages that the server has sent before, in
// histories requested by thread id, can be appended.
//
// The middleware also renumbers the messages of all histories, from 1. It does not change the
// responses to requests for the history before a given day.
func mixThreads(isMixed func(messages []spec.Event) bool) middleware {
	return trackThreads(func(m *threadOwners) middleware {
		return editHistories(func(v parsedRequest, e *spec.Event) {
			who := v.user()
			m.mu.Lock()
			defer m.mu.Unlock()
			if v.parsed().Day != "" { // requests for one day are not affected
				return
			}
			if v.parsed().Thread != "" {
				m.messagesOf[e.Thread] = slices.Clone(e.Parts)
			}
			adds := e.Thread != "" && isMixed(e.Parts)
			for _, other := range m.threadsOf[who] {
				if adds && other != e.Thread {
					e.Parts = append(e.Parts, m.messagesOf[other]...)
				}
			}
			renumber(e.Parts, func(i int) int { return i + 1 })
		})
	})
}
