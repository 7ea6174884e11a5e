package suites

import (
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// runState plays the state scenario. In three threads, it sends requests with a state, which is the
// JSON value that the agent and its client share. In the first two threads, most prompts make the
// agent apply JSON Patches to the state. In the third thread, the prompts ask for turns of other
// kinds, such as a tool call or an error, if the target supports them. Two further threads begin
// without a state. The states of different threads have different members, so that checks can
// detect if the server confuses them.
func runState(t *Conversation) {
	// The patches for objects use only members that they add themselves. They can therefore be
	// applied even if the agent merges the state with an object of its own.
	ask := func(e spec.Event, state string) {
		e.State = state
		t.SendAndRead("state", e)
	}
	ask(t.PromptEvent("state", `[{"op":"add","path":"/itemCount","value":2}]`),
		`{"itemCount":1,"kept":" as it is\n","noItems":[],"noneOf":{"":""},"nothing":null,"":"no name","at":"2024-01-31T10:00:00Z","ratio":0.1}`)
	ask(t.PromptEvent("state",
		`[{"op":"add","path":"/a~1b","value":{"m~n":1}},{"op":"add","path":"/list","value":[1,2,3]},{"op":"add","path":"/none","value":null}]`+
			`[{"op":"test","path":"/a~1b/m~0n","value":1},{"op":"replace","path":"/a~1b/m~0n","value":[2]}]`+
			`[{"op":"add","path":"/list/1","value":{"x":null}},{"op":"add","path":"/list/-","value":null}]`+
			`[{"op":"move","from":"/list/0","path":"/first"},{"op":"copy","from":"/a~1b","path":"/copied"},{"op":"remove","path":"/none"}]`+
			`[{"op":"add","path":"/z","value":{"in":"order"}},{"op":"move","from":"/z","path":"/b"}]`),
		`{"kept":{"null":null,"":[{}]},"second":[1,2]}`)
	t.Thread = t.NewID()
	ask(t.PromptEvent("state", `[{"op":"add","path":"/count","value":2}]`), `{"count":1}`)
	ask(t.PromptEvent("state", `[{"op":"add","path":"/-","value":{"c":[1]}}]`), `[1,{"b":null}]`)
	for _, state := range []string{`[]`, `0`, `false`, `""`} { // an incorrect server may ignore these states
		ask(t.PromptEvent("state", `[{"op":"test","path":"","value":`+state+`},{"op":"replace","path":"","value":{"was":`+state+`}}]`), state)
	}
	if t.HasTemplate("minimal") {
		t.SendAndRead("minimal", t.PromptEvent("state", `[{"op":"add","path":"/count","value":3}]`)) // without a state
	}
	for _, state := range []string{`[1,{"b":null}]`, `"a text"`, "5"} {
		ask(t.PromptEvent("text", "any JSON is a state"), state)
	}
	for _, rare := range []struct{ state, patch string }{
		{"null", `[{"op":"replace","path":"","value":{"was":null}}]`},
		{`{"kept":"` + strings.Repeat("as it is ", rareLength/8) + `"}`, `[{"op":"add","path":"/large","value":true}]`},
	} {
		// A server may refuse null, and a state that is too large for it.
		t.forgetIfFailed(func() { ask(t.PromptEvent("state", rare.patch), rare.state) })
	}
	for _, member := range []string{"left", "right"} { // in new threads without a state
		if t.HasTemplate("minimal") {
			t.Thread = t.NewID()
			t.SendAndRead("minimal", t.PromptEvent("state", `[{"op":"add","path":"/`+member+`","value":[7]}]`))
		}
	}
	t.Thread = t.NewID()
	for _, turn := range []struct{ scenario, args string }{
		{"tool", `{"state":true}`}, {"state", `[{"op":"add","path":"/afterTool","value":1}]`},
		{"messages", ""}, {"reasoning", "with a state"}, {"error-mid", "with a state"}, {"interrupt", `{"state":true}`},
	} {
		if !t.target.lacksCapability(turn.scenario) {
			ask(t.PromptEvent(turn.scenario, turn.args), `{"seen":[1]}`)
		}
	}
}
