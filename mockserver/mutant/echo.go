package mutant

import (
	"net/http"
	"regexp"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// What the names of runs and conversations have to be, requirement by requirement, as the
// catalogues call it.
var (
	reqEchoRun       = []string{"agentscope-java.resp.request-id", "agentscope.id-echo", "runs.create.run-echo", "runs.cancel.run-echo"}
	reqEchoThread    = []string{"agentscope-java.resp.session", "agentscope.session-echo", "runs.create.thread-echo", "runs.cancel.thread-echo"}
	reqThreadCreated = []string{"agentscope-java.resp.session", "agentscope.session-made"}
)

var echoMutants = []*Mutant{
	{
		Name: "other-conversation", Doc: "an event about the run names another conversation",
		Fault:     "wrong-thread",
		Violates:  reqEchoThread,
		KilledBy:  map[string]string{"echo.thread": "run.start"},
		AlsoFails: []string{"sequence.never-falls"}, // the opening that is told again under its number is not the same any more
	}, {
		Name: "one-conversation-for-all", Doc: "all events about a run name the same conversation, whoever asks",
		NewEffect: changeEvents(fault.OfKind(spec.RunStart, spec.RunProgress, spec.RunEnd, spec.RunError), func(e *spec.Event) { e.Thread = "the-conversation" }),
		Violates:  reqEchoThread,
		KilledBy:  map[string]string{"echo.thread": "run.end run.error run.progress run.start"},
	}, {
		Name: "no-name-for-the-conversation", Doc: "the events of a run name no conversation",
		NewEffect: changeEvents(anyEvent, func(e *spec.Event) { e.Thread = "" }),
		Violates:  reqThreadCreated,
		ExceptIn:  []string{"agentscope-java@0.1"}, // there nobody demands a name where none was given
		KilledBy:  map[string]string{"echo.thread-made": "run.end", "wire.matches-schema": "/session_id"},
	}, {
		Name: "conversations-stay-nameless", Doc: "who names no conversation is not told which was made",
		Middleware: hideCreatedThread,
		Violates:   reqThreadCreated,
		ExceptIn:   []string{"agentscope-java@0.1"}, // there nobody demands a name where none was given
		KilledBy:   map[string]string{"echo.thread-made": "run.end", "wire.matches-schema": "/session_id"},
	},
}

// sessionIDMember is the member by which events name their conversation.
var sessionIDMember = regexp.MustCompile(`"session_id":"[^"]*"`)

// hideCreatedThread leaves the conversation's name out of what is told to those who gave none.
func hideCreatedThread(next http.Handler) http.Handler {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		if v.event.Thread == "" && v.startsRun() {
			w = &editingWriter{ResponseWriter: w, edit: func(p []byte) []byte { return sessionIDMember.ReplaceAll(p, []byte(`"session_id":null`)) }}
		}
		next.ServeHTTP(w, v.httpRequest)
	})(next)
}

// editingWriter is a response each piece of which is changed on its way. Our servers write frames
// whole.
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
