package fault

import "github.com/streamassay/streamassay/spec"

// CallNotStarted leaves out that a call starts.
var CallNotStarted = &Fault{
	Name: "call-not-started", Doc: "the event that opens a call is not told", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolEnd}, Triggers: []string{"event"},
	Checks:    []string{"tool.starts-first"},
	NewEffect: dropFirst(OfKind(spec.ToolStart)),
}

// CallNotEnded leaves out that a call is whole.
var CallNotEnded = &Fault{
	Name: "call-not-ended", Doc: "the event that ends a call is not told", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolEnd}, Triggers: []string{"event"},
	Checks:    []string{"tool.all-end"},
	NewEffect: dropFirst(OfKind(spec.ToolEnd)),
}

// ReusedCallID starts two calls under one id.
var ReusedCallID = &Fault{
	Name: "reused-call-id", Doc: "a call is opened twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart}, Triggers: []string{"event"},
	Checks:    []string{"tool.ids-unique"},
	NewEffect: duplicateFirst(OfKind(spec.ToolStart)),
}

// UnknownCall tells a piece of a call that never was.
var UnknownCall = &Fault{
	Name: "unknown-call", Doc: "a piece of the arguments names a call that was never opened", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolDelta, spec.ToolEnd}, Triggers: []string{"event"},
	Checks:    []string{"tool.starts-first"},
	NewEffect: changeFirst(OfKind(spec.ToolDelta), func(e *spec.Event) { e.Call = unknownID }),
}

// ArgumentsBroken tells arguments that do not parse.
var ArgumentsBroken = &Fault{
	Name: "arguments-broken", Doc: "the arguments of a call are no JSON", Category: CategoryProtocol,
	Triggers: []string{"event"},
	Checks:   []string{"tool.arguments-are-json"},
	NewEffect: func(a Args) Effect {
		var s renumberer
		isAffected := firstMatch(a.Trigger, OfKind(spec.ToolEnd))
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if isAffected(e) {
				s.insert(&spec.Event{Kind: spec.ToolDelta, Thread: e.Thread, Run: e.Run, Message: e.Message, Call: e.Call, Text: "}", Seq: e.Seq}, addToNumber(e.Seq, -1), emit)
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

// mapEvent changes an event and what stands in it.
func mapEvent(e *spec.Event, change func(spec.Event) (part spec.Event, keep bool)) *spec.Event {
	if e.Parts == nil && e.Kind != spec.ToolCall && e.Kind != spec.ToolResult {
		return e
	}
	other, _ := change(*e)
	other.Parts = mapParts(other.Parts, change)
	return &other
}
