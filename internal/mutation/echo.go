package mutation

import (
	"net/http"
	"regexp"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// echoMutants are servers whose events name a wrong thread or none.
var echoMutants = []*Mutant{
	{
		Name: "other-conversation", Doc: "an event about the run names another conversation",
		Fault:     "wrong-thread",
		KilledBy:  map[string]string{"echo.thread": "run.start"},
		AlsoFails: []string{"sequence.never-falls"}, // the replayed opening event differs from the original one with the same number
	}, {
		Name: "one-conversation-for-all", Doc: "the events of all runs name the same conversation",
		NewEffect: changeEvents(fault.OfKind(spec.RunStart, spec.RunProgress, spec.RunEnd, spec.RunError), func(e *spec.Event) { e.Thread = "the-conversation" }),
		KilledBy:  map[string]string{"echo.thread": "run.end run.error run.progress run.start"},
	}, {
		Name: "no-name-for-the-conversation", Doc: "the events of a run name no conversation",
		NewEffect: changeEvents(anyEvent, func(e *spec.Event) { e.Thread = "" }),
		KilledBy:  map[string]string{"echo.thread-made": "run.end"},
		AlsoFails: []string{matchesSchema}, // a schema may require the id
	}, {
		Name: "conversations-stay-nameless", Doc: "the id of a conversation that the server created is not returned",
		Middleware: hideCreatedThread,
		KilledBy:   map[string]string{"echo.thread-made": "run.end"},
		AlsoFails:  []string{matchesSchema}, // a schema may require the id
	},
}

// sessionIDMember matches the JSON member of an event that contains the id of its session.
var sessionIDMember = regexp.MustCompile(`"session_id":"[^"]*"`)

// hideCreatedThread is a middleware for runs that were started by a request without a session id.
// It removes the session id from the events of such a run, so that the client does not learn the id
// that the server chose.
func hideCreatedThread(next http.Handler) http.Handler {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		if v.event.Thread == "" && v.startsRun() {
			w = &editingWriter{ResponseWriter: w, edit: func(p []byte) []byte { return sessionIDMember.ReplaceAll(p, []byte(`"session_id":null`)) }}
		}
		next.ServeHTTP(w, v.httpRequest)
	})(next)
}

// An editingWriter is a response writer that replaces each piece of the body by the result of edit.
// A piece is a whole frame, because the servers of this project write each frame with one call.
type editingWriter struct {
	http.ResponseWriter
	edit func(p []byte) []byte
}

func (e *editingWriter) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (e *editingWriter) Write(p []byte) (int, error) {
	if _, err := e.ResponseWriter.Write(e.edit(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
