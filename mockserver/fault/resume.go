package fault

import "github.com/streamassay/streamassay/spec"

// ResumeLost takes a stream up one event too late.
var ResumeLost = &Fault{
	Name: "resume-lost", Doc: "a stream that is taken up again lacks the event after the cursor", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.loses-nothing"},
	NewEffect:     overrideResume(func(at, last int64) (int64, bool) { return min(at+1, last), true }),
}

// ResumeRepeated takes a stream up one event too early.
var ResumeRepeated = &Fault{
	Name: "resume-repeated", Doc: "a stream that is taken up again begins with the event of the cursor", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.excludes-cursor"},
	NewEffect:     overrideResume(func(at, _ int64) (int64, bool) { return max(at-1, 0), true }),
}

// ResumeFromStart takes no notice of the cursor.
var ResumeFromStart = &Fault{
	Name: "resume-from-start", Doc: "a stream that is taken up again begins anew, as if there were no cursor", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.starts-after-cursor", "resume.excludes-cursor"},
	NewEffect:     overrideResume(func(int64, int64) (int64, bool) { return 0, true }),
}

// ResumeExpired does not know the cursor any more.
var ResumeExpired = &Fault{
	Name: "resume-expired", Doc: "the cursor is refused, as if nobody had handed it out", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"wire.opens-stream"},
	NewEffect:     overrideResume(func(at, _ int64) (int64, bool) { return at, false }),
}

// ResumeNewer takes a stream up where it is now.
var ResumeNewer = &Fault{
	Name: "resume-newer", Doc: "a stream that is taken up again tells only what happens from now on", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.loses-nothing"},
	NewEffect:     overrideResume(func(_, last int64) (int64, bool) { return last, true }),
}

func overrideResume(f func(at, last int64) (int64, bool)) func(Args) Effect {
	return func(Args) Effect { return Effect{OnResume: f} }
}
