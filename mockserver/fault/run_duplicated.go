package fault

import "github.com/streamassay/streamassay/spec"

// DoubleStart opens a run again, in its middle.
var DoubleStart = &Fault{
	Name: "double-start", Doc: "the run is opened again after something was told of it", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunStart}, Triggers: []string{"event"},
	Checks: []string{"run.status-moves-forward"},
	NewEffect: func(a Args) Effect {
		var s renumberer
		var start *spec.Event
		isAffected := firstMatch(a.Trigger, func(e *spec.Event) bool { return start != nil && e.Kind.Subject() != "run" })
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if e.Kind == spec.RunStart {
				kept := *e
				start = &kept
			}
			s.emit(e, emit)
			if isAffected(e) {
				s.insert(start, e.Seq, emit)
			}
		}}
	},
}

// DoubleEnd tells twice how a run ended.
var DoubleEnd = &Fault{
	Name: "double-end", Doc: "the run's end is told twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunEnd},
	Checks:        []string{"run.ends-once"},
	NewEffect:     duplicateFirst(isTerminal),
}
