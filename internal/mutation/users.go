package mutation

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

// usersMutants are servers that handle requests of some principals wrongly: of clients without
// valid credentials, or of users who do not own the thread.
var usersMutants = slices.Concat(anonymousMutants, otherUserMutants, userHistoryMutants)

// impersonate returns a middleware that serves requests that the server refuses with the given
// status, by repeating them in the name of another user. A request v is repeated only if which(v)
// is true and as(v) is not "". The latter is the Authorization header of that user.
func impersonate(status int, which func(v parsedRequest) bool, as func(v parsedRequest) string) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		h := &bufferedResponse{w: w, header: http.Header{}}
		next.ServeHTTP(h, v.httpRequest)
		if h.isStream || h.status == 0 {
			return
		}
		if name := as(v); h.status == status && name != "" && which(v) {
			r := v.withRequest(v.raw)
			r.Header.Set("Authorization", name)
			next.ServeHTTP(w, r)
			return
		}
		a := plainResponse{status: h.status, header: h.header, body: h.body.Bytes()}
		a.send(w)
	})
}

// asFirstUser returns a middleware that serves requests that the server refuses with status 401, by
// repeating them in the name of the first user whom the server has served. A request v is repeated
// only if which(v) is true.
func asFirstUser(which func(v parsedRequest) bool) middleware {
	return func(next http.Handler) http.Handler {
		var mu sync.Mutex
		firstUser := ""
		noting := func(v parsedRequest) string {
			mu.Lock()
			defer mu.Unlock()
			return firstUser
		}
		inner := impersonate(http.StatusUnauthorized, which, noting)(next)
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, _ http.Handler) {
			h := &statusWriter{ResponseWriter: w}
			inner.ServeHTTP(h, v.httpRequest)
			mu.Lock()
			defer mu.Unlock()
			if who := v.httpRequest.Header.Get("Authorization"); h.status/100 == 2 && firstUser == "" && who != "" {
				firstUser = who
			}
		})(next)
	}
}

// A statusWriter is a response writer that records the status of the response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader records the status and sends it.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the wrapped writer, so that streams can be flushed.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// asOwner returns a middleware that serves requests that the server refuses with status 403, by
// repeating them in the name of the user who started the thread. A request v is repeated only if
// which(v) is true.
func asOwner(which func(v parsedRequest) bool) middleware {
	return trackThreads(func(m *threadRegistry) middleware {
		return impersonate(http.StatusForbidden, which, func(v parsedRequest) string {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.ownerOf[v.parsed().Thread]
		})
	})
}

func forOperation(phrase string) func(v parsedRequest) bool {
	return func(v parsedRequest) bool { return v.isOperation(phrase) }
}

// isAnonymous reports whether the request has no Authorization header.
func (v parsedRequest) isAnonymous() bool { return v.httpRequest.Header.Get("Authorization") == "" }

// anonymousMutant returns a mutant that serves a request v without credentials if which(v) is true.
func anonymousMutant(name, doc string, which func(v parsedRequest) bool) *Mutant {
	return &Mutant{
		Name: name, Doc: doc,
		KilledBy:   map[string]string{"auth.needs-credentials": "http.request"},
		Middleware: asFirstUser(func(v parsedRequest) bool { return v.isAnonymous() && which(v) }),
	}
}

// editDenials returns a middleware that calls edit to change each response with the given status,
// except streams. a is the response and v the refused request.
func editDenials(status int, edit func(v parsedRequest, a *plainResponse)) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if a.status == status {
			edit(v, a)
		}
	})
}

// asStream turns response a, a refusal, into an event stream. The only event of the stream has the
// body of the refusal as its data.
func asStream(_ parsedRequest, a *plainResponse) {
	a.header.Set("Content-Type", spec.EventStream)
	a.body = []byte("data: " + strings.ReplaceAll(string(a.body), "\n", " ") + "\n\n")
}

