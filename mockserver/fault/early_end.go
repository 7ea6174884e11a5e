package fault

var allTriggers = []string{"event", "byte", "time"}

// CleanEnd ends a stream early as if it were whole.
var CleanEnd = &Fault{
	Name: "clean-end", Doc: "the stream ends early, as properly as a whole one", Category: CategoryWire, Triggers: allTriggers,
	Checks:    []string{"run.ends"},
	NewEffect: endStreamAt(Clean),
}

// AbortEnd closes the connection before the stream is whole.
var AbortEnd = &Fault{
	Name: "abort", Doc: "the connection is closed before the stream is whole", Category: CategoryWire, Triggers: allTriggers,
	Checks:    []string{"run.ends"},
	NewEffect: endStreamAt(Abort),
}

// ResetEnd resets the connection.
var ResetEnd = &Fault{
	Name: "reset", Doc: "the connection is reset", Category: CategoryWire, Triggers: allTriggers,
	Checks:    []string{"run.ends"},
	NewEffect: endStreamAt(Reset),
}

// AbortLate tells everything, and then closes the connection as if there were more.
var AbortLate = &Fault{
	Name: "abort-late", Doc: "all is told, and then the connection is closed before the stream is whole", Category: CategoryWire,
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
