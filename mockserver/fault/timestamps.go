package fault

import "github.com/streamassay/streamassay/spec"

// CreatedChanges is the fault that changes the creation time of a run in its terminal event, so
// that it differs from the creation time in earlier events.
var CreatedChanges = &Fault{
	Name: "created-changes", Doc: "the creation time of the run differs in its terminal event", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{"slot.created"},
	Checks:        []string{"run.created-is-stable"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return isTerminal(e) && e.Created != "" }, func(e *spec.Event) {
		e.Created = addToNumber(e.Created, -1)
	}),
}

// CompletedEarly is the fault that sets the completion time of a run to a time before the creation
// of the run.
var CompletedEarly = &Fault{
	Name: "completed-early", Doc: "the completion time of the run is before its creation time", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{"slot.created", "slot.completed"},
	Checks:        []string{"run.completed-after-created"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Kind == spec.RunEnd && e.Completed != "" }, func(e *spec.Event) {
		if e.Created != "" {
			e.Completed = e.Created
		}
		e.Completed = addToNumber(e.Completed, -100)
	}),
}
