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
	lawsEchoRun    = []string{"agentscope-java.resp.request-id", "agentscope.id-echo", "runs.create.run-echo", "runs.cancel.run-echo"}
	lawsEchoThread = []string{"agentscope-java.resp.session", "agentscope.session-echo", "runs.create.thread-echo", "runs.cancel.thread-echo"}
	lawsThreadMade = []string{"agentscope-java.resp.session", "agentscope.session-made"}
)

var echoMutants = []*Mutant{
	{
		Name: "other-conversation", Doc: "an event about the run names another conversation",
		Fault:  "wrong-thread",
		Breaks: lawsEchoThread,
		Kills:  map[string]string{"echo.thread": "run.start"},
		Also:   []string{"sequence.never-falls"}, // the opening that is told again under its number is not the same any more
	}, {
		Name: "one-conversation-for-all", Doc: "all events about a run name the same conversation, whoever asks",
		Play:   everyEvent(fault.Of(spec.RunStart, spec.RunProgress, spec.RunEnd, spec.RunError), func(e *spec.Event) { e.Thread = "the-conversation" }),
		Breaks: lawsEchoThread,
		Kills:  map[string]string{"echo.thread": "run.end run.error run.progress run.start"},
	}, {
		Name: "no-name-for-the-conversation", Doc: "the events of a run name no conversation",
		Play:   everyEvent(anything, func(e *spec.Event) { e.Thread = "" }),
		Breaks: lawsThreadMade,
		Not:    []string{"agentscope-java@0.1"}, // there nobody demands a name where none was given
		Kills:  map[string]string{"echo.thread-made": "run.end", "wire.matches-schema": "/session_id"},
	}, {
		Name: "conversations-stay-nameless", Doc: "who names no conversation is not told which was made",
		Twist:  nameless,
		Breaks: lawsThreadMade,
		Not:    []string{"agentscope-java@0.1"}, // there nobody demands a name where none was given
		Kills:  map[string]string{"echo.thread-made": "run.end", "wire.matches-schema": "/session_id"},
	},
}

// named is the member by which events name their conversation.
var named = regexp.MustCompile(`"session_id":"[^"]*"`)

// nameless leaves the conversation's name out of what is told to those who gave none.
func nameless(next http.Handler) http.Handler {
	return seeing(func(w http.ResponseWriter, v view, next http.Handler) {
		if v.event.Thread == "" && v.opens() {
			w = &edited{ResponseWriter: w, edit: func(p []byte) []byte { return named.ReplaceAll(p, []byte(`"session_id":null`)) }}
		}
		next.ServeHTTP(w, v.http)
	})(next)
}

// edited is a response each piece of which is changed on its way. Our servers write frames
// whole.
type edited struct {
	http.ResponseWriter
	edit func(p []byte) []byte
}

func (e *edited) Unwrap() http.ResponseWriter { return e.ResponseWriter }

func (e *edited) Write(p []byte) (int, error) {
	if _, err := e.ResponseWriter.Write(e.edit(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
