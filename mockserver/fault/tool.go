package fault

import "github.com/streamassay/streamassay/spec"

// CallNotStarted omits the start event of a tool call.
var CallNotStarted = &Fault{
	Name: "call-not-started", Doc: "the start event of a tool call is missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolEnd}, Triggers: []string{"event"},
	Checks:    []string{"tool.starts-first"},
	NewEffect: dropFirst(OfKind(spec.ToolStart)),
}

// CallNotEnded omits the end event of a tool call.
var CallNotEnded = &Fault{
	Name: "call-not-ended", Doc: "the end event of a tool call is missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolEnd}, Triggers: []string{"event"},
	Checks:    []string{"tool.all-end"},
	NewEffect: dropFirst(OfKind(spec.ToolEnd)),
}

// ReusedCallID repeats the start event of a tool call.
var ReusedCallID = &Fault{
	Name: "reused-call-id", Doc: "the start event of a tool call is sent twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart}, Triggers: []string{"event"},
	Checks:    []string{"tool.ids-unique"},
	NewEffect: duplicateFirst(OfKind(spec.ToolStart)),
}

// UnknownCall sends an arguments delta of a tool call that was never started.
var UnknownCall = &Fault{
	Name: "unknown-call", Doc: "an arguments delta names a tool call that was never started", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolDelta, spec.ToolEnd}, Triggers: []string{"event"},
	Checks:    []string{"tool.starts-first"},
	NewEffect: changeFirst(OfKind(spec.ToolDelta), func(e *spec.Event) { e.Call = unknownID }),
}

// ArgumentsBroken makes the arguments of a tool call invalid JSON.
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

// mapEvent returns a copy of e to which change was applied, recursively in its parts. It
// returns e itself if neither e nor its parts can be a tool call or result.
func mapEvent(e *spec.Event, change func(spec.Event) (part spec.Event, keep bool)) *spec.Event {
	if e.Parts == nil && e.Kind != spec.ToolCall && e.Kind != spec.ToolResult {
		return e
	}
	other, _ := change(*e)
	other.Parts = mapParts(other.Parts, change)
	return &other
}
