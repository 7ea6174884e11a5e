package fault

import "github.com/streamassay/streamassay/spec"

// ResumeLost resumes a stream one event too late.
var ResumeLost = &Fault{
	Name: "resume-lost", Doc: "a resumed stream lacks the event after the cursor", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.loses-nothing"},
	NewEffect:     overrideResume(func(at, last int64) (int64, bool) { return min(at+1, last), true }),
}

// ResumeRepeated resumes a stream one event too early.
var ResumeRepeated = &Fault{
	Name: "resume-repeated", Doc: "a resumed stream begins with the event of the cursor", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.excludes-cursor"},
	NewEffect:     overrideResume(func(at, _ int64) (int64, bool) { return max(at-1, 0), true }),
}

// ResumeFromStart ignores the cursor.
var ResumeFromStart = &Fault{
	Name: "resume-from-start", Doc: "a resumed stream begins with the first event, as if there were no cursor", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.starts-after-cursor", "resume.excludes-cursor"},
	NewEffect:     overrideResume(func(int64, int64) (int64, bool) { return 0, true }),
}

// ResumeExpired refuses the cursor.
var ResumeExpired = &Fault{
	Name: "resume-expired", Doc: "the cursor is refused as unknown", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"wire.opens-stream"},
	NewEffect:     overrideResume(func(at, _ int64) (int64, bool) { return at, false }),
}

// ResumeNewer resumes a stream after its latest event.
var ResumeNewer = &Fault{
	Name: "resume-newer", Doc: "a resumed stream contains only events that occur after the request", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.loses-nothing"},
	NewEffect:     overrideResume(func(_, last int64) (int64, bool) { return last, true }),
}

// overrideResume returns an effect constructor for a fault that changes the position from
// which a stream is resumed.
func overrideResume(f func(at, last int64) (int64, bool)) func(Args) Effect {
	return func(Args) Effect { return Effect{OnResume: f} }
}
