package fault

import "github.com/streamassay/streamassay/spec"

// ResumeLost is the fault that omits the first event after the cursor when a stream is resumed.
var ResumeLost = &Fault{
	Name: "resume-lost", Doc: "a resumed stream lacks the event after the cursor", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.loses-nothing"},
	NewEffect:     overrideResume(func(at, last int64) (int64, bool) { return min(at+1, last), true }),
}

// ResumeRepeated is the fault that repeats the event of the cursor, which the client has already
// received, when a stream is resumed.
var ResumeRepeated = &Fault{
	Name: "resume-repeated", Doc: "a resumed stream begins with the event of the cursor", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.excludes-cursor"},
	NewEffect:     overrideResume(func(at, _ int64) (int64, bool) { return max(at-1, 0), true }),
}

// ResumeFromStart is the fault that ignores the cursor and sends a resumed stream from its first
// event.
var ResumeFromStart = &Fault{
	Name: "resume-from-start", Doc: "a resumed stream begins with the first event, as if there were no cursor", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.starts-after-cursor", "resume.excludes-cursor"},
	NewEffect:     overrideResume(func(int64, int64) (int64, bool) { return 0, true }),
}

// ResumeExpired is the fault that refuses a valid cursor as unknown.
var ResumeExpired = &Fault{
	Name: "resume-expired", Doc: "the cursor is refused as unknown", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"wire.opens-stream"},
	NewEffect:     overrideResume(func(at, _ int64) (int64, bool) { return at, false }),
}

// ResumeNewer is the fault that resumes a stream after the latest event, so that the events between
// the cursor and the request are missing.
var ResumeNewer = &Fault{
	Name: "resume-newer", Doc: "a resumed stream contains only events that occur after the request", Category: CategoryResume,
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.loses-nothing"},
	NewEffect:     overrideResume(func(_, last int64) (int64, bool) { return last, true }),
}

// overrideResume returns a value for [Fault.NewEffect]. The effect calls f to determine the
// position from which a stream is resumed; see [Effect.OnResume].
func overrideResume(f func(at, last int64) (int64, bool)) func(Args) Effect {
	return func(Args) Effect { return Effect{OnResume: f} }
}
