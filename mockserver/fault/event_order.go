package fault

import "github.com/streamassay/streamassay/spec"

// Duplicated is the fault that sends an event twice, both times with the same sequence number.
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

// Reordered is the fault that sends an event after its successor. Both keep their sequence
// numbers.
var Reordered = &Fault{
	Name: "reordered", Doc: "an event (a text delta if no trigger is set) is sent after the next one", Category: CategoryProtocol,
	Triggers:  []string{"event"},
	Checks:    []string{"sequence.increases", "sequence.dense", "script.text"},
	NewEffect: func(a Args) Effect { return swapEvents(targetEvents(a.Trigger))(a) },
}

// Lost is the fault that omits an event. The other events keep their sequence numbers, so that
// there is a gap.
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

// targetEvents returns a function that reports whether a fault may affect an event. If the trigger
// is an event number, a fault may affect any event. Otherwise it may affect only deltas with text,
// because clients display that text.
func targetEvents(at Trigger) func(*spec.Event) bool {
	if at.Event >= 0 {
		return func(*spec.Event) bool { return true }
	}
	return func(e *spec.Event) bool { return isDelta(e) && e.Text != "" }
}

// swapEvents returns a value for [Fault.NewEffect]. The effect delays the first event for which
// fits returns true, starting at the trigger, and sends it after the next event. If no event
// follows, the delayed event is sent at the end of the run.
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
