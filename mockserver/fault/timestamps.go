package fault

import "github.com/streamassay/streamassay/spec"

// CreatedChanges tells another time at which the run began.
var CreatedChanges = &Fault{
	Name: "created-changes", Doc: "the time at which the run began is another at its end", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{"slot.created"},
	Checks:        []string{"run.created-is-stable"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return isTerminal(e) && e.Created != "" }, func(e *spec.Event) {
		e.Created = addToNumber(e.Created, -1)
	}),
}

// CompletedEarly ends a run before it began.
var CompletedEarly = &Fault{
	Name: "completed-early", Doc: "the time at which the run ended lies before the one at which it began", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{"slot.created", "slot.completed"},
	Checks:        []string{"run.completed-after-created"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Kind == spec.RunEnd && e.Completed != "" }, func(e *spec.Event) {
		if e.Created != "" {
			e.Completed = e.Created
		}
		e.Completed = addToNumber(e.Completed, -100)
	}),
}
