package fault

import "github.com/streamassay/streamassay/spec"

// WrongRun changes the run id of an event about the run.
var WrongRun = &Fault{
	Name: "wrong-run", Doc: "an event about the run names another run", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotRun}, Triggers: []string{"event"},
	Checks: []string{"run.id-is-stable", "echo.run", "run.keeps-to-itself"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Kind.Subject() == "run" && e.Run != "" }, func(e *spec.Event) {
		e.Run = similarID(e.Run)
	}),
}

// WrongThread changes the thread id of an event about the run.
var WrongThread = &Fault{
	Name: "wrong-thread", Doc: "an event about the run names another thread", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotThread}, Triggers: []string{"event"},
	Checks: []string{"echo.thread"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Kind.Subject() == "run" && e.Thread != "" }, func(e *spec.Event) {
		e.Thread = similarID(e.Thread)
	}),
}

// similarID returns another id of the same form.
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
