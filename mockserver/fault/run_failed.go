package fault

import "github.com/streamassay/streamassay/spec"

// EndAfterError lets a run that failed end well.
var EndAfterError = &Fault{
	Name: "end-after-error", Doc: "the run fails, and then it ends well", Family: Protocol,
	Needs:  []spec.Kind{spec.RunEnd, spec.RunError},
	Checks: []string{"run.stays-failed", "run.ends-once"},
	Begin: func(Args) Effect {
		var s scribe
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if e.Kind == spec.RunEnd {
				s.more(failure(e, "the run failed", ""), add(e.Seq, -1), tell)
			}
			s.tell(e, tell)
			if e.Kind == spec.RunError {
				end := spec.Event{Kind: spec.RunEnd, Thread: e.Thread, Run: e.Run, Created: e.Created, Completed: e.Created, Seq: e.Seq}
				s.more(&end, e.Seq, tell)
			}
		}}
	},
}

// ErrorAfterEnd lets a run fail that has ended.
var ErrorAfterEnd = &Fault{
	Name: "error-after-end", Doc: "the run ends well, and then it fails", Family: Protocol,
	Needs:  []spec.Kind{spec.RunEnd, spec.RunError},
	Checks: []string{"run.ends-once", "run.status-moves-forward"},
	Begin: func(Args) Effect {
		var s scribe
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			s.tell(e, tell)
			if e.Kind == spec.RunEnd {
				s.more(failure(e, "the run failed", ""), e.Seq, tell)
			}
		}}
	},
}

// failure is a run's failure in place of its end.
func failure(end *spec.Event, text, code string) *spec.Event {
	return &spec.Event{Kind: spec.RunError, Thread: end.Thread, Run: end.Run, Created: end.Created, Seq: end.Seq, Text: text, Code: code}
}

// RunFails is the error event in the middle of a stream. It breaks no rule.
var RunFails = &Fault{
	Name: "run-fails", Doc: "from the place on nothing is told but that the run failed, as the protocol has it", Family: Protocol,
	Needs: []spec.Kind{spec.RunError}, Places: []string{"event"},
	Params: []Param{
		{Name: "text", Doc: "why", Type: "text", Default: "the run failed"},
		{Name: "code", Doc: "the code of the error, where the dialect has any", Type: "text"},
	},
	Begin: failing(func(a Args) string { return a.Texts["text"] }),
}

// StackTrace gives away where the server failed.
var StackTrace = &Fault{
	Name: "stack-trace", Doc: "the run fails with an error that shows a stack trace", Family: Protocol,
	Needs: []spec.Kind{spec.RunError}, Places: []string{"event"},
	Checks: []string{"error.no-stack-trace"},
	Begin: failing(func(Args) string {
		return "boom\n\nTraceback (most recent call last):\n  File \"agent.py\", line 7, in run\n    raise RuntimeError('boom')"
	}),
}

// failing makes a run fail at its place; without one, before its second event about
// something else than the run.
func failing(text func(Args) string) func(Args) Effect {
	return func(a Args) Effect {
		n, said, over := -1, 0, false
		created := ""
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			n++
			if over {
				return
			}
			if e.Created != "" {
				created = e.Created
			}
			if e.Kind.Subject() != "run" {
				said++
			}
			if over = a.At.Event >= 0 && n >= a.At.Event || a.At.Event < 0 && (said > 1 || final(e)); over {
				why := failure(e, text(a), a.Texts["code"])
				why.Created = created
				tell(why)
				return
			}
			tell(e)
		}}
	}
}
