package mutation

import "net/http"

// primaryUser and otherUser are the values of the Authorization header of the two users that the
// server knows.
const (
	primaryUser = "Bearer token-of-ann"
	otherUser   = "Bearer token-of-bob"
)

// serveLatestAs returns a middleware that lets other users read the latest history of the primary
// user. It affects the valid requests for a history that name no thread, and therefore ask for the
// latest history. If which(m, who) returns true, the server receives the request as if the primary
// user had sent it. Otherwise, the request is passed on unchanged. The argument m holds the threads
// of all users, and m.mu is locked during the call. The argument who is the value of the
// Authorization header of the request.
func serveLatestAs(which func(m *threadRegistry, who string) bool) middleware {
	return trackThreads(func(m *threadRegistry) middleware {
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
			r := v.httpRequest
			if v.isOperation("history") && v.parsed().Thread == "" && v.parsed().Valid() {
				m.mu.Lock()
				if which(m, v.user()) {
					r = v.asUser(primaryUser)
				}
				m.mu.Unlock()
			}
			next.ServeHTTP(w, r)
		})
	})
}

// usersMutants are servers that return the history of another user if a request for a history names
// no thread. Mutants that accept other requests for the data of another user, or requests without
// valid credentials, are generated instead; see deniedRequests.
var usersMutants = []*Mutant{
	{
		Name: "history-of-anybody", Doc: "the latest conversation is that of all users",
		KilledBy:   map[string]string{"auth.own-history": "history"},
		Middleware: serveLatestAs(func(m *threadRegistry, who string) bool { return len(m.threadsOf[who]) == 0 }),
	}, {
		Name: "history-of-the-first", Doc: "the latest conversation is always that of the first user",
		KilledBy:   map[string]string{"auth.own-history": "history"},
		Middleware: serveLatestAs(func(*threadRegistry, string) bool { return true }),
	},
}
