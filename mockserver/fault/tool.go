package fault

import "github.com/streamassay/streamassay/spec"

// CallNotStarted leaves out that a call starts.
var CallNotStarted = &Fault{
	Name: "call-not-started", Doc: "the event that opens a call is not told", Family: Protocol,
	Needs: []spec.Kind{spec.ToolStart, spec.ToolEnd}, Places: []string{"event"},
	Checks: []string{"tool.starts-first"},
	Begin:  missing(Of(spec.ToolStart)),
}

// CallNotEnded leaves out that a call is whole.
var CallNotEnded = &Fault{
	Name: "call-not-ended", Doc: "the event that ends a call is not told", Family: Protocol,
	Needs: []spec.Kind{spec.ToolStart, spec.ToolEnd}, Places: []string{"event"},
	Checks: []string{"tool.all-end"},
	Begin:  missing(Of(spec.ToolEnd)),
}

// ReusedCallID starts two calls under one id.
var ReusedCallID = &Fault{
	Name: "reused-call-id", Doc: "a call is opened twice", Family: Protocol,
	Needs: []spec.Kind{spec.ToolStart}, Places: []string{"event"},
	Checks: []string{"tool.ids-unique"},
	Begin:  twice(Of(spec.ToolStart)),
}

// UnknownCall tells a piece of a call that never was.
var UnknownCall = &Fault{
	Name: "unknown-call", Doc: "a piece of the arguments names a call that was never opened", Family: Protocol,
	Needs: []spec.Kind{spec.ToolStart, spec.ToolDelta, spec.ToolEnd}, Places: []string{"event"},
	Checks: []string{"tool.starts-first"},
	Begin:  changed(Of(spec.ToolDelta), func(e *spec.Event) { e.Call = nobody }),
}

// ArgumentsBroken tells arguments that do not parse.
var ArgumentsBroken = &Fault{
	Name: "arguments-broken", Doc: "the arguments of a call are no JSON", Family: Protocol,
	Places: []string{"event"},
	Checks: []string{"tool.arguments-are-json"},
	Begin: func(a Args) Effect {
		var s scribe
		struck := once(a.At, Of(spec.ToolEnd))
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if struck(e) {
				s.more(&spec.Event{Kind: spec.ToolDelta, Thread: e.Thread, Run: e.Run, Message: e.Message, Call: e.Call, Text: "}", Seq: e.Seq}, add(e.Seq, -1), tell)
			}
			s.tell(within(e, func(p spec.Event) (spec.Event, bool) {
				if p.Kind == spec.ToolCall {
					p.Text += "}"
				}
				return p, true
			}), tell)
		}}
	},
}

// within changes an event and what stands in it.
func within(e *spec.Event, change func(spec.Event) (part spec.Event, keep bool)) *spec.Event {
	if e.Parts == nil && e.Kind != spec.ToolCall && e.Kind != spec.ToolResult {
		return e
	}
	other, _ := change(*e)
	other.Parts = parts(other.Parts, change)
	return &other
}
