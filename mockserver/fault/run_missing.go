package fault

import "github.com/streamassay/streamassay/spec"

// FirstMissing is the fault that omits the start event of a run.
var FirstMissing = &Fault{
	Name: "first-missing", Doc: "the start event of the run is missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunStart},
	Checks:        []string{"run.opens-first"},
	NewEffect: func(a Args) Effect {
		return dropEvents(everyMatch(a.Trigger, OfKind(spec.RunStart)))
	},
}

// ProgressMissing is the fault that omits the event that reports the run as in progress.
var ProgressMissing = &Fault{
	Name: "progress-missing", Doc: "the event that reports the run as in progress is missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunStart, spec.RunProgress},
	Checks:        []string{"run.progress-precedes-content"},
	NewEffect:     func(a Args) Effect { return dropEvents(everyMatch(a.Trigger, OfKind(spec.RunProgress))) },
}

// EndMissing is the fault that omits the terminal event of a run, so that the stream ends without
// it.
var EndMissing = &Fault{
	Name: "end-missing", Doc: "the terminal event of the run is missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunEnd},
	Checks:        []string{"run.ends"},
	NewEffect:     func(a Args) Effect { return dropEvents(everyMatch(a.Trigger, isTerminal)) },
}

// FailureMissing is the fault that omits the error event of a failed run, so that its stream ends
// without a terminal event.
var FailureMissing = &Fault{
	Name: "failure-missing", Doc: "the error event of a failed run is missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunError},
	Checks:        []string{"error.visible", "run.ends"},
	NewEffect:     func(a Args) Effect { return dropEvents(everyMatch(a.Trigger, OfKind(spec.RunError))) },
}
