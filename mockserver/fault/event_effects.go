package fault

import (
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// firstMatch returns a function that is called with each event of a run and reports whether
// a fault affects it: the first event from the trigger on for which fits returns true.
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

// everyMatch is like firstMatch for a fault that affects every matching event.
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

// isDelta reports whether e is a delta of a message or a reasoning.
func isDelta(e *spec.Event) bool {
	return e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta
}

// A renumberer keeps the sequence numbers of a run consecutive when a fault drops or
// inserts events, so that faults not concerned with numbers do not affect them.
type renumberer struct{ shift int64 }

// emit emits an event of the run.
func (s *renumberer) emit(e *spec.Event, emit func(*spec.Event)) {
	if s.shift == 0 || e.Seq == "" {
		emit(e)
		return
	}
	moved := *e
	moved.Seq = addToNumber(e.Seq, s.shift)
	emit(&moved)
}

// insert emits an additional event with the number that follows after, the original number
// of the preceding event.
func (s *renumberer) insert(e *spec.Event, after string, emit func(*spec.Event)) {
	extra := *e
	if e.Seq != "" {
		s.shift++
		extra.Seq = addToNumber(after, s.shift)
	}
	emit(&extra)
}

// drop adjusts the numbers of later events for an event that is not emitted.
func (s *renumberer) drop(e *spec.Event) {
	if e.Seq != "" {
		s.shift--
	}
}

// addToNumber returns the decimal number plus n, or number itself if it does not parse.
func addToNumber(number string, n int64) string {
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	return strconv.FormatInt(at+n, 10)
}

// dropFirst returns an effect constructor for a fault that drops the first matching event.
func dropFirst(fits func(*spec.Event) bool) func(Args) Effect {
	return func(a Args) Effect { return dropEvents(firstMatch(a.Trigger, fits)) }
}

// dropEvents returns an effect that drops the affected events.
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

// duplicateFirst returns an effect constructor for a fault that repeats the first matching
// event with the next sequence number.
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

// changeFirst returns an effect constructor for a fault that changes the first matching
// event.
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

// mapParts returns a copy of list to which change was applied recursively. Parts for which
// change reports false are left out. The original is not modified.
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
