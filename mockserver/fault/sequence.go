package fault

import "github.com/streamassay/streamassay/spec"

// SeqSkipped is the fault that leaves out one sequence number, so that all later numbers are too
// high by 1.
var SeqSkipped = &Fault{
	Name: "seq-skipped", Doc: "the sequence numbers skip one; with event=0 they begin at 1", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotSeq}, Triggers: []string{"event"},
	Checks:    []string{"sequence.dense"},
	NewEffect: shiftNumbers(1),
}

// SeqRepeated is the fault that gives an event the sequence number of the preceding event, so that
// all later numbers are too low by 1.
var SeqRepeated = &Fault{
	Name: "seq-repeated", Doc: "two different events have the same sequence number", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotSeq}, Triggers: []string{"event"},
	Checks:    []string{"sequence.increases", "sequence.dense", "sequence.never-falls"},
	NewEffect: shiftNumbers(-1),
}

// shiftNumbers returns a value for [Fault.NewEffect]. The effect adds the value of the parameter by
// to all sequence numbers from the trigger on or, if no trigger is set, from the first text delta
// on. If the first of these numbers would become negative, none is changed.
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

// SeqFalls is the fault that sets the sequence number of one event to 0, although earlier events
// have higher numbers.
var SeqFalls = &Fault{
	Name: "seq-falls", Doc: "the sequence number of an event is 0 again", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotSeq}, Triggers: []string{"event"},
	Checks: []string{"sequence.increases", "sequence.dense", "sequence.never-falls"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Seq != "" && e.Seq != "0" && e.Kind.Subject() != "run" }, func(e *spec.Event) {
		e.Seq = "0"
	}),
}
