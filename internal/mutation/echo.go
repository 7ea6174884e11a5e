package mutation

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// echoMutants are servers whose events name the wrong thread, the wrong run or no thread.
var echoMutants = []*Mutant{
	{
		Name: "run-event-wrong-thread-id", Doc: "names another thread in an event about the run",
		Fault:     "wrong-thread",
		KilledBy:  map[string]string{"echo.thread": "run.start"},
		AlsoFails: []string{"sequence.never-falls", "echo.thread-made"}, // the replayed opening event differs from the original one with the same number
	}, {
		Name: "first-event-wrong-run-id", Doc: "names another run in the first event about the run",
		Fault:     "wrong-run",
		KilledBy:  map[string]string{"echo.run": "run.start"},
		AlsoFails: []string{"run.id-is-stable", "run.keeps-to-itself", "sequence.never-falls", "resume.*"}, // the other events name the run
	}, {
		Name: "run-id-lowercase", Doc: "names the run in lower case in the events of the run",
		NewEffect: changeEvents(anyEvent, func(e *spec.Event) { e.Run = strings.ToLower(e.Run) }),
		KilledBy:  map[string]string{"echo.run": "run.end run.error run.progress run.start"},
		AlsoFails: []string{"run.keeps-to-itself", "resume.keeps-to-run", "script.*"}, // the events seem to belong to another run
	}, {
		Name: "thread-id-lowercase", Doc: "names the thread in lower case in the events of a run",
		NewEffect: changeEvents(anyEvent, func(e *spec.Event) { e.Thread = strings.ToLower(e.Thread) }),
		KilledBy:  map[string]string{"echo.thread": "run.end run.error run.progress run.start"},
		Without:   []spec.Kind{spec.SlotCursor}, // or else the ids are UUIDs, which are in lower case anyway
	}, {
		Name: "thread-id-same-for-all", Doc: "names the same thread in the events of all runs",
		NewEffect: changeEvents(fault.OfKind(spec.RunStart, spec.RunProgress, spec.RunEnd, spec.RunError), func(e *spec.Event) { e.Thread = "the-conversation" }),
		KilledBy:  map[string]string{"echo.thread": "run.end run.error run.progress run.start"},
		AlsoFails: []string{"echo.thread-made"}, // every request without a thread id gets the same one
	}, {
		Name: "thread-id-missing", Doc: "names no thread in the events of a run",
		NewEffect: changeEvents(anyEvent, func(e *spec.Event) { e.Thread = "" }),
		KilledBy:  map[string]string{"echo.thread-made": "run.end"},
		AlsoFails: []string{"echo.thread", matchesSchema}, // an id that was sent is missing, too, and a schema may require it
	}, {
		Name: "created-thread-id-missing", Doc: "does not return the id of a thread that the server created",
		Middleware: replaceCreatedThread("null"),
		KilledBy:   map[string]string{"echo.thread-made": "run.end"},
		AlsoFails:  []string{matchesSchema}, // a schema may require the id
	},
}

// replaceCreatedThread returns a middleware that replaces the id of each thread that the server
// creates because a request to start a run names no thread. In all frames of the response, JSON
// strings that equal the id are replaced with the JSON text replacement.
func replaceCreatedThread(replacement string) middleware {
	return editFrames(func(v parsedRequest) func([]byte) []byte {
		if v.event.Thread != "" || !v.startsRun() {
			return nil
		}
		return func(frame []byte) []byte {
			if thread := v.decodeFrame(frame).Thread; thread != "" {
				frame = bytes.ReplaceAll(frame, []byte(`"`+thread+`"`), []byte(replacement))
			}
			return frame
		}
	})
}

// decodeFrame decodes one frame of the response to the request v. If the frame stands for several
// events, decodeFrame returns the last of them. If it stands for none, for example because it is a
// comment, decodeFrame returns the zero Event.
func (v parsedRequest) decodeFrame(frame []byte) (event spec.Event) {
	header := spec.Header{{Name: "Content-Type", Value: spec.EventStream}}
	response := spec.Response{Status: http.StatusOK, Header: header, Body: frame}
	for e := range v.dialect.Events(spec.Trace{Exchanges: []spec.Exchange{{Request: v.raw, Response: response}}}) {
		if e.IsFrame() {
			event = e
		}
	}
	return event
}
