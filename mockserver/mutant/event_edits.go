package mutant

import (
	"strconv"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// A newEffect is a fault that changes the events of every run.
type newEffect = func(fault.Args) fault.Effect

// editEvents is a play that tells, for each event of a run, what it likes. The numbers of what
// is told are in order all the same: a fault that is not about numbers shows in none.
func editEvents(begin func() func(e *spec.Event, emit func(*spec.Event))) newEffect {
	return func(fault.Args) fault.Effect {
		var seen []string // the numbers that the run has
		n, last := 0, ""
		edit := begin()
		return fault.Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			seen = append(seen, e.Seq)
			edit(e, func(told *spec.Event) {
				other := *told
				if n < len(seen) {
					last = seen[n]
				} else if at, err := strconv.ParseInt(last, 10, 64); err == nil {
					last = strconv.FormatInt(at+1, 10)
				}
				n++
				other.Seq = last
				emit(&other)
			})
		}}
	}
}

// dropEvents leaves out what fits.
func dropEvents(fits func(*spec.Event) bool) newEffect {
	return editEvents(func() func(e *spec.Event, emit func(*spec.Event)) {
		return func(e *spec.Event, emit func(*spec.Event)) {
			if !fits(e) {
				emit(e)
			}
		}
	})
}

// insertAfter tells more after what fits.
func insertAfter(fits func(*spec.Event) bool, more func(e *spec.Event) []spec.Event) newEffect {
	return editEvents(func() func(e *spec.Event, emit func(*spec.Event)) {
		return func(e *spec.Event, emit func(*spec.Event)) {
			emit(e)
			if fits(e) {
				all := more(e)
				for i := range all {
					emit(&all[i])
				}
			}
		}
	})
}

// swapEvents tells what fits after the event that follows it. An event that ends the run
// lets nothing wait.
func swapEvents(fits func(*spec.Event) bool) newEffect {
	return editEvents(func() func(e *spec.Event, emit func(*spec.Event)) {
		var held *spec.Event
		return func(e *spec.Event, emit func(*spec.Event)) {
			switch {
			case held == nil && fits(e) && !isTerminal(e):
				kept := *e
				held = &kept
				return
			case held != nil && isTerminal(e):
				emit(held)
				emit(e)
			case held != nil:
				emit(e)
				emit(held)
			default:
				emit(e)
			}
			held = nil
		}
	})
}

// firstOnly strikes the first event of each run that fits.
func firstOnly(fits func(*spec.Event) bool, begin func(fits func(*spec.Event) bool) newEffect) newEffect {
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

// isTerminal says that nothing may come after an event.
func isTerminal(e *spec.Event) bool {
	return e.Kind == spec.RunEnd || e.Kind == spec.RunError || e.Kind == spec.Done
}

// withChange is an event with another look.
func withChange(e *spec.Event, change func(*spec.Event)) spec.Event {
	other := *e
	change(&other)
	return other
}

// changeNested changes an event and all that stands in it, without touching the event's own.
func changeNested(e *spec.Event, change func(*spec.Event)) {
	change(e)
	if e.Parts == nil {
		return
	}
	parts := make([]spec.Event, len(e.Parts))
	copy(parts, e.Parts)
	for i := range parts {
		changeNested(&parts[i], change)
	}
	e.Parts = parts
}

// addToNumber is a number that stands in an event, and n.
func addToNumber(number string, n int64) string {
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	return strconv.FormatInt(at+n, 10)
}
