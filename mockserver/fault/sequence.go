package fault

import "github.com/streamassay/streamassay/spec"

// SeqSkipped leaves out a number.
var SeqSkipped = &Fault{
	Name: "seq-skipped", Doc: "the numbers of the events skip one; with event=0 they begin at 1", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotSeq}, Triggers: []string{"event"},
	Checks:    []string{"sequence.dense"},
	NewEffect: shiftNumbers(1),
}

// SeqRepeated uses a number twice.
var SeqRepeated = &Fault{
	Name: "seq-repeated", Doc: "two different events have the same number", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotSeq}, Triggers: []string{"event"},
	Checks:    []string{"sequence.increases", "sequence.dense", "sequence.never-falls"},
	NewEffect: shiftNumbers(-1),
}

// shiftNumbers moves all numbers from an event on; without a place, from the first piece of
// a text on.
func shiftNumbers(by int64) func(Args) Effect {
	return func(a Args) Effect {
		var s renumberer
		isAffected := firstMatch(a.Trigger, func(e *spec.Event) bool { return e.Seq != "" && targetEvents(a.Trigger)(e) })
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if isAffected(e) && addToNumber(e.Seq, by) != "-1" {
				s.shift += by
			}
			s.emit(e, emit)
		}}
	}
}

// SeqFalls begins to count anew.
var SeqFalls = &Fault{
	Name: "seq-falls", Doc: "the number of one event is 0 again", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotSeq}, Triggers: []string{"event"},
	Checks: []string{"sequence.increases", "sequence.dense", "sequence.never-falls"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Seq != "" && e.Seq != "0" && e.Kind.Subject() != "run" }, func(e *spec.Event) {
		e.Seq = "0"
	}),
}
