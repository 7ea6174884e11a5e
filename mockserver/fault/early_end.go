package fault

// allTriggers lists the names of all kinds of triggers. It is the value of [Fault.Triggers] for
// faults that can occur anywhere in a stream.
var allTriggers = []string{"event", "byte", "time"}

// CleanEnd is the fault that ends a stream at the trigger but terminates the body correctly, so
// that only the missing events show that the stream is incomplete.
var CleanEnd = &Fault{
	Name: "clean-end", Doc: "the stream ends early, but its body is terminated correctly", Category: CategoryWire, Triggers: allTriggers,
	Checks:    []string{"run.ends"},
	NewEffect: endStreamAt(Clean),
}

// AbortEnd is the fault that closes the connection at the trigger, before the stream is complete.
var AbortEnd = &Fault{
	Name: "abort", Doc: "the connection is closed before the stream is complete", Category: CategoryWire, Triggers: allTriggers,
	Checks:    []string{"run.ends"},
	NewEffect: endStreamAt(Abort),
}

// ResetEnd is the fault that resets the connection at the trigger instead of closing it, before
// the stream is complete.
var ResetEnd = &Fault{
	Name: "reset", Doc: "the connection is reset", Category: CategoryWire, Triggers: allTriggers,
	Checks:    []string{"run.ends"},
	NewEffect: endStreamAt(Reset),
}

// AbortLate is the fault that sends all events and then closes the connection without terminating
// the body.
var AbortLate = &Fault{
	Name: "abort-late", Doc: "all events are sent, but the connection is closed without terminating the body", Category: CategoryWire,
	Checks: []string{"wire.body-is-whole"},
	NewEffect: func(Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			return frameFuncs{
				frame: func(_ int, frame []byte) error {
					_, err := w.Write(frame)
					return err
				},
				close: func() error { return w.Finish(Abort) },
			}
		}}
	},
}
