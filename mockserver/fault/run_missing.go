package fault

import "github.com/streamassay/streamassay/spec"

// FirstMissing leaves out how a run starts.
var FirstMissing = &Fault{
	Name: "first-missing", Doc: "the event that opens the run is not told", Family: Protocol,
	Needs:  []spec.Kind{spec.RunStart},
	Checks: []string{"run.opens-first"},
	Begin: func(a Args) Effect {
		return leaving(every(a.At, Of(spec.RunStart)))
	},
}

// ProgressMissing leaves out that a run is under way.
var ProgressMissing = &Fault{
	Name: "progress-missing", Doc: "the run is not said to be under way", Family: Protocol,
	Needs:  []spec.Kind{spec.RunStart, spec.RunProgress},
	Checks: []string{"run.progress-precedes-content"},
	Begin:  func(a Args) Effect { return leaving(every(a.At, Of(spec.RunProgress))) },
}

// EndMissing leaves out how a run ends.
var EndMissing = &Fault{
	Name: "end-missing", Doc: "the run's end, or its failure, is not told", Family: Protocol,
	Needs:  []spec.Kind{spec.RunEnd},
	Checks: []string{"run.ends"},
	Begin:  func(a Args) Effect { return leaving(every(a.At, terminal)) },
}

// FailureMissing leaves out that a run failed: the stream ends as a good one may.
var FailureMissing = &Fault{
	Name: "failure-missing", Doc: "a run that fails does not say so", Family: Protocol,
	Needs:  []spec.Kind{spec.RunError},
	Checks: []string{"error.visible", "run.ends"},
	Begin:  func(a Args) Effect { return leaving(every(a.At, Of(spec.RunError))) },
}
