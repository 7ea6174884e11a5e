package fault

import "bytes"

// noLastBlankLine leaves out the blank line after the last event, so that clients ignore that
// event.
var noLastBlankLine = &Fault{
	Name: "no-last-blank-line", Doc: "the blank line after the last event is missing",
	Checks: []string{"wire.last-frame-is-terminated"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			var last []byte
			return frameFuncs{
				frame: func(n int, frame []byte) error {
					if last != nil {
						if _, err := w.Write(last); err != nil {
							return err
						}
						last = nil
					}
					if n < 0 {
						_, err := w.Write(frame)
						return err
					}
					// Hold back only the last line end, so that the client has the
					// rest of the frame in time but cannot dispatch the event yet.
					body := bytes.TrimRight(frame, "\r\n")
					line := frame[len(body):]
					last = bytes.Clone(line[len(line)/2:])
					a.Applied()
					_, err := w.Write(frame[:len(frame)-len(last)])
					return err
				},
			}
		}}
	},
}
