package fault

import "github.com/streamassay/streamassay/spec"

// ResultMissing omits the results of the server's tools.
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

// ResultTwice repeats a tool result. No check detects it.
var ResultTwice = &Fault{
	Name: "result-twice", Doc: "a tool result is sent twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolResult}, Triggers: []string{"event"},
	NewEffect: duplicateFirst(OfKind(spec.ToolResult)),
}

// UnknownResult changes the call ids of tool results to one that no call has.
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

// ResultEarly sends a tool result before the end event of its call.
var ResultEarly = &Fault{
	Name: "result-early", Doc: "a tool result is sent before its call has ended", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolEnd, spec.ToolResult}, Triggers: []string{"event"},
	Checks:    []string{"tool.result-after-call"},
	NewEffect: swapEvents(OfKind(spec.ToolEnd)),
}
