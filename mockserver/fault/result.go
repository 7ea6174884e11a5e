package fault

import "github.com/streamassay/streamassay/spec"

// ResultMissing is the fault that omits all results of the tools that the server runs.
var ResultMissing = &Fault{
	Name: "result-missing", Doc: "the results of the server's tools are missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolResult},
	Checks:        []string{"script.tool"},
	NewEffect: func(Args) Effect {
		var s renumberer
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if e.Kind == spec.ToolResult {
				s.drop(e)
				return
			}
			s.emit(mapEvent(e, func(p spec.Event) (spec.Event, bool) { return p, p.Kind != spec.ToolResult }), emit)
		}}
	},
}

// ResultTwice is the fault that sends a tool result twice. It only tests clients: no check detects
// it.
var ResultTwice = &Fault{
	Name: "result-twice", Doc: "a tool result is sent twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolResult}, Triggers: []string{"event"},
	NewEffect: duplicateFirst(OfKind(spec.ToolResult)),
}

// UnknownResult is the fault that changes the call id of all tool results to one that no tool call
// has.
var UnknownResult = &Fault{
	Name: "unknown-result", Doc: "tool results name calls that were never made", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolResult},
	Checks:        []string{"tool.result-after-call"},
	NewEffect: func(Args) Effect {
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			emit(mapEvent(e, func(p spec.Event) (spec.Event, bool) {
				if p.Kind == spec.ToolResult {
					p.Call = unknownID
				}
				return p, true
			}))
		}}
	},
}

// ResultEarly is the fault that sends a tool result before the end event of its tool call.
var ResultEarly = &Fault{
	Name: "result-early", Doc: "a tool result is sent before its call has ended", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolEnd, spec.ToolResult}, Triggers: []string{"event"},
	Checks:    []string{"tool.result-after-call"},
	NewEffect: swapEvents(OfKind(spec.ToolEnd)),
}
