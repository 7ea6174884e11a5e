package fault

import "github.com/streamassay/streamassay/spec"

// ResultMissing leaves out what a tool gave.
var ResultMissing = &Fault{
	Name: "result-missing", Doc: "the results of the server's tools are not told", Family: Protocol,
	Needs:  []spec.Kind{spec.ToolResult},
	Checks: []string{"script.tool"},
	Begin: func(Args) Effect {
		var s scribe
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if e.Kind == spec.ToolResult {
				s.less(e)
				return
			}
			s.tell(within(e, func(p spec.Event) (spec.Event, bool) { return p, p.Kind != spec.ToolResult }), tell)
		}}
	},
}

// ResultTwice tells a result twice. No check is about it.
var ResultTwice = &Fault{
	Name: "result-twice", Doc: "the result of a tool is told twice", Family: Protocol,
	Needs: []spec.Kind{spec.ToolResult}, Places: []string{"event"},
	Begin: twice(Of(spec.ToolResult)),
}

// UnknownResult tells what a call gave that was never made.
var UnknownResult = &Fault{
	Name: "unknown-result", Doc: "results name calls that were never made", Family: Protocol,
	Needs:  []spec.Kind{spec.ToolResult},
	Checks: []string{"tool.result-after-call"},
	Begin: func(Args) Effect {
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			tell(within(e, func(p spec.Event) (spec.Event, bool) {
				if p.Kind == spec.ToolResult {
					p.Call = nobody
				}
				return p, true
			}))
		}}
	},
}

// ResultEarly tells what a call gave before the call is whole.
var ResultEarly = &Fault{
	Name: "result-early", Doc: "the result of a call is told before the call has ended", Family: Protocol,
	Needs: []spec.Kind{spec.ToolEnd, spec.ToolResult}, Places: []string{"event"},
	Checks: []string{"tool.result-after-call"},
	Begin:  swapping(Of(spec.ToolEnd)),
}
