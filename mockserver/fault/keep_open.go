package fault

import "github.com/streamassay/streamassay/spec"

// Linger is the fault that keeps a stream open for some time after its last event.
var Linger = &Fault{
	Name: "linger", Doc: "the stream stays open for a while after its last event", Category: CategoryWire,
	Params: []Param{{Name: "for", Doc: "time until the stream is closed", Type: "duration", Default: "6s", Min: "0s", Max: "24h"}},
	Checks: []string{"run.closes-after-end"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			return frameFuncs{
				frame: func(_ int, frame []byte) error {
					_, err := w.Write(frame)
					return err
				},
				close: func() error {
					if err := w.Flush(); err != nil {
						return err
					}
					return w.Sleep(a.Durations["for"])
				},
			}
		}}
	},
}

// NoKeepAlive is the fault that omits the comments by which a server keeps an idle connection
// alive.
var NoKeepAlive = &Fault{
	Name: "no-keep-alive", Doc: "no keep-alive comments are sent while the stream is idle", Category: CategoryWire,
	RequiredKinds: []spec.Kind{"slot.limit"},
	Checks:        []string{"wire.keeps-alive"},
	NewEffect:     replaceComments(nil),
}

// OtherKeepAlive is the fault that replaces the keep-alive comments by comments whose text differs
// from the one that the protocol requires.
var OtherKeepAlive = &Fault{
	Name: "other-keep-alive", Doc: "the keep-alive comments have another text than the protocol defines", Category: CategoryWire,
	RequiredKinds: []spec.Kind{"slot.limit"},
	Checks:        []string{"wire.keep-alive-text"},
	NewEffect:     replaceComments([]byte(": still here\n\n")),
}

// replaceComments returns a value for [Fault.NewEffect]. The effect replaces each comment of the
// stream by the given one. If comment is nil, it omits the comments.
func replaceComments(comment []byte) func(Args) Effect {
	return func(Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			return frameFuncs{frame: func(n int, frame []byte) error {
				if n < 0 {
					frame = comment
				}
				if len(frame) == 0 {
					return nil
				}
				_, err := w.Write(frame)
				return err
			}}
		}}
	}
}
