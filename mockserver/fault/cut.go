package fault

var anywhere = []string{"event", "byte", "time"}

// CleanEnd ends a stream early as if it were whole.
var CleanEnd = &Fault{
	Name: "clean-end", Doc: "the stream ends early, as properly as a whole one", Family: Wire, Places: anywhere,
	Checks: []string{"run.ends"},
	Begin:  cutting(Clean),
}

// AbortEnd closes the connection before the stream is whole.
var AbortEnd = &Fault{
	Name: "abort", Doc: "the connection is closed before the stream is whole", Family: Wire, Places: anywhere,
	Checks: []string{"run.ends"},
	Begin:  cutting(Abort),
}

// ResetEnd resets the connection.
var ResetEnd = &Fault{
	Name: "reset", Doc: "the connection is reset", Family: Wire, Places: anywhere,
	Checks: []string{"run.ends"},
	Begin:  cutting(Reset),
}

// AbortLate tells everything, and then closes the connection as if there were more.
var AbortLate = &Fault{
	Name: "abort-late", Doc: "all is told, and then the connection is closed before the stream is whole", Family: Wire,
	Checks: []string{"wire.body-is-whole"},
	Begin: func(Args) Effect {
		return Effect{Body: func(w Writer) Body {
			return each{
				frame: func(_ int, frame []byte) error {
					_, err := w.Write(frame)
					return err
				},
				close: func() error { return w.Finish(Abort) },
			}
		}}
	},
}
