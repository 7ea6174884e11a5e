package fault

import (
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// firstMatch returns a function that must be called with each event of a run, in order. It reports
// true once: for the first event at or after the trigger for which fits returns true.
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

// everyMatch returns a function that must be called with each event of a run, in order. It reports
// true for each event at or after the trigger for which fits returns true.
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

// A renumberer keeps the sequence numbers of a run consecutive when a fault drops or inserts
// events. Without it, such a fault would also break the numbers, and the checks of numbers would
// find it instead of the checks that it is meant for.
type renumberer struct{ shift int64 }

// emit passes e to the function emit, with its sequence number adjusted for the events that were
// dropped or inserted before.
func (s *renumberer) emit(e *spec.Event, emit func(*spec.Event)) {
	if s.shift == 0 || e.Seq == "" {
		emit(e)
		return
	}
	moved := *e
	moved.Seq = addToNumber(e.Seq, s.shift)
	emit(&moved)
}

// insert passes a copy of e to emit as an additional event. Its sequence number follows after,
// which is the original number of the event before it. The numbers of later events move up by one.
func (s *renumberer) insert(e *spec.Event, after string, emit func(*spec.Event)) {
	extra := *e
	if e.Seq != "" {
		s.shift++
		extra.Seq = addToNumber(after, s.shift)
	}
	emit(&extra)
}

// drop records that e is not sent: the sequence numbers of later events move down by one. It has
// no effect if e has no number.
func (s *renumberer) drop(e *spec.Event) {
	if e.Seq != "" {
		s.shift--
	}
}

// addToNumber returns the sum of a decimal number and n as text. It returns number unchanged if it
// is not an integer.
func addToNumber(number string, n int64) string {
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	return strconv.FormatInt(at+n, 10)
}

// dropFirst returns a value for [Fault.NewEffect]: the effect drops the first event at or after
// the trigger for which fits returns true.
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

// duplicateFirst returns a value for [Fault.NewEffect]: the effect sends the first event at or
// after the trigger for which fits returns true twice, the copy with the next sequence number.
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

// changeFirst returns a value for [Fault.NewEffect]: the effect applies change to a copy of the
// first event at or after the trigger for which fits returns true, and sends the copy instead.
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

// mapParts returns a copy of a list of content parts in which each part, at any depth, is replaced
// by the result of change. If keep is false, the part is left out. The list itself is not
// modified; the result is nil if list is.
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
