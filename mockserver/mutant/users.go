package mutant

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

var usersMutants = slices.Concat(usersNobody, usersOthers, usersHistory)

// pardoning makes a server that serves some whom it should refuse with this status, as if
// somebody else had asked: as says in whose name.
func pardoning(status int, which func(v view) bool, as func(v view) string) twist {
	return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
		h := &holding{w: w, header: http.Header{}}
		next.ServeHTTP(h, v.http)
		if h.streams || h.status == 0 {
			return
		}
		if name := as(v); h.status == status && name != "" && which(v) {
			r := v.as(v.request)
			r.Header.Set("Authorization", name)
			next.ServeHTTP(w, r)
			return
		}
		a := reply{status: h.status, header: h.header, body: h.body.Bytes()}
		a.send(w)
	})
}

// asSomebody is in the name of the user who was served first.
func asSomebody(which func(v view) bool) twist {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		somebody := ""
		noting := func(v view) string {
			mu.Lock()
			defer mu.Unlock()
			return somebody
		}
		inner := pardoning(http.StatusUnauthorized, which, noting)(next)
		return seeing(func(w http.ResponseWriter, v view, _ http.Handler) {
			h := &watching{ResponseWriter: w}
			inner.ServeHTTP(h, v.http)
			mu.Lock()
			defer mu.Unlock()
			if who := v.http.Header.Get("Authorization"); h.status/100 == 2 && somebody == "" && who != "" {
				somebody = who
			}
		})(next)
	}
}

// A watching is a writer that knows the status.
type watching struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (w *watching) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets streams be flushed.
func (w *watching) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// asOwner is in the name of whose conversation, or file, it is.
func asOwner(which func(v view) bool) twist {
	return remembering(func(m *memory) twist {
		return pardoning(http.StatusForbidden, which, func(v view) string {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.owner[v.heard().Thread]
		})
	})
}

func saying(phrase string) func(v view) bool { return func(v view) bool { return v.says(phrase) } }

// nameless says that nobody says who asks.
func (v view) nameless() bool { return v.http.Header.Get("Authorization") == "" }

// admits is a server that serves an operation to who does not say who asks.
func admits(name, doc, laws string, which func(v view) bool) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Breaks: strings.Fields(laws),
		Kills: map[string]string{"auth.needs-credentials": "http.request"},
		Twist: asSomebody(func(v view) bool { return v.nameless() && which(v) }),
	}
}

// denying makes a server that says otherwise that somebody may not ask.
func denying(status int, edit func(v view, a *reply)) twist {
	return replying(func(v view, a *reply) {
		if a.status == status {
			edit(v, a)
		}
	})
}

// asStream makes a refusal a stream.
func asStream(_ view, a *reply) {
	a.header.Set("Content-Type", spec.EventStream)
	a.body = []byte("data: " + strings.ReplaceAll(string(a.body), "\n", " ") + "\n\n")
}

// Those who do not say who they are. A stream is no refusal, nor a plain one.
var usersNobody = []*Mutant{
	admits("nobody-asks", "runs are opened for nobody", "runs.auth.create-401", view.opens),
	admits("nobody-listens", "runs are told to nobody", "runs.auth.events-401 runs.auth.plain", saying("listen")),
	admits("nobody-cancels", "runs are canceled by nobody", "runs.auth.cancel-401", saying("cancel")),
	admits("nobody-uploads", "files are stored for nobody", "runs.auth.attachments-401", saying("attach")),
	{
		Name: "strangers-ask", Doc: "credentials are not looked at if there are any",
		Breaks: []string{"runs.auth.bad-token", "runs.auth.plain"},
		Kills:  map[string]string{"auth.needs-credentials": "http.request"},
		Twist: asSomebody(func(v view) bool {
			return !v.nameless() && (v.opens() || v.says("listen") || v.says("cancel") || v.says("attach"))
		}),
	}, {
		Name: "strangers-listen", Doc: "runs are told to who has any credentials",
		Breaks: []string{"runs.auth.bad-token", "runs.auth.plain"},
		Kills:  map[string]string{"auth.needs-credentials": "http.request"},
		Twist:  asSomebody(func(v view) bool { return !v.nameless() && v.says("listen") }),
	}, {
		Name: "nobody-400", Doc: "who does not say who asks is refused with 400",
		Breaks: []string{"runs.auth.create-401", "runs.auth.events-401", "runs.auth.cancel-401", "runs.auth.attachments-401", "runs.auth.bad-token"},
		Kills:  map[string]string{"auth.needs-credentials": "http.request"},
		Twist: denying(http.StatusUnauthorized, func(v view, a *reply) {
			if !v.says("history") && !v.says("sign") && !v.says("transcribe") {
				a.status = http.StatusBadRequest
			}
		}),
	}, {
		Name: "nobody-streamed", Doc: "that nobody may listen is told as a stream",
		Breaks: []string{"runs.auth.plain"},
		Kills:  map[string]string{"auth.needs-credentials": "http.request"},
		Twist: denying(http.StatusUnauthorized, func(v view, a *reply) {
			if v.says("listen") {
				asStream(v, a)
			}
		}),
	},
}

