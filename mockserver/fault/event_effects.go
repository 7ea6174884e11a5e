package fault

import (
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// firstMatch returns a function that reports whether an event is the first one for which fits
// returns true, starting at the trigger. The function must be called with each event of a run, in
// order.
func firstMatch(at Trigger, fits func(*spec.Event) bool) func(*spec.Event) bool {
	n, done := -1, false
	return func(e *spec.Event) bool {
		n++
		if done || n < at.Event || !fits(e) {
			return false
		}
		done = true
		return true
	}
}

// everyMatch returns a function that reports whether an event is at or after the trigger and fits
// returns true for it. The function must be called with each event of a run, in order.
func everyMatch(at Trigger, fits func(*spec.Event) bool) func(*spec.Event) bool {
	n := -1
	return func(e *spec.Event) bool {
		n++
		return n >= at.Event && fits(e)
	}
}

// OfKind returns a function that reports whether an event has one of the given kinds.
func OfKind(kinds ...spec.Kind) func(*spec.Event) bool {
	return func(e *spec.Event) bool { return slices.Contains(kinds, e.Kind) }
}

// isTerminal reports whether e is the terminal event of its run.
func isTerminal(e *spec.Event) bool { return e.Kind == spec.RunEnd || e.Kind == spec.RunError }

// isFinal reports whether e is a terminal event or the sentinel of the stream.
func isFinal(e *spec.Event) bool { return isTerminal(e) || e.Kind == spec.Done }

// isDelta reports whether e is a delta of a message or of reasoning.
func isDelta(e *spec.Event) bool {
	return e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta
}

// A renumberer keeps the sequence numbers of a run consecutive while a fault drops or inserts
// events. Otherwise the checks of sequence numbers would detect every such fault, whatever its own
// defect is. The zero value is ready to use for one run.
type renumberer struct{ shift int64 }

// emit passes e to the function emit, with its sequence number adjusted for the events that were
// dropped or inserted before. If an adjustment is necessary, it passes a copy and leaves e
// unchanged.
func (s *renumberer) emit(e *spec.Event, emit func(*spec.Event)) {
	if s.shift == 0 || e.Seq == "" {
		emit(e)
		return
	}
	moved := *e
	moved.Seq = addToNumber(e.Seq, s.shift)
	emit(&moved)
}

// insert passes a copy of e to the function emit as an additional event. The parameter after is the
// original sequence number of the preceding event. The copy gets the next number, and the numbers
// of later events increase by one. If e has no sequence number, no number changes.
func (s *renumberer) insert(e *spec.Event, after string, emit func(*spec.Event)) {
	extra := *e
	if e.Seq != "" {
		s.shift++
		extra.Seq = addToNumber(after, s.shift)
	}
	emit(&extra)
}

// drop records that e is not sent, so that the sequence numbers of later events decrease by one. If
// e has no sequence number, it does nothing.
func (s *renumberer) drop(e *spec.Event) {
	if e.Seq != "" {
		s.shift--
	}
}

// addToNumber returns the sum of n and the integer that the text number represents, as a decimal
// text. If number is not an integer, it is returned unchanged.
func addToNumber(number string, n int64) string {
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	return strconv.FormatInt(at+n, 10)
}

// dropFirst returns a value for [Fault.NewEffect]. The effect drops the first event for which fits
// returns true, starting at the trigger, and renumbers the later events.
func dropFirst(fits func(*spec.Event) bool) func(Args) Effect {
	return func(a Args) Effect { return dropEvents(firstMatch(a.Trigger, fits)) }
}

// dropEvents returns an effect that drops each event for which isAffected returns true and
// renumbers the others.
func dropEvents(isAffected func(*spec.Event) bool) Effect {
	var s renumberer
	return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
		if isAffected(e) {
			s.drop(e)
			return
		}
		s.emit(e, emit)
	}}
}

// duplicateFirst returns a value for [Fault.NewEffect]. The effect sends the first event for which
// fits returns true, starting at the trigger, twice. The copy gets the next sequence number.
func duplicateFirst(fits func(*spec.Event) bool) func(Args) Effect {
	return func(a Args) Effect {
		var s renumberer
		isAffected := firstMatch(a.Trigger, fits)
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			s.emit(e, emit)
			if isAffected(e) {
				s.insert(e, e.Seq, emit)
			}
		}}
	}
}

// changeFirst returns a value for [Fault.NewEffect]. The effect changes the first event for which
// fits returns true, starting at the trigger: it applies change to a copy of the event and sends
// the copy instead.
func changeFirst(fits func(*spec.Event) bool, change func(*spec.Event)) func(Args) Effect {
	return func(a Args) Effect {
		isAffected := firstMatch(a.Trigger, fits)
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if isAffected(e) {
				other := *e
				change(&other)
				e = &other
			}
			emit(e)
		}}
	}
}

// mapParts returns a copy of list, a list of content parts, in which the result of change replaces
// each part, at any depth. A part for which change returns keep as false is left out. The argument
// list is not modified. If list is nil, the result is nil.
func mapParts(list []spec.Event, change func(spec.Event) (part spec.Event, keep bool)) []spec.Event {
	if list == nil {
		return nil
	}
	out := make([]spec.Event, 0, len(list))
	for _, p := range list {
		if p, keep := change(p); keep {
			p.Parts = mapParts(p.Parts, change)
			out = append(out, p)
		}
	}
	return out
}
