package fault

import (
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// An eventEditor changes the events of one run. When it drops or inserts an event, it renumbers the
// later events, so that the sequence numbers of the run stay consecutive. The fault then does not
// also violate the rules about sequence numbers. An eventEditor calls Args.Applied for each change.
type eventEditor struct {
	Args
	emit  func(*spec.Event) // receives the events that replace the current one
	shift int64             // number to add to the sequence numbers of later events
	atEnd func()            // called after the last event; may be nil
}

// editEvents returns a value for [Fault.NewEffect]. For each run, the effect calls begin, which
// returns an edit function, and then calls the edit function with each event e of the run, in
// order. The edit function emits the events that replace e by calling the methods of r. It must
// neither modify e nor keep e after the call.
func editEvents(begin func(r *eventEditor) func(e *spec.Event)) func(Args) Effect {
	return func(a Args) Effect {
		r := &eventEditor{Args: a}
		edit := begin(r)
		return Effect{
			OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
				r.emit = emit
				edit(e)
			},
			OnEnd: func(emit func(*spec.Event)) {
				if r.emit = emit; r.atEnd != nil {
					r.atEnd()
				}
			},
		}
	}
}

// pass emits e with its sequence number adjusted for the events that were dropped or inserted
// before it.
func (r *eventEditor) pass(e *spec.Event) {
	if r.shift == 0 || e.Seq == "" {
		r.emit(e)
		return
	}
	moved := *e
	moved.Seq = addToNumber(e.Seq, r.shift)
	r.emit(&moved)
}

// replace emits e, a changed copy of an event, in place of that event. It adjusts the sequence
// number as pass does.
func (r *eventEditor) replace(e *spec.Event) {
	r.Applied()
	r.pass(e)
}

// insert emits a copy of e as an additional event. The parameter after is the original sequence
// number of the preceding event. The copy gets the next number, and the numbers of later events
// increase by one. If e has no sequence number, no number changes.
func (r *eventEditor) insert(e *spec.Event, after string) {
	r.Applied()
	extra := *e
	if e.Seq != "" {
		r.shift++
		extra.Seq = addToNumber(after, r.shift)
	}
	r.emit(&extra)
}

// drop omits e: it emits nothing, and the sequence numbers of later events decrease by one. If e
// has no sequence number, no number changes.
func (r *eventEditor) drop(e *spec.Event) {
	r.Applied()
	if e.Seq != "" {
		r.shift--
	}
}

// first returns a function that selects one event of a run: it returns true for the first event, at
// or after the trigger, for which fits returns true, and false for all other events. If no trigger
// is set, the search begins with the first event of the run. The function must be called with each
// event of the run, in order.
func (r *eventEditor) first(fits func(*spec.Event) bool) func(*spec.Event) bool {
	n, done := -1, false
	return func(e *spec.Event) bool {
		n++
		if done || n < r.Trigger.Event || !fits(e) {
			return false
		}
		done = true
		return true
	}
}

// isTarget reports whether a fault that is not limited to events of certain kinds may change e. If
// the trigger is an event number, the result is true for every event. Otherwise, it is true only
// for a delta with text, because clients display the text.
func (r *eventEditor) isTarget(e *spec.Event) bool {
	return r.Trigger.Event >= 0 || isDelta(e) && e.Text != ""
}

// missing returns a value for [Fault.NewEffect]. The effect drops the first event, at or after the
// trigger, for which fits returns true.
func missing(fits func(*spec.Event) bool) func(Args) Effect {
	return editEvents(func(r *eventEditor) func(*spec.Event) { return r.dropEach(r.first(fits)) })
}

// allMissing returns a value for [Fault.NewEffect]. The effect drops each event for which fits
// returns true.
func allMissing(fits func(*spec.Event) bool) func(Args) Effect {
	return editEvents(func(r *eventEditor) func(*spec.Event) { return r.dropEach(fits) })
}

// dropEach returns an edit function for editEvents that drops each event for which isAffected
// returns true and emits all other events.
func (r *eventEditor) dropEach(isAffected func(*spec.Event) bool) func(*spec.Event) {
	return func(e *spec.Event) {
		if isAffected(e) {
			r.drop(e)
			return
		}
		r.pass(e)
	}
}

// twice returns a value for [Fault.NewEffect]. The effect sends one event twice: the first event,
// at or after the trigger, for which fits returns true. The copy gets the next sequence number.
func twice(fits func(*spec.Event) bool) func(Args) Effect {
	return followed(fits, func(e *spec.Event) *spec.Event { return e })
}

