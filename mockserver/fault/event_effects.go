package fault

import (
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// firstMatch says of each event of a run in turn whether a fault strikes there: at the first
// that fits, from its place on.
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

// everyMatch is like once, for a fault that strikes all that fits, from its place on.
func everyMatch(at Trigger, fits func(*spec.Event) bool) func(*spec.Event) bool {
	n := -1
	return func(e *spec.Event) bool {
		n++
		return n >= at.Event && fits(e)
	}
}

// OfKind says whether an event is of one of some kinds.
func OfKind(kinds ...spec.Kind) func(*spec.Event) bool {
	return func(e *spec.Event) bool { return slices.Contains(kinds, e.Kind) }
}

// isTerminal says that an event ends its run.
func isTerminal(e *spec.Event) bool { return e.Kind == spec.RunEnd || e.Kind == spec.RunError }

// isFinal says that nothing may come after an event.
func isFinal(e *spec.Event) bool { return isTerminal(e) || e.Kind == spec.Done }

// isDelta says that an event is a piece of a text.
func isDelta(e *spec.Event) bool {
	return e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta
}

// A renumberer tells the events of a run, and keeps their numbers in order where a fault
// leaves events out or adds some: a fault that is not about numbers shows in none.
type renumberer struct{ shift int64 }

// emit tells an event that the run has.
func (s *renumberer) emit(e *spec.Event, emit func(*spec.Event)) {
	if s.shift == 0 || e.Seq == "" {
		emit(e)
		return
	}
	moved := *e
	moved.Seq = addToNumber(e.Seq, s.shift)
	emit(&moved)
}

// insert tells an event that the run does not have, before what comes next. Its number is
// that of the event after which it comes.
func (s *renumberer) insert(e *spec.Event, after string, emit func(*spec.Event)) {
	extra := *e
	if e.Seq != "" {
		s.shift++
		extra.Seq = addToNumber(after, s.shift)
	}
	emit(&extra)
}

// drop leaves an event out.
func (s *renumberer) drop(e *spec.Event) {
	if e.Seq != "" {
		s.shift--
	}
}

// addToNumber is a number that stands in a slot, and n.
func addToNumber(number string, n int64) string {
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	return strconv.FormatInt(at+n, 10)
}

// dropFirst is a fault that leaves out the first event that fits.
func dropFirst(fits func(*spec.Event) bool) func(Args) Effect {
	return func(a Args) Effect { return dropEvents(firstMatch(a.Trigger, fits)) }
}

// dropEvents leaves out the events that are struck.
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

// duplicateFirst is a fault that tells the first event that fits again, as one more event.
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

// changeFirst is a fault that changes the first event that fits.
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

// mapParts changes the parts of an event, and theirs, without touching the event's own.
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
