package fault

import "github.com/streamassay/streamassay/spec"

// Duplicated sends an event twice with the same sequence number.
var Duplicated = &Fault{
	Name: "duplicated", Doc: "an event (a text delta if no trigger is set) is sent twice, byte for byte", Category: CategoryProtocol,
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

// Reordered swaps two events together with their sequence numbers.
var Reordered = &Fault{
	Name: "reordered", Doc: "an event (a text delta if no trigger is set) is sent after the next one", Category: CategoryProtocol,
	Triggers:  []string{"event"},
	Checks:    []string{"sequence.increases", "sequence.dense", "script.text"},
	NewEffect: func(a Args) Effect { return swapEvents(targetEvents(a.Trigger))(a) },
}

// Lost drops an event together with its sequence number.
var Lost = &Fault{
	Name: "lost", Doc: "an event (a text delta if no trigger is set) is never sent", Category: CategoryProtocol,
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

// targetEvents returns the filter of events that a fault may affect: all if an event number
// is set, and text deltas otherwise.
func targetEvents(at Trigger) func(*spec.Event) bool {
	if at.Event >= 0 {
		return func(*spec.Event) bool { return true }
	}
	return func(e *spec.Event) bool { return isDelta(e) && e.Text != "" }
}

// swapEvents returns an effect constructor for a fault that swaps the first matching event
// with its successor.
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
