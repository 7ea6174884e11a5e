package fault

import "github.com/streamassay/streamassay/spec"

// Duplicated tells an event twice, as it is, its number too.
var Duplicated = &Fault{
	Name: "duplicated", Doc: "an event, a piece of a text if no place is set, is sent twice, byte for byte", Family: Protocol,
	Places: []string{"event"},
	Checks: []string{"sequence.increases", "sequence.dense", "script.text"},
	Begin: func(a Args) Effect {
		struck := once(a.At, pieceOrPlace(a.At))
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			tell(e)
			if struck(e) {
				tell(e)
			}
		}}
	},
}

// Reordered swaps two events, their numbers with them.
var Reordered = &Fault{
	Name: "reordered", Doc: "an event, a piece of a text if no place is set, comes after the next one", Family: Protocol,
	Places: []string{"event"},
	Checks: []string{"sequence.increases", "sequence.dense", "script.text"},
	Begin:  func(a Args) Effect { return swapping(pieceOrPlace(a.At))(a) },
}

// Lost leaves an event out, and its number with it.
var Lost = &Fault{
	Name: "lost", Doc: "an event, a piece of a text if no place is set, is never sent", Family: Protocol,
	Places: []string{"event"},
	Checks: []string{"sequence.dense", "script.text"},
	Begin: func(a Args) Effect {
		struck := once(a.At, pieceOrPlace(a.At))
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if !struck(e) {
				tell(e)
			}
		}}
	},
}

// pieceOrPlace fits anything if there is a place, and else pieces of texts.
func pieceOrPlace(at Place) func(*spec.Event) bool {
	if at.Event >= 0 {
		return func(*spec.Event) bool { return true }
	}
	return func(e *spec.Event) bool { return isDelta(e) && e.Text != "" }
}

// swapping tells the first event that fits after the one that follows it.
func swapping(fits func(*spec.Event) bool) func(Args) Effect {
	return func(a Args) Effect {
		var held *spec.Event
		struck := once(a.At, fits)
		release := func(tell func(*spec.Event)) {
			if held != nil {
				late := held
				held = nil
				tell(late)
			}
		}
		return Effect{
			Event: func(e *spec.Event, tell func(*spec.Event)) {
				if struck(e) {
					kept := *e
					held = &kept
					return
				}
				tell(e)
				release(tell)
			},
			End: release,
		}
	}
}
