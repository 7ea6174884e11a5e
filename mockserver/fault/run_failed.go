package fault

import "github.com/streamassay/streamassay/spec"

// EndAfterError lets a run that failed end well.
var EndAfterError = &Fault{
	Name: "end-after-error", Doc: "the run fails, and then it ends well", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunEnd, spec.RunError},
	Checks:        []string{"run.stays-failed", "run.ends-once"},
	NewEffect: func(Args) Effect {
		var s renumberer
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if e.Kind == spec.RunEnd {
				s.insert(newRunError(e, "the run failed", ""), addToNumber(e.Seq, -1), emit)
			}
			s.emit(e, emit)
			if e.Kind == spec.RunError {
				end := spec.Event{Kind: spec.RunEnd, Thread: e.Thread, Run: e.Run, Created: e.Created, Completed: e.Created, Seq: e.Seq}
				s.insert(&end, e.Seq, emit)
			}
		}}
	},
}

// ErrorAfterEnd lets a run fail that has ended.
var ErrorAfterEnd = &Fault{
	Name: "error-after-end", Doc: "the run ends well, and then it fails", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunEnd, spec.RunError},
	Checks:        []string{"run.ends-once", "run.status-moves-forward"},
	NewEffect: func(Args) Effect {
		var s renumberer
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			s.emit(e, emit)
			if e.Kind == spec.RunEnd {
				s.insert(newRunError(e, "the run failed", ""), e.Seq, emit)
			}
		}}
	},
}

// newRunError is a run's failure in place of its end.
func newRunError(end *spec.Event, text, code string) *spec.Event {
	return &spec.Event{Kind: spec.RunError, Thread: end.Thread, Run: end.Run, Created: end.Created, Seq: end.Seq, Text: text, Code: code}
}

// RunFails is the error event in the middle of a stream. It breaks no rule.
var RunFails = &Fault{
	Name: "run-fails", Doc: "from the place on nothing is told but that the run failed, as the protocol has it", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunError}, Triggers: []string{"event"},
	Params: []Param{
		{Name: "text", Doc: "why", Type: "text", Default: "the run failed"},
		{Name: "code", Doc: "the code of the error, where the dialect has any", Type: "text"},
	},
	NewEffect: failRun(func(a Args) string { return a.Strings["text"] }),
}

// StackTrace gives away where the server failed.
var StackTrace = &Fault{
	Name: "stack-trace", Doc: "the run fails with an error that shows a stack trace", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunError}, Triggers: []string{"event"},
	Checks: []string{"error.no-stack-trace"},
	NewEffect: failRun(func(Args) string {
		return "boom\n\nTraceback (most recent call last):\n  File \"agent.py\", line 7, in run\n    raise RuntimeError('boom')"
	}),
}

// failRun makes a run fail at its place; without one, before its second event about
// something else than the run.
func failRun(text func(Args) string) func(Args) Effect {
	return func(a Args) Effect {
		n, contentEvents, failed := -1, 0, false
		created := ""
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			n++
			if failed {
				return
			}
			if e.Created != "" {
				created = e.Created
			}
			if e.Kind.Subject() != "run" {
				contentEvents++
			}
			if failed = a.Trigger.Event >= 0 && n >= a.Trigger.Event || a.Trigger.Event < 0 && (contentEvents > 1 || isFinal(e)); failed {
				why := newRunError(e, text(a), a.Strings["code"])
				why.Created = created
				emit(why)
				return
			}
			emit(e)
		}}
	}
}
