package fault

import "github.com/streamassay/streamassay/spec"

// Duplicated tells an event twice, as it is, its number too.
var Duplicated = &Fault{
	Name: "duplicated", Doc: "an event, a piece of a text if no place is set, is sent twice, byte for byte", Category: CategoryProtocol,
	Triggers: []string{"event"},
	Checks:   []string{"sequence.increases", "sequence.dense", "script.text"},
	NewEffect: func(a Args) Effect {
		isAffected := firstMatch(a.Trigger, targetEvents(a.Trigger))
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			emit(e)
			if isAffected(e) {
				emit(e)
			}
		}}
	},
}

// Reordered swaps two events, their numbers with them.
var Reordered = &Fault{
	Name: "reordered", Doc: "an event, a piece of a text if no place is set, comes after the next one", Category: CategoryProtocol,
	Triggers:  []string{"event"},
	Checks:    []string{"sequence.increases", "sequence.dense", "script.text"},
	NewEffect: func(a Args) Effect { return swapEvents(targetEvents(a.Trigger))(a) },
}

// Lost leaves an event out, and its number with it.
var Lost = &Fault{
	Name: "lost", Doc: "an event, a piece of a text if no place is set, is never sent", Category: CategoryProtocol,
	Triggers: []string{"event"},
	Checks:   []string{"sequence.dense", "script.text"},
	NewEffect: func(a Args) Effect {
		isAffected := firstMatch(a.Trigger, targetEvents(a.Trigger))
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if !isAffected(e) {
				emit(e)
			}
		}}
	},
}

// targetEvents fits anything if there is a place, and else pieces of texts.
func targetEvents(at Trigger) func(*spec.Event) bool {
	if at.Event >= 0 {
		return func(*spec.Event) bool { return true }
	}
	return func(e *spec.Event) bool { return isDelta(e) && e.Text != "" }
}

// swapEvents tells the first event that fits after the one that follows it.
func swapEvents(fits func(*spec.Event) bool) func(Args) Effect {
	return func(a Args) Effect {
		var held *spec.Event
		isAffected := firstMatch(a.Trigger, fits)
		release := func(emit func(*spec.Event)) {
			if held != nil {
				late := held
				held = nil
				emit(late)
			}
		}
		return Effect{
			OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
				if isAffected(e) {
					kept := *e
					held = &kept
					return
				}
				emit(e)
				release(emit)
			},
			OnEnd: release,
		}
	}
}
