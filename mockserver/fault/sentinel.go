package fault

import "github.com/streamassay/streamassay/spec"

// SentinelMissing leaves out the terminator of the stream. No check is about it.
var SentinelMissing = &Fault{
	Name: "sentinel-missing", Doc: "the stream ends without its sentinel", Family: Protocol,
	Needs: []spec.Kind{spec.Done},
	Begin: missing(Of(spec.Done)),
}

// SentinelTwice tells it twice.
var SentinelTwice = &Fault{
	Name: "sentinel-twice", Doc: "the sentinel comes twice", Family: Protocol,
	Needs:  []spec.Kind{spec.Done},
	Checks: []string{"done.is-last"},
	Begin:  twice(Of(spec.Done)),
}

// InterruptNotLast goes on after an interrupt.
var InterruptNotLast = &Fault{
	Name: "interrupt-not-last", Doc: "after an interrupt the run says something", Family: Protocol,
	Needs:  []spec.Kind{spec.Interrupt, spec.MessageDelta},
	Checks: []string{"interrupt.is-last"},
	Begin: func(Args) Effect {
		var s scribe
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			s.tell(e, tell)
			if e.Kind == spec.Interrupt {
				s.more(&spec.Event{Kind: spec.MessageDelta, Thread: e.Thread, Run: e.Run, Message: nobody, Index: "0", Text: "Never mind.", Seq: e.Seq}, e.Seq, tell)
			}
		}}
	},
}
