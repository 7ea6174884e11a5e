package fault

import "github.com/streamassay/streamassay/spec"

// SeqSkipped leaves out a number.
var SeqSkipped = &Fault{
	Name: "seq-skipped", Doc: "the numbers of the events skip one; with event=0 they begin at 1", Family: Protocol,
	Needs: []spec.Kind{spec.SlotSeq}, Places: []string{"event"},
	Checks: []string{"sequence.dense"},
	Begin:  shifting(1),
}

// SeqRepeated uses a number twice.
var SeqRepeated = &Fault{
	Name: "seq-repeated", Doc: "two different events have the same number", Family: Protocol,
	Needs: []spec.Kind{spec.SlotSeq}, Places: []string{"event"},
	Checks: []string{"sequence.increases", "sequence.dense", "sequence.never-falls"},
	Begin:  shifting(-1),
}

// shifting moves all numbers from an event on; without a place, from the first piece of
// a text on.
func shifting(by int64) func(Args) Effect {
	return func(a Args) Effect {
		var s scribe
		struck := once(a.At, func(e *spec.Event) bool { return e.Seq != "" && pieceOrPlace(a.At)(e) })
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if struck(e) && add(e.Seq, by) != "-1" {
				s.shift += by
			}
			s.tell(e, tell)
		}}
	}
}

// SeqFalls begins to count anew.
var SeqFalls = &Fault{
	Name: "seq-falls", Doc: "the number of one event is 0 again", Family: Protocol,
	Needs: []spec.Kind{spec.SlotSeq}, Places: []string{"event"},
	Checks: []string{"sequence.increases", "sequence.dense", "sequence.never-falls"},
	Begin: changed(func(e *spec.Event) bool { return e.Seq != "" && e.Seq != "0" && e.Kind.Subject() != "run" }, func(e *spec.Event) {
		e.Seq = "0"
	}),
}
