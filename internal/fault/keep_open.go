package fault

import "github.com/streamassay/streamassay/spec"

var linger = &Fault{
	Name: "linger", Doc: "the stream stays open for a while after its last event",
	Params: []Param{{Name: "for", Doc: "time until the stream is closed", Type: "duration", Default: "6s", Min: "0s", Max: "24h"}},
	Checks: []string{"run.closes-after-end"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			return frameFuncs{frame: writeFrames(w), close: func() error {
				a.Applied()
				if err := w.Flush(); err != nil {
					return err
				}
				return w.Sleep(a.Durations["for"])
			}}
		}}
	},
}

var noKeepAlive = &Fault{
	Name: "no-keep-alive", Doc: "no keep-alive comments are sent while the stream is idle",
	RequiredKinds: []spec.Kind{"slot.limit"},
	Checks:        []string{"wire.keeps-alive"},
	NewEffect:     replaceComments(nil),
}

var otherKeepAlive = &Fault{
	Name: "other-keep-alive", Doc: "the keep-alive comments have another text than the protocol defines",
	RequiredKinds: []spec.Kind{"slot.limit"},
	Checks:        []string{"wire.keep-alive-text"},
	NewEffect:     replaceComments([]byte(": still here\n\n")),
}

// replaceComments returns a value for [Fault.NewEffect]. The effect replaces each comment of the
// stream by the given one. If comment is nil, it omits the comments.
func replaceComments(comment []byte) func(Args) Effect {
	return editStream(func(Args) func(int, []byte) []byte {
		return func(n int, frame []byte) []byte {
			if n < 0 {
				return comment
			}
			return frame
		}
	})
}
