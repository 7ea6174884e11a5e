package fault

import "github.com/streamassay/streamassay/spec"

// StartLate tells something before the run is opened.
var StartLate = &Fault{
	Name: "start-late", Doc: "what comes after the opening of the run is told before it", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunStart},
	Checks:        []string{"run.opens-first", "run.comes-first"},
	NewEffect: func(Args) Effect {
		var held []spec.Event
		first, told := "", false
		release := func(e *spec.Event, emit func(*spec.Event)) {
			told = true
			early := *e
			if first != "" {
				early.Seq = first
			}
			if !isTerminal(e) { // a run of nothing is told as it is
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
			case told:
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

// EventAfterEnd tells something after the end.
var EventAfterEnd = &Fault{
	Name: "event-after-end", Doc: "after the end the last piece of a text, or else the last event, is told again", Category: CategoryProtocol,
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
