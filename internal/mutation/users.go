package mutation

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

// PrimaryUser and OtherUser are the values of the Authorization header of the two users that the
// server knows.
const (
	PrimaryUser = "Bearer token-of-ann"
	OtherUser   = "Bearer token-of-bob"
)

// serveLatestAs returns a middleware that lets other users read the latest history of
// [PrimaryUser]. It calls applies for each valid request for a history that names no thread. If
// applies returns true, the server receives the request as if PrimaryUser had sent it. Otherwise,
// the request is passed on unchanged.
//
// The argument m of applies contains the threads of all users, and m.mu is locked during the call.
// The argument user is the value of the Authorization header of the request.
func serveLatestAs(applies func(m *threadOwners, user string) bool) middleware {
	return trackThreads(func(m *threadOwners) middleware {
		return editRequests(func(v parsedRequest) *http.Request {
			if v.isOperation("history") && v.parsed().Thread == "" && v.parsed().Valid() {
				m.mu.Lock()
				defer m.mu.Unlock()
				if applies(m, v.user()) {
					return v.asUser(PrimaryUser)
				}
			}
			return v.httpRequest
		})
	})
}

// serveHistoryOfOwner returns a middleware that lets other users read the histories of threads of
// [PrimaryUser]. It calls applies with each valid request of [OtherUser] for the history of such a
// thread. If applies returns true, the server receives the request as if PrimaryUser had sent it.
// Otherwise, the request is passed on unchanged.
func serveHistoryOfOwner(applies func(request *spec.Event) bool) middleware {
	return trackThreads(func(m *threadOwners) middleware {
		return editRequests(func(v parsedRequest) *http.Request {
			request := v.parsed()
			m.mu.Lock()
			defer m.mu.Unlock()
			if v.isOperation("history") && request.Valid() && v.user() == OtherUser &&
				slices.Contains(m.threadsOf[PrimaryUser], request.Thread) && applies(request) {
				return v.asUser(PrimaryUser)
			}
			return v.httpRequest
		})
	})
}

// rememberConnection is a middleware that identifies users by their connections. It affects valid
// requests without the credentials of a known user. The server receives such a request as if it
// came from the known user who last sent a request over the same connection, if there is one.
func rememberConnection(next dialectHandler) dialectHandler {
	var users sync.Map // remote address → value of the Authorization header
	return editRequests(func(v parsedRequest) *http.Request {
		connection := v.httpRequest.RemoteAddr
		if who := v.user(); who == PrimaryUser || who == OtherUser {
			users.Store(connection, who)
		} else if last, ok := users.Load(connection); ok && v.parsed().Valid() {
			return v.asUser(last.(string))
		}
		return v.httpRequest
	})(next)
}

// leaveBodiesUnread is a middleware that simulates a server that does not read the body of a
// request that it refuses with status 401. Such a server takes the body for the beginning of the
// next request on the connection. The middleware therefore refuses that request with status 400.
func leaveBodiesUnread(next dialectHandler) dialectHandler {
	var unread sync.Map // set of remote addresses
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		connection := v.httpRequest.RemoteAddr
		if _, isUnread := unread.LoadAndDelete(connection); isUnread {
			w.Header().Set("Connection", "close")
			http.Error(w, "malformed HTTP request", http.StatusBadRequest)
			return
		}
		a := serveEdited(w, v.httpRequest, next, streamEdit{})
		if a == nil {
			return
		}
		if a.status == http.StatusUnauthorized && len(v.raw.Body) > 0 {
			unread.Store(connection, true)
		}
		a.send(w)
	})(next)
}

// ignoreOwnersOfUnknownRuns is a middleware that does not check the owner of a thread if the run
// does not exist. It affects valid requests of [OtherUser] for the stream of a run, or to cancel a
// run, if no request to start a run had that run id. The server receives them as if [PrimaryUser]
// had sent them.
func ignoreOwnersOfUnknownRuns(next dialectHandler) dialectHandler {
	var started sync.Map // ids of runs
	return editRequests(func(v parsedRequest) *http.Request {
		if run := v.parsed().Run; v.startsRun() {
			started.Store(run, true)
		} else if _, ok := started.Load(run); !ok && v.user() == OtherUser && v.parsed().Valid() &&
			(v.isOperation("listen") || v.isOperation("cancel")) {
			return v.asUser(PrimaryUser)
		}
		return v.httpRequest
	})(next)
}

// acceptCredentials returns a middleware that takes other credentials for those of [PrimaryUser].
// The argument accepts is called with the value of the Authorization header of each request that
// has one. If it returns true, the server receives the request as if PrimaryUser had sent it.
func acceptCredentials(accepts func(authorization string) bool) middleware {
	return editRequests(func(v parsedRequest) *http.Request {
		if who := v.user(); who != "" && accepts(who) {
			return v.asUser(PrimaryUser)
		}
		return v.httpRequest
	})
}

