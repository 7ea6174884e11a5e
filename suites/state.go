package suites

import (
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// runState plays the state scenario. It sends requests in three threads. Every request has a state,
// except one that uses the template "minimal". The states of one thread have no members in common
// with those of another. In the first two threads, most prompts make the agent apply JSON Patches
// to the state. If the state is an object, its patches use no members except those that they add
// themselves, so they can be applied even if the agent has an object with other members as its
// state. In the third thread, the prompts ask for a tool call, a patch, messages, reasoning, an
// error and an interrupt, but for none that the target lacks the capability for.
func runState(t *Conversation) {
	ask := func(e spec.Event, state string) {
		e.State = state
		t.SendAndRead("state", e)
	}
	ask(t.PromptEvent("state", `[{"op":"add","path":"/itemCount","value":2}]`), `{"itemCount":1,"kept":" as it is\n","noItems":[],"noneOf":{"":""}}`)
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
	for _, state := range []string{`[]`, `0`, `false`, `""`} { // a careless server takes them for no state
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
