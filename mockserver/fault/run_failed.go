package fault

import "github.com/streamassay/streamassay/spec"

// EndAfterError is the fault that makes a run both fail and end successfully: first the error
// event is sent, then the end event.
var EndAfterError = &Fault{
	Name: "end-after-error", Doc: "the run fails and then ends successfully", Category: CategoryProtocol,
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
				end := spec.Event{
					Kind: spec.RunEnd, Thread: e.Thread, Run: e.Run, Created: e.Created, Completed: e.Created, Seq: e.Seq,
				}
				s.insert(&end, e.Seq, emit)
			}
		}}
	},
}

// ErrorAfterEnd is the fault that makes a run both end successfully and fail: first the end event
// is sent, then an error event.
var ErrorAfterEnd = &Fault{
	Name: "error-after-end", Doc: "the run ends successfully and then fails", Category: CategoryProtocol,
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

// newRunError returns an error event with the given text and code. Its run, thread, creation time
// and sequence number are those of e.
func newRunError(e *spec.Event, text, code string) *spec.Event {
	return &spec.Event{
		Kind: spec.RunError, Thread: e.Thread, Run: e.Run, Created: e.Created, Seq: e.Seq, Text: text, Code: code,
	}
}

// RunFails is the fault that ends a run at the trigger with an error event, as the protocol
// allows. It only tests clients: no check detects it.
var RunFails = &Fault{
	Name: "run-fails", Doc: "at the trigger the run fails with an error event, as the protocol allows", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunError}, Triggers: []string{"event"},
	Params: []Param{
		{Name: "text", Doc: "error text", Type: "text", Default: "the run failed"},
		{Name: "code", Doc: "error code, if the dialect has any", Type: "text"},
	},
	NewEffect: failRun(func(a Args) string { return a.Strings["text"] }),
}

// StackTrace is the fault that ends a run with an error event whose text contains a stack trace.
var StackTrace = &Fault{
	Name: "stack-trace", Doc: "the run fails with an error text that contains a stack trace", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunError}, Triggers: []string{"event"},
	Checks: []string{"error.no-stack-trace"},
	NewEffect: failRun(func(Args) string {
		return "boom\n\nTraceback (most recent call last):\n" +
			"  File \"agent.py\", line 7, in run\n    raise RuntimeError('boom')"
	}),
}

// failRun returns a value for [Fault.NewEffect]. The effect sends an error event with the text
// text(a) in place of the event at the trigger and of all later ones. If no trigger is set, the run
// fails at its second event of content, or at its terminal event if that comes first.
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
			if a.Trigger.Event >= 0 {
				failed = n >= a.Trigger.Event
			} else {
				failed = contentEvents > 1 || isFinal(e)
			}
			if failed {
				failure := newRunError(e, text(a), a.Strings["code"])
				failure.Created = created
				emit(failure)
				return
			}
			emit(e)
		}}
	}
}