// serves is a server that serves an operation to others than the owner.
func serves(name, doc, laws string, which func(v view) bool) *Mutant {
	return &Mutant{
		Name: name, Doc: doc, Breaks: strings.Fields(laws),
		Kills: map[string]string{"auth.owner-only": "http.request"},
		Twist: asOwner(which),
	}
}

// Those who are not the owner.
var usersOthers = []*Mutant{
	serves("others-listen", "a run is told to another user", "runs.auth.events-403 runs.auth.plain",
		func(v view) bool { return v.says("listen") && v.heard().Cursor == "" }),
	serves("others-resume", "a stream can be taken up by another user", "runs.auth.events-403 runs.auth.events-403-cursor runs.auth.plain",
		func(v view) bool { return v.says("listen") && v.heard().Cursor != "" }),
	serves("others-cancel", "a run can be canceled by another user", "runs.auth.cancel-403", saying("cancel")),
	serves("others-upload", "a file is stored for another user's conversation", "runs.auth.attachments-403", saying("attach")),
	{
		Name: "others-404", Doc: "what is another's is said not to be there",
		Breaks: []string{"runs.auth.events-403", "runs.auth.events-403-cursor", "runs.auth.cancel-403", "runs.auth.attachments-403"},
		Kills:  map[string]string{"auth.owner-only": "http.request"},
		Twist:  denying(http.StatusForbidden, func(_ view, a *reply) { a.status = http.StatusNotFound }),
	}, {
		Name: "others-streamed", Doc: "that somebody else may not listen is told as a stream",
		Breaks: []string{"runs.auth.plain"},
		Kills:  map[string]string{"auth.owner-only": "http.request"},
		Twist: denying(http.StatusForbidden, func(v view, a *reply) {
			if v.says("listen") {
				asStream(v, a)
			}
		}),
	},
}

// latestOf makes a server that tells who names no conversation what it tells another.
func latestOf(whose func(m *memory, who string) string) twist {
	return remembering(func(m *memory) twist {
		return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
			r, who := v.http, v.http.Header.Get("Authorization")
			if v.says("history") && v.heard().Thread == "" && v.heard().Valid() {
				m.mu.Lock()
				other := whose(m, who)
				m.mu.Unlock()
				if other != "" {
					r = v.as(v.request)
					r.Header.Set("Authorization", other)
				}
			}
			next.ServeHTTP(w, r)
		})
	})
}

// Whose history comes where no conversation is named.
var usersHistory = []*Mutant{
	{
		Name: "history-of-anybody", Doc: "who names no conversation is told the latest of all",
		Breaks: []string{"runs.auth.own-history"},
		Kills:  map[string]string{"auth.own-history": "history"},
		Twist: latestOf(func(m *memory, who string) (latest string) {
			if len(m.order[who]) > 0 {
				return ""
			}
			for other := range m.order { // who has asked for anything
				latest = max(latest, other)
			}
			return latest
		}),
	}, {
		Name: "history-of-the-first", Doc: "who names no conversation is told the latest of the first user there was",
		Breaks: []string{"runs.auth.own-history"},
		Kills:  map[string]string{"auth.own-history": "history"},
		Twist:  latestOf(func(m *memory, _ string) string { return m.eldest }),
	},
}