// ignoreOwnersInOtherCase is a middleware that ignores the case of letters in the id of a thread,
// but does not check the owner of a thread whose id is written in a different case. It affects
// valid requests for a stream that name a thread of [PrimaryUser] by such an id. The server
// receives them with the correct id, as if PrimaryUser had sent them.
func ignoreOwnersInOtherCase(next dialectHandler) dialectHandler {
	var started sync.Map // ids of threads of the primary user, by the id in lower case
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		asked := v.parsed().Thread
		if v.startsRun() && v.parsed().Valid() && v.user() == PrimaryUser {
			started.Store(strings.ToLower(asked), asked)
		}
		thread, ok := started.Load(strings.ToLower(asked))
		if !ok || thread == asked || !v.isOperation("listen") || !v.parsed().Valid() {
			next.ServeHTTP(w, v.httpRequest)
			return
		}
		v.httpRequest = v.asUser(PrimaryUser)
		serveAs(w, v, next, asked, thread.(string))
	})(next)
}

// usersMutants are servers that take one user for another, that do not check the owner of a thread
// for some requests, or that, after a request without valid credentials, also refuse the next one,
// although its credentials are valid. The mutants that never check the credentials, or never check
// the owner of the requested data, are generated; see deniedRequests.
var usersMutants = []*Mutant{
	{
		Name: "latest-thread-of-any-user", Doc: "returns the latest thread of another user to a user without threads",
		KilledBy:   map[string]string{"auth.own-history": "history"},
		Middleware: serveLatestAs(func(m *threadOwners, who string) bool { return len(m.threadsOf[who]) == 0 }),
	}, {
		Name: "latest-thread-of-first-user", Doc: "returns the latest thread of the first user to every user",
		KilledBy:   map[string]string{"auth.own-history": "history"},
		Middleware: serveLatestAs(func(*threadOwners, string) bool { return true }),
	}, {
		Name: "history-owner-unchecked", Doc: "returns the history of every thread to every user",
		KilledBy:   map[string]string{"auth.hides-history": "history"},
		Middleware: serveHistoryOfOwner(func(*spec.Event) bool { return true }),
	}, {
		Name: "history-day-owner-unchecked", Doc: "does not check the owner of a thread when the request asks for the history before a day",
		KilledBy:   map[string]string{"auth.hides-history": "history"},
		Middleware: serveHistoryOfOwner(func(request *spec.Event) bool { return request.Day != "" }),
	}, {
		Name: "credentials-kept-per-connection", Doc: "applies the credentials of a request to all later requests on the same connection",
		KilledBy:   map[string]string{needsCredentials: "http.request"},
		AlsoFails:  contentChecks, // requests that should have been refused start runs of the user
		Middleware: rememberConnection,
	}, {
		Name: "body-unread-after-401", Doc: "parses the rest of a request that gets status 401 as the next request on the connection",
		KilledBy: map[string]string{
			acceptsAsDocumented: "http.request",
			needsCredentials:    "http.request",
		},
		Needs:      []spec.Kind{spec.RunAccepted}, // in other dialects, there are no credentials
		Middleware: leaveBodiesUnread,
	}, {
		Name: "owner-unchecked-for-unknown-run", Doc: "checks the owner of a thread only if the run exists",
		KilledBy:   map[string]string{"auth.owner-only": "http.request"},
		Middleware: ignoreOwnersOfUnknownRuns,
	}, {
		Name: "owner-unchecked-in-other-case", Doc: "checks the owner of a thread only if the request writes the thread id in the same letter case",
		KilledBy:   map[string]string{"auth.owner-only": "run.start"},
		Middleware: ignoreOwnersInOtherCase,
	}, {
		Name: "longer-credentials-accepted", Doc: "accepts credentials that begin with those of a user",
		KilledBy:   map[string]string{needsCredentials: "http.request"},
		AlsoFails:  contentChecks, // requests that should have been refused start runs of the user
		Middleware: acceptCredentials(func(who string) bool { return strings.HasPrefix(who, PrimaryUser) }),
	}, {
		Name: "shorter-credentials-accepted", Doc: "accepts credentials that are a prefix of those of a user",
		KilledBy:  map[string]string{needsCredentials: "http.request"},
		AlsoFails: contentChecks, // requests that should have been refused start runs of the user
		Middleware: acceptCredentials(func(who string) bool {
			return strings.HasPrefix(PrimaryUser, who) && len(who) > len("Bearer token")
		}),
	},
}
