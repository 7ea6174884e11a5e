package mutation

import (
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// An effectFactory creates the effect of a fault; it is a value for the field NewEffect of
// [fault.Fault]. It is called once per response and returns what the fault does to that response.
type effectFactory = func(fault.Args) fault.Effect

// An eventEdit calls emit with each event that is to be sent in place of the event e of a run, if
// any. It must not modify e or keep it after the call.
type eventEdit = func(e *spec.Event, emit func(*spec.Event))

// editEvents returns the effectFactory of a fault that replaces the events of runs. For each
// response, the fault calls begin once. It then calls the eventEdit that begin returned with one
// event of the run after the other.
//
// The emitted events get new sequence numbers, so that dropped or inserted events cause neither
// gaps nor duplicates in the numbers.
func editEvents(begin func() eventEdit) effectFactory {
	return func(fault.Args) fault.Effect {
		// Emitted event i gets the number of event i of the run or, before that event is known, the
		// number after that of emitted event i-1.
		var seen []string // the sequence numbers of the run so far
		n, last := 0, ""
		edit := begin()
		return fault.Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			seen = append(seen, e.Seq)
			edit(e, func(edited *spec.Event) {
				if n < len(seen) {
					last = seen[n]
				} else {
					last = addToNumber(last, 1)
				}
				n++
				emit(withChange(edited, func(o *spec.Event) { o.Seq = last }))
			})
		}}
	}
}

// dropEvents returns the effectFactory of a fault that drops those events of a run for which fits
// returns true.
func dropEvents(fits func(*spec.Event) bool) effectFactory {
	return editEvents(func() eventEdit {
		return func(e *spec.Event, emit func(*spec.Event)) {
			if !fits(e) {
				emit(e)
			}
		}
	})
}

// insertAfter returns the effectFactory of a fault that inserts events after each event e of a run
// for which fits(e) returns true. The inserted events are those that more(e) returns.
func insertAfter(fits func(*spec.Event) bool, more func(e *spec.Event) []*spec.Event) effectFactory {
	return editEvents(func() eventEdit {
		return func(e *spec.Event, emit func(*spec.Event)) {
			emit(e)
			if fits(e) {
				for _, o := range more(e) {
					emit(o)
				}
			}
		}
	})
}

// swapEvents returns the effectFactory of a fault that swaps each event for which fits returns true
// with the next event of the run. Terminal events keep their places. The function fits is not
// called with the second event of a swapped pair.
func swapEvents(fits func(*spec.Event) bool) effectFactory {
	return editEvents(func() eventEdit {
		var held *spec.Event
		return func(e *spec.Event, emit func(*spec.Event)) {
			switch {
			case held == nil && fits(e) && !isTerminal(e):
				held = new(*e)
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

// firstOnly returns the effectFactory of a fault that affects, in each response, only the first
// event for which fits returns true. The argument begin is a function such as swapEvents: begin(f)
// returns the effectFactory of a fault that affects every event for which f returns true.
func firstOnly(fits func(*spec.Event) bool, begin func(fits func(*spec.Event) bool) effectFactory) effectFactory {
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

// isTerminal reports whether e ends its run or its stream. That is the case for run.end and
// run.error events and for a terminator in the stream, such as [DONE].
func isTerminal(e *spec.Event) bool {
	return e.Kind == spec.RunEnd || e.Kind == spec.RunError || e.Kind == spec.Done
}

// withChange returns a copy of e that change has modified. The copy shares its Parts with e, so
// change must not modify the elements of Parts.
func withChange(e *spec.Event, change func(*spec.Event)) *spec.Event {
	other := *e
	change(&other)
	return &other
}

// changeNested calls change with e and with a copy of each part of e, at any depth. The function
// change modifies its argument. The changed copies replace the parts in e.Parts, which becomes a
// new slice, so that other events that share the parts of e are not affected.
func changeNested(e *spec.Event, change func(*spec.Event)) {
	change(e)
	e.Parts = slices.Clone(e.Parts)
	for i := range e.Parts {
		changeNested(&e.Parts[i], change)
	}
}

// addToNumber adds n to number, a decimal integer such as a sequence number, and returns the sum.
// If number is not an integer, it is returned unchanged.
func addToNumber(number string, n int64) string {
	at, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return number
	}
	return strconv.FormatInt(at+n, 10)
}
