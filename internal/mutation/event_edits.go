package mutation

import (
	"strconv"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// A newEffect returns the effect of a fault on one response.
type newEffect = func(fault.Args) fault.Effect

// editEvents returns a fault that replaces each event of a run with the events that an edit emits for
// it. It calls begin once per response to get the edit. The emitted events are numbered like the
// original ones, so that the sequence numbers stay correct whatever the edit does.
func editEvents(begin func() func(e *spec.Event, emit func(*spec.Event))) newEffect {
	return func(fault.Args) fault.Effect {
		var seen []string // the sequence numbers of the run so far
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

// dropEvents returns a fault that omits the events for which fits returns true.
func dropEvents(fits func(*spec.Event) bool) newEffect {
	return editEvents(func() func(e *spec.Event, emit func(*spec.Event)) {
		return func(e *spec.Event, emit func(*spec.Event)) {
			if !fits(e) {
				emit(e)
			}
		}
	})
}

// insertAfter returns a fault that inserts the events more(e) after each event e for which fits
// returns true.
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

// swapEvents returns a fault that exchanges each event for which fits returns true with the next
// event of the run. If that next event is the terminal one, the two keep their order.
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

// firstOnly returns a fault that begin creates and that affects only one event of each run: the
// first for which fits returns true.
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

// isTerminal reports whether e ends its run or its stream: whether it is a terminal event or the
// sentinel.
func isTerminal(e *spec.Event) bool {
	return e.Kind == spec.RunEnd || e.Kind == spec.RunError || e.Kind == spec.Done
}

// withChange returns a copy of e to which change was applied. It does not modify e.
func withChange(e *spec.Event, change func(*spec.Event)) spec.Event {
	other := *e
	change(&other)
	return other
}

// changeNested applies change to e and to all its parts, at any depth. It copies the list of parts
// first, so that other events with the same list are not affected.
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

// addToNumber returns the sum of n and the integer in the string number, in decimal. If number is
// not an integer, it is returned unchanged.
func addToNumber(number string, n int64) string {
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	return strconv.FormatInt(at+n, 10)
}
