package fault

import "github.com/streamassay/streamassay/spec"

// StartLate tells something before the run is opened.
var StartLate = &Fault{
	Name: "start-late", Doc: "what comes after the opening of the run is told before it", Family: Protocol,
	Needs:  []spec.Kind{spec.RunStart},
	Checks: []string{"run.opens-first", "run.comes-first"},
	Begin: func(Args) Effect {
		var held []spec.Event
		first, told := "", false
		release := func(e *spec.Event, tell func(*spec.Event)) {
			told = true
			early := *e
			if first != "" {
				early.Seq = first
			}
			if !terminal(e) { // a run of nothing is told as it is
				tell(&early)
			}
			for i := range held {
				if !terminal(e) && held[i].Seq != "" {
					held[i].Seq = add(held[i].Seq, 1)
				}
				tell(&held[i])
			}
			if terminal(e) {
				tell(e)
			}
			held = nil
		}
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			switch {
			case told:
				tell(e)
			case e.Kind.Subject() == "run" && !terminal(e):
				if held == nil {
					first = e.Seq
				}
				held = append(held, *e)
			default:
				release(e, tell)
			}
		}}
	},
}

// EventAfterEnd tells something after the end.
var EventAfterEnd = &Fault{
	Name: "event-after-end", Doc: "after the end the last piece of a text, or else the last event, is told again", Family: Protocol,
	Checks: []string{"run.end-is-last", "done.is-last"},
	Begin: func(Args) Effect {
		var last, piece *spec.Event
		seq := ""
		return Effect{
			Event: func(e *spec.Event, tell func(*spec.Event)) {
				if e.Seq != "" {
					seq = e.Seq
				}
				if !final(e) {
					kept := *e
					if last = &kept; isDelta(e) {
						piece = &kept
					}
				}
				tell(e)
			},
			End: func(tell func(*spec.Event)) {
				if piece != nil {
					last = piece
				}
				if last != nil {
					var s scribe
					s.more(last, seq, tell)
				}
			},
		}
	},
}
