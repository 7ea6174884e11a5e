package fault

import "github.com/streamassay/streamassay/spec"

// CallNotStarted is the fault that omits the start event of a tool call.
var CallNotStarted = &Fault{
	Name: "call-not-started", Doc: "the start event of a tool call is missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolEnd}, Triggers: []string{"event"},
	Checks:    []string{"tool.starts-first"},
	NewEffect: dropFirst(OfKind(spec.ToolStart)),
}

// CallNotEnded is the fault that omits the end event of a tool call.
var CallNotEnded = &Fault{
	Name: "call-not-ended", Doc: "the end event of a tool call is missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolEnd}, Triggers: []string{"event"},
	Checks:    []string{"tool.all-end"},
	NewEffect: dropFirst(OfKind(spec.ToolEnd)),
}

// ReusedCallID is the fault that sends the start event of a tool call twice, so that two calls
// have the same id.
var ReusedCallID = &Fault{
	Name: "reused-call-id", Doc: "the start event of a tool call is sent twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart}, Triggers: []string{"event"},
	Checks:    []string{"tool.ids-unique"},
	NewEffect: duplicateFirst(OfKind(spec.ToolStart)),
}

// UnknownCall is the fault that changes the call id of an arguments delta to the id of a tool call
// that was never started.
var UnknownCall = &Fault{
	Name: "unknown-call", Doc: "an arguments delta names a tool call that was never started", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolDelta, spec.ToolEnd}, Triggers: []string{"event"},
	Checks:    []string{"tool.starts-first"},
	NewEffect: changeFirst(OfKind(spec.ToolDelta), func(e *spec.Event) { e.Call = unknownID }),
}

// ArgumentsBroken is the fault that appends a brace to the arguments of a tool call, so that they
// are not valid JSON.
var ArgumentsBroken = &Fault{
	Name: "arguments-broken", Doc: "the arguments of a tool call are not valid JSON", Category: CategoryProtocol,
	Triggers: []string{"event"},
	Checks:   []string{"tool.arguments-are-json"},
	NewEffect: func(a Args) Effect {
		var s renumberer
		isAffected := firstMatch(a.Trigger, OfKind(spec.ToolEnd))
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if isAffected(e) {
				s.insert(&spec.Event{
					Kind: spec.ToolDelta, Thread: e.Thread, Run: e.Run,
					Message: e.Message, Call: e.Call, Text: "}", Seq: e.Seq,
				}, addToNumber(e.Seq, -1), emit)
			}
			s.emit(mapEvent(e, func(p spec.Event) (spec.Event, bool) {
				if p.Kind == spec.ToolCall {
					p.Text += "}"
				}
				return p, true
			}), emit)
		}}
	},
}

// mapEvent returns a copy of e after change was applied to e and to its parts, at any depth. A part
// for which change returns keep as false is left out. If e has no parts and is neither a tool call
// nor a tool result, mapEvent returns e itself and does not call change.
func mapEvent(e *spec.Event, change func(spec.Event) (part spec.Event, keep bool)) *spec.Event {
	if e.Parts == nil && e.Kind != spec.ToolCall && e.Kind != spec.ToolResult {
		return e
	}
	other, _ := change(*e)
	other.Parts = mapParts(other.Parts, change)
	return &other
}