// anonymousMutants are servers that serve requests without valid credentials, or refuse them in the
// wrong way.
var anonymousMutants = []*Mutant{
	anonymousMutant("nobody-asks", "runs are started without credentials", parsedRequest.startsRun),
	anonymousMutant("nobody-listens", "runs are told to nobody", forOperation("listen")),
	anonymousMutant("nobody-cancels", "runs are cancelled without credentials", forOperation("cancel")),
	anonymousMutant("nobody-uploads", "files are stored without credentials", forOperation("attach")),
	{
		Name: "strangers-ask", Doc: "credentials are not looked at if there are any",
		KilledBy: map[string]string{"auth.needs-credentials": "http.request"},
		Middleware: asFirstUser(func(v parsedRequest) bool {
			guarded := v.startsRun() || v.isOperation("listen") || v.isOperation("cancel") || v.isOperation("attach")
			return !v.isAnonymous() && guarded
		}),
	}, {
		Name: "strangers-listen", Doc: "streams are served with unknown credentials",
		KilledBy:   map[string]string{"auth.needs-credentials": "http.request"},
		Middleware: asFirstUser(func(v parsedRequest) bool { return !v.isAnonymous() && v.isOperation("listen") }),
	}, {
		Name: "nobody-400", Doc: "a request without credentials is refused with 400",
		KilledBy: map[string]string{"auth.needs-credentials": "http.request"},
		Middleware: editDenials(http.StatusUnauthorized, func(v parsedRequest, a *plainResponse) {
			if !v.isOperation("history") && !v.isOperation("sign") && !v.isOperation("transcribe") {
				a.status = http.StatusBadRequest
			}
		}),
	}, {
		Name: "nobody-streamed", Doc: "the refusal of a stream without credentials is an event stream",
		KilledBy: map[string]string{"auth.needs-credentials": "http.request"},
		Middleware: editDenials(http.StatusUnauthorized, func(v parsedRequest, a *plainResponse) {
			if v.isOperation("listen") {
				asStream(v, a)
			}
		}),
	},
}

// otherUserMutant returns a mutant that serves a request v to users who do not own the thread if
// which(v) is true.
func otherUserMutant(name, doc string, which func(v parsedRequest) bool) *Mutant {
	return &Mutant{
		Name: name, Doc: doc,
		KilledBy:   map[string]string{"auth.owner-only": "http.request"},
		Middleware: asOwner(which),
	}
}

// otherUserMutants are servers that serve requests about threads of other users, or refuse them in
// the wrong way.
var otherUserMutants = []*Mutant{
	otherUserMutant("others-listen", "the stream of a run is served to another user",
		func(v parsedRequest) bool { return v.isOperation("listen") && v.parsed().Cursor == "" }),
	otherUserMutant("others-resume", "a stream can be taken up by another user",
		func(v parsedRequest) bool { return v.isOperation("listen") && v.parsed().Cursor != "" }),
	otherUserMutant("others-cancel", "a run can be canceled by another user", forOperation("cancel")),
	otherUserMutant("others-upload", "a file is stored for another user's conversation", forOperation("attach")),
	{
		Name: "others-404", Doc: "what belongs to another user is reported as not found",
		KilledBy:   map[string]string{"auth.owner-only": "http.request"},
		Middleware: editDenials(http.StatusForbidden, func(_ parsedRequest, a *plainResponse) { a.status = http.StatusNotFound }),
	}, {
		Name: "others-streamed", Doc: "the refusal of a stream to another user is an event stream",
		KilledBy: map[string]string{"auth.owner-only": "http.request"},
		Middleware: editDenials(http.StatusForbidden, func(v parsedRequest, a *plainResponse) {
			if v.isOperation("listen") {
				asStream(v, a)
			}
		}),
	},
}

// redirectLatest returns a middleware that serves requests for the history of the latest thread in
// the name of another user. The Authorization header becomes whose(m, who), where who is the
// original one and m records the threads of all users. If whose returns "", the request is served
// unchanged.
func redirectLatest(whose func(m *threadRegistry, who string) string) middleware {
	return trackThreads(func(m *threadRegistry) middleware {
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			r, who := v.httpRequest, v.httpRequest.Header.Get("Authorization")
			if v.isOperation("history") && v.parsed().Thread == "" && v.parsed().Valid() {
				m.mu.Lock()
				other := whose(m, who)
				m.mu.Unlock()
				if other != "" {
					r = v.withRequest(v.raw)
					r.Header.Set("Authorization", other)
				}
			}
			next.ServeHTTP(w, r)
		})
	})
}

// userHistoryMutants are servers that return the history of another user if the request names no
// thread.
var userHistoryMutants = []*Mutant{
	{
		Name: "history-of-anybody", Doc: "the latest conversation is that of all users",
		KilledBy: map[string]string{"auth.own-history": "history"},
		Middleware: redirectLatest(func(m *threadRegistry, who string) (latest string) {
			if len(m.threadsOf[who]) > 0 {
				return ""
			}
			for other := range m.threadsOf { // all users that sent requests
				latest = max(latest, other)
			}
			return latest
		}),
	}, {
		Name: "history-of-the-first", Doc: "the latest conversation is always that of the first user",
		KilledBy:   map[string]string{"auth.own-history": "history"},
		Middleware: redirectLatest(func(m *threadRegistry, _ string) string { return m.firstUser }),
	},
}
