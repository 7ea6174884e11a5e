package fault

import "github.com/streamassay/streamassay/spec"

// SentinelMissing is the fault that omits the sentinel, the frame that marks the end of a stream.
// It only tests clients: no check detects it.
var SentinelMissing = &Fault{
	Name: "sentinel-missing", Doc: "the stream ends without its sentinel", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.Done},
	NewEffect:     dropFirst(OfKind(spec.Done)),
}

// SentinelTwice is the fault that sends the sentinel, the frame that marks the end of a stream,
// twice.
var SentinelTwice = &Fault{
	Name: "sentinel-twice", Doc: "the sentinel is sent twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.Done},
	Checks:        []string{"done.is-last"},
	NewEffect:     duplicateFirst(OfKind(spec.Done)),
}

// InterruptNotLast is the fault that sends a message delta after an interrupt, although a run must
// stop with the interrupt.
var InterruptNotLast = &Fault{
	Name: "interrupt-not-last", Doc: "the run sends a message after an interrupt", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.Interrupt, spec.MessageDelta},
	Checks:        []string{"interrupt.is-last"},
	NewEffect: func(Args) Effect {
		var s renumberer
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			s.emit(e, emit)
			if e.Kind == spec.Interrupt {
				s.insert(&spec.Event{
					Kind: spec.MessageDelta, Thread: e.Thread, Run: e.Run,
					Message: unknownID, Index: "0", Text: "Never mind.", Seq: e.Seq,
				}, e.Seq, emit)
			}
		}}
	},
}
