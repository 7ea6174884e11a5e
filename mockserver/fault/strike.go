package fault

import (
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// once says of each event of a run in turn whether a fault strikes there: at the first
// that fits, from its place on.
func once(at Place, fits func(*spec.Event) bool) func(*spec.Event) bool {
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

// every is like once, for a fault that strikes all that fits, from its place on.
func every(at Place, fits func(*spec.Event) bool) func(*spec.Event) bool {
	n := -1
	return func(e *spec.Event) bool {
		n++
		return n >= at.Event && fits(e)
	}
}

// Of says whether an event is of one of some kinds.
func Of(kinds ...spec.Kind) func(*spec.Event) bool {
	return func(e *spec.Event) bool { return slices.Contains(kinds, e.Kind) }
}

// terminal says that an event ends its run.
func terminal(e *spec.Event) bool { return e.Kind == spec.RunEnd || e.Kind == spec.RunError }

// final says that nothing may come after an event.
func final(e *spec.Event) bool { return terminal(e) || e.Kind == spec.Done }

// isDelta says that an event is a piece of a text.
func isDelta(e *spec.Event) bool {
	return e.Kind == spec.MessageDelta || e.Kind == spec.ReasoningDelta
}

// A scribe tells the events of a run, and keeps their numbers in order where a fault
// leaves events out or adds some: a fault that is not about numbers shows in none.
type scribe struct{ shift int64 }

// tell tells an event that the run has.
func (s *scribe) tell(e *spec.Event, tell func(*spec.Event)) {
	if s.shift == 0 || e.Seq == "" {
		tell(e)
		return
	}
	moved := *e
	moved.Seq = add(e.Seq, s.shift)
	tell(&moved)
}

// more tells an event that the run does not have, before what comes next. Its number is
// that of the event after which it comes.
func (s *scribe) more(e *spec.Event, after string, tell func(*spec.Event)) {
	extra := *e
	if e.Seq != "" {
		s.shift++
		extra.Seq = add(after, s.shift)
	}
	tell(&extra)
}

// less leaves an event out.
func (s *scribe) less(e *spec.Event) {
	if e.Seq != "" {
		s.shift--
	}
}

// add is a number that stands in a slot, and n.
func add(number string, n int64) string {
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	return strconv.FormatInt(at+n, 10)
}

// missing is a fault that leaves out the first event that fits.
func missing(fits func(*spec.Event) bool) func(Args) Effect {
	return func(a Args) Effect { return leaving(once(a.At, fits)) }
}

// leaving leaves out the events that are struck.
func leaving(struck func(*spec.Event) bool) Effect {
	var s scribe
	return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
		if struck(e) {
			s.less(e)
			return
		}
		s.tell(e, tell)
	}}
}

// twice is a fault that tells the first event that fits again, as one more event.
func twice(fits func(*spec.Event) bool) func(Args) Effect {
	return func(a Args) Effect {
		var s scribe
		struck := once(a.At, fits)
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			s.tell(e, tell)
			if struck(e) {
				s.more(e, e.Seq, tell)
			}
		}}
	}
}

// changed is a fault that changes the first event that fits.
func changed(fits func(*spec.Event) bool, change func(*spec.Event)) func(Args) Effect {
	return func(a Args) Effect {
		struck := once(a.At, fits)
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if struck(e) {
				other := *e
				change(&other)
				e = &other
			}
			tell(e)
		}}
	}
}

// parts changes the parts of an event, and theirs, without touching the event's own.
func parts(list []spec.Event, change func(spec.Event) (part spec.Event, keep bool)) []spec.Event {
	if list == nil {
		return nil
	}
	out := make([]spec.Event, 0, len(list))
	for _, p := range list {
		if p, keep := change(p); keep {
			p.Parts = parts(p.Parts, change)
			out = append(out, p)
		}
	}
	return out
}
