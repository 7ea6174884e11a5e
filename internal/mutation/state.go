package mutation

import (
	"encoding/json"
	"maps"
	"sync"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// stateMutants are servers that report the state, the messages or the steps of a run wrongly.
var stateMutants = []*Mutant{
	{
		Name: "state-delta-unknown-path", Doc: "sends state deltas that replace a value that does not exist",
		NewEffect: changeEvents(fault.OfKind(spec.StateDelta), func(e *spec.Event) {
			e.Text = `[{"op":"replace","path":"/nowhere/at/all","value":1}]`
		}),
		KilledBy:  map[string]string{"state.delta-applies": "state.delta"},
		AlsoFails: []string{"script.state"}, // the resulting state cannot be determined
	}, {
		Name: "state-snapshot-null", Doc: "sends null as every state snapshot",
		NewEffect: changeEvents(fault.OfKind(spec.StateSnapshot), func(e *spec.Event) { e.Text = "" }),
		KilledBy:  map[string]string{"state.delta-applies": "state.delta"},
		AlsoFails: []string{"script.state"}, // the state is another one
	}, {
		Name: "state-snapshot-missing", Doc: "sends no state snapshot when the prompt asks for a change of the state",
		NewEffect: dropEvents(fault.OfKind(spec.StateSnapshot)),
		KilledBy:  map[string]string{"script.state": "http.close"},
	}, {
		Name: "state-delta-missing", Doc: "sends no state delta when the prompt asks for a change of the state",
		NewEffect: dropEvents(fault.OfKind(spec.StateDelta)),
		KilledBy:  map[string]string{"script.state": "http.close"},
	}, {
		Name: "state-snapshot-threads-mixed", Doc: "adds the members of the states of other threads to state snapshots",
		NewEffect: changeEvents(fault.OfKind(spec.StateSnapshot), shareMembers()),
		KilledBy:  map[string]string{"script.state": "http.close"},
	}, {
		Name: "message-snapshot-text-differs", Doc: "sends message snapshots with other texts than those that were streamed",
		NewEffect: changeParts(fault.OfKind(spec.History), func(part *spec.Event) { part.Text += "!" }),
		KilledBy:  map[string]string{"messages.snapshot-agrees": "history"},
	}, {
		Name: "message-snapshot-text-truncated", Doc: "truncates the texts in message snapshots to their first half",
		NewEffect: changeParts(fault.OfKind(spec.History), func(p *spec.Event) { p.Text = p.Text[:len(p.Text)/2] }),
		KilledBy:  map[string]string{"messages.snapshot-agrees": "history"},
	}, {
		Name: "step-events-missing", Doc: "omits the step events when the prompt asks for steps, and sends only their messages",
		NewEffect: dropEvents(isNamedStep),
		KilledBy:  map[string]string{"script.steps": "http.close"},
	}, {
		Name: "step-names-differ", Doc: "sends steps with other names than the prompt asks for",
		NewEffect: changeEvents(isNamedStep, func(e *spec.Event) { e.Name = "step " + e.Name }),
		KilledBy:  map[string]string{"script.steps": "http.close"},
	},
}

// shareMembers returns a function that adds the members of the states in all its earlier calls to
// the state e.Text, a JSON object. If several states have a member with the same name, the value in
// the latest call counts. If e.Text is not a JSON object, the function does nothing. It may be
// called concurrently.
func shareMembers() func(e *spec.Event) {
	var mu sync.Mutex
	shared := map[string]any{}
	return func(e *spec.Event) {
		mu.Lock()
		defer mu.Unlock()
		var members map[string]any
		if json.Unmarshal([]byte(e.Text), &members) == nil && members != nil {
			maps.Copy(shared, members)
			text, _ := json.Marshal(shared)
			e.Text = string(text)
		}
	}
}

// isNamedStep reports whether e starts or ends a step that has a name.
func isNamedStep(e *spec.Event) bool { return e.Kind.Subject() == "step" && e.Name != "" }
