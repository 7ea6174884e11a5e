package fault

import "github.com/streamassay/streamassay/spec"

// FirstMissing leaves out how a run starts.
var FirstMissing = &Fault{
	Name: "first-missing", Doc: "the event that opens the run is not told", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunStart},
	Checks:        []string{"run.opens-first"},
	NewEffect: func(a Args) Effect {
		return dropEvents(everyMatch(a.Trigger, OfKind(spec.RunStart)))
	},
}

// ProgressMissing leaves out that a run is under way.
var ProgressMissing = &Fault{
	Name: "progress-missing", Doc: "the run is not said to be under way", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunStart, spec.RunProgress},
	Checks:        []string{"run.progress-precedes-content"},
	NewEffect:     func(a Args) Effect { return dropEvents(everyMatch(a.Trigger, OfKind(spec.RunProgress))) },
}

// EndMissing leaves out how a run ends.
var EndMissing = &Fault{
	Name: "end-missing", Doc: "the run's end, or its failure, is not told", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunEnd},
	Checks:        []string{"run.ends"},
	NewEffect:     func(a Args) Effect { return dropEvents(everyMatch(a.Trigger, isTerminal)) },
}

// FailureMissing leaves out that a run failed: the stream ends as a good one may.
var FailureMissing = &Fault{
	Name: "failure-missing", Doc: "a run that fails does not say so", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunError},
	Checks:        []string{"error.visible", "run.ends"},
	NewEffect:     func(a Args) Effect { return dropEvents(everyMatch(a.Trigger, OfKind(spec.RunError))) },
}
