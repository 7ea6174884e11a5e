package fault

// allTriggers lists the names of all kinds of triggers. It is the value of [Fault.Triggers] for
// faults that can occur anywhere in a stream.
var allTriggers = []string{"event", "byte", "time"}

var cleanEnd = &Fault{
	Name: "clean-end", Doc: "the stream ends early, but its body is terminated correctly",
	Triggers: allTriggers, Checks: []string{"run.ends"},
	NewEffect: endStreamAt(Clean),
}

var abortEnd = &Fault{
	Name: "abort", Doc: "the connection is closed before the stream is complete",
	Triggers: allTriggers, Checks: []string{"run.ends"},
	NewEffect: endStreamAt(Abort),
}

var resetEnd = &Fault{
	Name: "reset", Doc: "the connection is reset",
	Triggers: allTriggers, Checks: []string{"run.ends"},
	NewEffect: endStreamAt(Reset),
}

var abortLate = &Fault{
	Name: "abort-late", Doc: "all events are sent, but the connection is closed without terminating the body",
	Checks: []string{"wire.body-is-whole"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			return frameFuncs{frame: writeFrames(w), close: func() error {
				a.Applied()
				return w.Finish(Abort)
			}}
		}}
	},
}

// endStreamAt returns a value for [Fault.NewEffect]: the effect ends the stream in the given way
// at the trigger.
func endStreamAt(how StreamEnd) func(Args) Effect {
	return func(a Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			if a.Trigger.Time >= 0 {
				w.After(a.Trigger.Time, func() {
					a.Applied()
					_ = w.Finish(how)
				})
			}
			return newTriggeredWriter(w, a, func(*triggeredWriter, []byte) error { return w.Finish(how) })
		}}
	}
}
