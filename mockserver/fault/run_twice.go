package fault

import "github.com/streamassay/streamassay/spec"

// DoubleStart opens a run again, in its middle.
var DoubleStart = &Fault{
	Name: "double-start", Doc: "the run is opened again after something was told of it", Family: Protocol,
	Needs: []spec.Kind{spec.RunStart}, Places: []string{"event"},
	Checks: []string{"run.status-moves-forward"},
	Begin: func(a Args) Effect {
		var s scribe
		var start *spec.Event
		struck := once(a.At, func(e *spec.Event) bool { return start != nil && e.Kind.Subject() != "run" })
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if e.Kind == spec.RunStart {
				kept := *e
				start = &kept
			}
			s.tell(e, tell)
			if struck(e) {
				s.more(start, e.Seq, tell)
			}
		}}
	},
}

// DoubleEnd tells twice how a run ended.
var DoubleEnd = &Fault{
	Name: "double-end", Doc: "the run's end is told twice", Family: Protocol,
	Needs:  []spec.Kind{spec.RunEnd},
	Checks: []string{"run.ends-once"},
	Begin:  twice(terminal),
}
