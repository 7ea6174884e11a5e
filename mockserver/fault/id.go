package fault

import "github.com/streamassay/streamassay/spec"

// WrongRun tells of another run.
var WrongRun = &Fault{
	Name: "wrong-run", Doc: "an event about the run names another run", Family: Protocol,
	Needs: []spec.Kind{spec.SlotRun}, Places: []string{"event"},
	Checks: []string{"run.id-is-stable", "echo.run", "run.keeps-to-itself"},
	Begin: changed(func(e *spec.Event) bool { return e.Kind.Subject() == "run" && e.Run != "" }, func(e *spec.Event) {
		e.Run = other(e.Run)
	}),
}

// WrongThread tells of another conversation.
var WrongThread = &Fault{
	Name: "wrong-thread", Doc: "an event about the run names another conversation", Family: Protocol,
	Needs: []spec.Kind{spec.SlotThread}, Places: []string{"event"},
	Checks: []string{"echo.thread"},
	Begin: changed(func(e *spec.Event) bool { return e.Kind.Subject() == "run" && e.Thread != "" }, func(e *spec.Event) {
		e.Thread = other(e.Thread)
	}),
}

// other is an id of the same form.
func other(id string) string {
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
