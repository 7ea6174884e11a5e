package fault

import "github.com/streamassay/streamassay/spec"

// SeqSkipped skips a sequence number.
var SeqSkipped = &Fault{
	Name: "seq-skipped", Doc: "the sequence numbers skip one; with event=0 they begin at 1", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotSeq}, Triggers: []string{"event"},
	Checks:    []string{"sequence.dense"},
	NewEffect: shiftNumbers(1),
}

// SeqRepeated uses a sequence number twice.
var SeqRepeated = &Fault{
	Name: "seq-repeated", Doc: "two different events have the same sequence number", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotSeq}, Triggers: []string{"event"},
	Checks:    []string{"sequence.increases", "sequence.dense", "sequence.never-falls"},
	NewEffect: shiftNumbers(-1),
}

// shiftNumbers returns an effect constructor for a fault that changes all sequence numbers
// from the trigger on or, without one, from the first text delta on.
func shiftNumbers(by int64) func(Args) Effect {
	return func(a Args) Effect {
		var s renumberer
		isTarget := targetEvents(a.Trigger)
		isAffected := firstMatch(a.Trigger, func(e *spec.Event) bool { return e.Seq != "" && isTarget(e) })
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if isAffected(e) && addToNumber(e.Seq, by) != "-1" {
				s.shift += by
			}
			s.emit(e, emit)
		}}
	}
}

// SeqFalls sets one sequence number back to 0.
var SeqFalls = &Fault{
	Name: "seq-falls", Doc: "the sequence number of an event is 0 again", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotSeq}, Triggers: []string{"event"},
	Checks: []string{"sequence.increases", "sequence.dense", "sequence.never-falls"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Seq != "" && e.Seq != "0" && e.Kind.Subject() != "run" }, func(e *spec.Event) {
		e.Seq = "0"
	}),
}
