package fault

import "github.com/streamassay/streamassay/spec"

// ResultMissing leaves out what a tool gave.
var ResultMissing = &Fault{
	Name: "result-missing", Doc: "the results of the server's tools are not told", Category: CategoryProtocol,
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

// ResultTwice tells a result twice. No check is about it.
var ResultTwice = &Fault{
	Name: "result-twice", Doc: "the result of a tool is told twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolResult}, Triggers: []string{"event"},
	NewEffect: duplicateFirst(OfKind(spec.ToolResult)),
}

// UnknownResult tells what a call gave that was never made.
var UnknownResult = &Fault{
	Name: "unknown-result", Doc: "results name calls that were never made", Category: CategoryProtocol,
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

// ResultEarly tells what a call gave before the call is whole.
var ResultEarly = &Fault{
	Name: "result-early", Doc: "the result of a call is told before the call has ended", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.ToolEnd, spec.ToolResult}, Triggers: []string{"event"},
	Checks:    []string{"tool.result-after-call"},
	NewEffect: swapEvents(OfKind(spec.ToolEnd)),
}