// followed returns a value for [Fault.NewEffect]. The effect finds the first event e, at or after
// the trigger, for which fits returns true. After that event it sends the additional event
// other(e).
func followed(fits func(*spec.Event) bool, other func(e *spec.Event) *spec.Event) func(Args) Effect {
	return editEvents(func(r *eventEditor) func(*spec.Event) {
		isAffected := r.first(fits)
		return func(e *spec.Event) {
			r.pass(e)
			if isAffected(e) {
				r.insert(other(e), e.Seq)
			}
		}
	})
}

// repeated returns a value for [Fault.NewEffect]. The effect sends an earlier event again: source,
// the latest event for which isSource returned true. It sends source after the first event e, at or
// after the trigger, for which fits(e, source) returns true.
func repeated(isSource func(*spec.Event) bool, fits func(e, source *spec.Event) bool) func(Args) Effect {
	return editEvents(func(r *eventEditor) func(*spec.Event) {
		var source *spec.Event
		isAffected := r.first(func(e *spec.Event) bool { return source != nil && fits(e, source) })
		return func(e *spec.Event) {
			if isSource(e) {
				source = new(*e)
			}
			r.pass(e)
			if isAffected(e) {
				r.insert(source, e.Seq)
			}
		}
	})
}

// changed returns a value for [Fault.NewEffect]. The effect changes the first event, at or after
// the trigger, for which fits returns true: it applies change to a copy of the event and sends the
// copy instead.
func changed(fits func(*spec.Event) bool, change func(*spec.Event)) func(Args) Effect {
	return editEvents(func(r *eventEditor) func(*spec.Event) {
		isAffected := r.first(fits)
		return func(e *spec.Event) {
			if !isAffected(e) {
				r.pass(e)
				return
			}
			other := *e
			change(&other)
			r.replace(&other)
		}
	})
}

// moved returns a value for [Fault.NewEffect]. The effect exchanges two successive events of the
// run: the first event, at or after the trigger, for which fits returns true, and the event after
// it. If fits is nil, eventEditor.isTarget is used instead. If the first of the two is the last
// event of the run, nothing changes. The events keep their sequence numbers.
func moved(fits func(*spec.Event) bool) func(Args) Effect {
	return editEvents(func(r *eventEditor) func(*spec.Event) {
		var held *spec.Event
		isAffected := r.first(r.isTarget)
		if fits != nil {
			isAffected = r.first(fits)
		}
		r.atEnd = func() {
			if held != nil {
				r.emit(held)
			}
		}
		return func(e *spec.Event) {
			if isAffected(e) {
				held = new(*e)
				return
			}
			if r.emit(e); held != nil {
				r.replace(held)
				held = nil
			}
		}
	})
}

// OfKind returns a function that reports whether an event has one of the given kinds.
func OfKind(kinds ...spec.Kind) func(*spec.Event) bool {
	return func(e *spec.Event) bool { return slices.Contains(kinds, e.Kind) }
}

// isTerminal reports whether e is the terminal event of its run, that is, its end event or its
// error event.
func isTerminal(e *spec.Event) bool { return e.Kind == spec.RunEnd || e.Kind == spec.RunError }

// isFinal reports whether e is a terminal event or the event that some protocols send after it to
// end the stream, such as one with the data "[DONE]".
func isFinal(e *spec.Event) bool { return isTerminal(e) || e.Kind == spec.Done }

// isDelta reports whether e is a delta of a message or of reasoning.
func isDelta(e *spec.Event) bool {
	return e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta
}

// isMessageStart reports whether e starts a message or reasoning.
func isMessageStart(e *spec.Event) bool {
	return e.Kind == spec.MessageStart || e.Kind == spec.ReasoningStart
}

// isMessageEnd reports whether e ends a message or reasoning.
func isMessageEnd(e *spec.Event) bool {
	return e.Kind == spec.MessageEnd || e.Kind == spec.ReasoningEnd
}

// isCompletedText reports whether e completes a content part and contains the complete text of that
// part. It returns false if the text is empty.
func isCompletedText(e *spec.Event) bool { return e.Kind == spec.ContentEnd && e.Text != "" }

// isSummary reports whether e is an end event that lists the messages of its run.
func isSummary(e *spec.Event) bool { return e.Kind == spec.RunEnd && len(e.Parts) > 0 }

// addToNumber adds n to number, a decimal integer, and returns the sum in the same form. If number
// is not an integer, addToNumber returns it unchanged.
func addToNumber(number string, n int64) string {
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	return strconv.FormatInt(at+n, 10)
}
