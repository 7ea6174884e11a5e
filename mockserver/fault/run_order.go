package fault

import "github.com/streamassay/streamassay/spec"

// StartLate is the fault that sends the first event of a run's content, such as the start of a
// message, before the start event of the run.
var StartLate = &Fault{
	Name: "start-late", Doc: "the event after the start of the run is sent before it", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunStart},
	Checks:        []string{"run.opens-first", "run.comes-first"},
	NewEffect: func(Args) Effect {
		var held []spec.Event
		first, released := "", false
		release := func(e *spec.Event, emit func(*spec.Event)) {
			released = true
			early := *e
			if first != "" {
				early.Seq = first
			}
			if !isTerminal(e) { // a run without content stays as it is
				emit(&early)
			}
			for i := range held {
				if !isTerminal(e) && held[i].Seq != "" {
					held[i].Seq = addToNumber(held[i].Seq, 1)
				}
				emit(&held[i])
			}
			if isTerminal(e) {
				emit(e)
			}
			held = nil
		}
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			switch {
			case released:
				emit(e)
			case e.Kind.Subject() == "run" && !isTerminal(e):
				if held == nil {
					first = e.Seq
				}
				held = append(held, *e)
			default:
				release(e, emit)
			}
		}}
	},
}

// EventAfterEnd is the fault that repeats an earlier event after the last event of the stream: the
// last text delta or, if the run has none, the last event before the end.
var EventAfterEnd = &Fault{
	Name: "event-after-end", Doc: "after the end of the stream its last text delta, or else its last event, is repeated", Category: CategoryProtocol,
	Checks: []string{"run.end-is-last", "done.is-last"},
	NewEffect: func(Args) Effect {
		var last, piece *spec.Event
		seq := ""
		return Effect{
			OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
				if e.Seq != "" {
					seq = e.Seq
				}
				if !isFinal(e) {
					kept := *e
					if last = &kept; isDelta(e) {
						piece = &kept
					}
				}
				emit(e)
			},
			OnEnd: func(emit func(*spec.Event)) {
				if piece != nil {
					last = piece
				}
				if last != nil {
					var s renumberer
					s.insert(last, seq, emit)
				}
			},
		}
	},
}
