package mutant

import (
	"strconv"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// A play is a fault that changes the events of every run.
type play = func(fault.Args) fault.Effect

// retold is a play that tells, for each event of a run, what it likes. The numbers of what
// is told are in order all the same: a fault that is not about numbers shows in none.
func retold(begin func() func(e *spec.Event, tell func(*spec.Event))) play {
	return func(fault.Args) fault.Effect {
		var seen []string // the numbers that the run has
		n, last := 0, ""
		hear := begin()
		return fault.Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			seen = append(seen, e.Seq)
			hear(e, func(told *spec.Event) {
				other := *told
				if n < len(seen) {
					last = seen[n]
				} else if at, err := strconv.ParseInt(last, 10, 64); err == nil {
					last = strconv.FormatInt(at+1, 10)
				}
				n++
				other.Seq = last
				tell(&other)
			})
		}}
	}
}

// dropping leaves out what fits.
func dropping(fits func(*spec.Event) bool) play {
	return retold(func() func(e *spec.Event, tell func(*spec.Event)) {
		return func(e *spec.Event, tell func(*spec.Event)) {
			if !fits(e) {
				tell(e)
			}
		}
	})
}

// adding tells more after what fits.
func adding(fits func(*spec.Event) bool, more func(e *spec.Event) []spec.Event) play {
	return retold(func() func(e *spec.Event, tell func(*spec.Event)) {
		return func(e *spec.Event, tell func(*spec.Event)) {
			tell(e)
			if fits(e) {
				all := more(e)
				for i := range all {
					tell(&all[i])
				}
			}
		}
	})
}

// swapping tells what fits after the event that follows it. An event that ends the run
// lets nothing wait.
func swapping(fits func(*spec.Event) bool) play {
	return retold(func() func(e *spec.Event, tell func(*spec.Event)) {
		var held *spec.Event
		return func(e *spec.Event, tell func(*spec.Event)) {
			switch {
			case held == nil && fits(e) && !terminal(e):
				kept := *e
				held = &kept
				return
			case held != nil && terminal(e):
				tell(held)
				tell(e)
			case held != nil:
				tell(e)
				tell(held)
			default:
				tell(e)
			}
			held = nil
		}
	})
}

// once strikes the first event of each run that fits.
func once(fits func(*spec.Event) bool, begin func(fits func(*spec.Event) bool) play) play {
	return func(a fault.Args) fault.Effect {
		done := false
		return begin(func(e *spec.Event) bool {
			if done || !fits(e) {
				return false
			}
			done = true
			return true
		})(a)
	}
}

// terminal says that nothing may come after an event.
func terminal(e *spec.Event) bool {
	return e.Kind == spec.RunEnd || e.Kind == spec.RunError || e.Kind == spec.Done
}

// changed is an event with another look.
func changed(e *spec.Event, change func(*spec.Event)) spec.Event {
	other := *e
	change(&other)
	return other
}

// within changes an event and all that stands in it, without touching the event's own.
func within(e *spec.Event, change func(*spec.Event)) {
	change(e)
	if e.Parts == nil {
		return
	}
	parts := make([]spec.Event, len(e.Parts))
	copy(parts, e.Parts)
	for i := range parts {
		within(&parts[i], change)
	}
	e.Parts = parts
}

// add is a number that stands in an event, and n.
func add(number string, n int64) string {
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	return strconv.FormatInt(at+n, 10)
}
