package fault

var allTriggers = []string{"event", "byte", "time"}

// CleanEnd ends the body of a stream early but correctly.
var CleanEnd = &Fault{
	Name: "clean-end", Doc: "the stream ends early, but its body is terminated correctly", Category: CategoryWire, Triggers: allTriggers,
	Checks:    []string{"run.ends"},
	NewEffect: endStreamAt(Clean),
}

// AbortEnd closes the connection before the stream is complete.
var AbortEnd = &Fault{
	Name: "abort", Doc: "the connection is closed before the stream is complete", Category: CategoryWire, Triggers: allTriggers,
	Checks:    []string{"run.ends"},
	NewEffect: endStreamAt(Abort),
}

// ResetEnd resets the connection.
var ResetEnd = &Fault{
	Name: "reset", Doc: "the connection is reset", Category: CategoryWire, Triggers: allTriggers,
	Checks:    []string{"run.ends"},
	NewEffect: endStreamAt(Reset),
}

// AbortLate sends all events and closes the connection without terminating the body.
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
