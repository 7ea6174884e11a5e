package fault

import "bytes"

// NoLastBlankLine ends a stream without the line that makes its last event one.
var NoLastBlankLine = &Fault{
	Name: "no-last-blank-line", Doc: "the blank line after the last event is missing", Category: CategoryWire,
	Checks: []string{"wire.last-frame-is-terminated"},
	NewEffect: func(Args) Effect {
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
					// All but its last line end goes out now: an event that comes to
					// nothing until there is another.
					body := bytes.TrimRight(frame, "\r\n")
					line := frame[len(body):]
					last = bytes.Clone(line[len(line)/2:])
					_, err := w.Write(frame[:len(frame)-len(last)])
					return err
				},
			}
		}}
	},
}
