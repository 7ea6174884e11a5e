package fault

import "github.com/streamassay/streamassay/spec"

// DoubleStart is the fault that sends the start event of a run again, after the first event of its
// content, such as the start of a message.
var DoubleStart = &Fault{
	Name: "double-start", Doc: "the start event of the run is repeated after its first content", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunStart}, Triggers: []string{"event"},
	Checks: []string{"run.status-moves-forward"},
	NewEffect: func(a Args) Effect {
		var s renumberer
		var start *spec.Event
		isAffected := firstMatch(a.Trigger, func(e *spec.Event) bool {
			return start != nil && e.Kind.Subject() != "run"
		})
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

// DoubleEnd is the fault that sends the terminal event of a run twice.
var DoubleEnd = &Fault{
	Name: "double-end", Doc: "the terminal event of the run is sent twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunEnd},
	Checks:        []string{"run.ends-once"},
	NewEffect:     duplicateFirst(isTerminal),
}
