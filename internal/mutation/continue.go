package mutation

import (
	"strings"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// continueMutants are servers in which runs that involve an interrupt or a client tool (a tool that
// the client runs) end wrongly. In some of them, the run that calls a client tool fails or is
// reported as canceled. In the others, the run that receives the tool result, or the answer to the
// interrupt, fails.
var continueMutants = []*Mutant{
	{
		Name: "client-call-run-fails", Doc: "reports a run as failed if it leaves a tool call to the client",
		NewEffect: changeEndAfter(endOfCall("paint"), func(e *spec.Event) { e.Kind, e.Text = spec.RunError, "no result" }),
		KilledBy:  map[string]string{"tool.client-call-run-succeeds": "run.error"},
		AlsoFails: []string{"script.client-tool*", "script.tool"}, // the run that was asked for has failed
	}, {
		Name: "client-call-run-canceled", Doc: "reports a run as canceled if it leaves a tool call to the client",
		NewEffect: changeEndAfter(endOfCall("paint"), func(e *spec.Event) { e.Status = "cancelled" }),
		KilledBy:  map[string]string{"tool.client-call-run-succeeds": "run.end"},
		AlsoFails: []string{"script.client-tool*"}, // the run that was asked for was cancelled
	}, {
		Name: "tool-result-run-fails", Doc: "sends a text in a run with the result of a client tool and then fails the run",
		NewEffect: changeEndAfter(saysToolResult, func(e *spec.Event) { e.Kind, e.Text = spec.RunError, "no answer" }),
		KilledBy:  map[string]string{"result.continues": "run.error"},
		AlsoFails: []string{"script.*"}, // the run that was asked for has failed, and so has one whose text begins alike
	}, {
		Name: "tool-result-run-empty-error", Doc: "sends a text in a run with the result of a client tool and fails it with an empty error message",
		NewEffect: changeEndAfter(saysToolResult, func(e *spec.Event) { e.Kind, e.Text = spec.RunError, "" }),
		KilledBy:  map[string]string{"result.continues": "run.error"},
		AlsoFails: []string{"script.*", "error.*"}, // as above
	}, {
		Name: "resumed-run-fails", Doc: "sends a text in a resumed run and then fails the run",
		NewEffect: changeEndAfter(startsWith("resumed"), func(e *spec.Event) { e.Kind, e.Text = spec.RunError, "no answer" }),
		KilledBy:  map[string]string{"resume.continues": "run.error"},
		AlsoFails: []string{"script.resume"}, // the run that was asked for has failed
	}, {
		Name: "canceled-interrupt-run-fails", Doc: "fails a run whose resume cancels an interrupt",
		NewEffect: changeEndAfter(startsWith("no payl"), func(e *spec.Event) { e.Kind, e.Text = spec.RunError, "no payload" }),
		KilledBy:  map[string]string{"resume.continues": "run.error"},
	},
}

// saysToolResult reports whether an event is a text delta that begins with "tool". The correct
// server answers the result of a client tool with a text that begins with that word.
var saysToolResult = startsWith("tool")

// startsWith returns a function that reports whether the event e is a text delta that begins with
// prefix.
func startsWith(prefix string) func(e *spec.Event) bool {
	return func(e *spec.Event) bool { return e.Kind == spec.MessageDelta && strings.HasPrefix(e.Text, prefix) }
}

// changeEndAfter returns the effectFactory of a fault that changes the event at the end of a run
// (run.end) if fits returns true for this event or for an earlier event of the run. The function
// change modifies a copy of the event, which is sent instead.
func changeEndAfter(fits func(*spec.Event) bool, change func(*spec.Event)) effectFactory {
	return func(a fault.Args) fault.Effect {
		found := false
		return changeEvents(func(e *spec.Event) bool {
			found = found || fits(e)
			return found && e.Kind == spec.RunEnd
		}, change)(a)
	}
}
