package fault

import "github.com/streamassay/streamassay/spec"

// WrongRun is the fault that changes the run id in one event about the run.
var WrongRun = &Fault{
	Name: "wrong-run", Doc: "an event about the run names another run", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotRun}, Triggers: []string{"event"},
	Checks: []string{"run.id-is-stable", "echo.run", "run.keeps-to-itself"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Kind.Subject() == "run" && e.Run != "" }, func(e *spec.Event) {
		e.Run = similarID(e.Run)
	}),
}

// WrongThread is the fault that changes the thread id in one event about the run.
var WrongThread = &Fault{
	Name: "wrong-thread", Doc: "an event about the run names another thread", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotThread}, Triggers: []string{"event"},
	Checks: []string{"echo.thread"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Kind.Subject() == "run" && e.Thread != "" }, func(e *spec.Event) {
		e.Thread = similarID(e.Thread)
	}),
}

// similarID returns an id of the same form as the given one that differs from it in one letter or
// digit, so that only a comparison finds the difference. If no character of id can be changed, the
// result has an additional one.
func similarID(id string) string {
	b := []byte(id)
	for i := len(b) - 1; i >= 0; i-- {
		switch {
		case b[i] >= '0' && b[i] < '9', b[i] >= 'a' && b[i] < 'f', b[i] >= 'g' && b[i] < 'z', b[i] >= 'A' && b[i] < 'Z':
			b[i]++
			return string(b)
		case b[i] == '9':
			b[i] = '0'
			return string(b)
		}
	}
	return id + "x"
}
