package fault

import (
	"bytes"
	"unicode/utf8"
)

// TornEnd is the fault that closes the connection in the middle of a line of a frame.
var TornEnd = &Fault{
	Name: "torn", Doc: "the connection is closed in the middle of a line", Category: CategoryWire, Triggers: []string{"event", "byte"},
	Checks: []string{"run.ends"},
	NewEffect: truncateFrame(func(frame []byte) []byte {
		data := max(bytes.Index(frame, []byte("data:")), 0)
		return frame[:data+(len(frame)-data)/2]
	}),
}

// TornUTF8 is the fault that closes the connection in the middle of a multibyte character. If the
// frame has no such character, the fault inserts one.
var TornUTF8 = &Fault{
	Name: "torn-utf8", Doc: "the connection is closed in the middle of a character, which is inserted if necessary", Category: CategoryWire,
	Triggers:  []string{"event"},
	Checks:    []string{"run.ends"},
	NewEffect: truncateFrame(cutInsideCharacter),
}

// truncateFrame returns a value for [Fault.NewEffect]. At the trigger, the effect sends only the
// beginning of a frame, part(frame), and closes the connection. If the trigger is a number of
// bytes, the connection is closed after exactly that number instead.
func truncateFrame(part func(frame []byte) []byte) func(Args) Effect {
	return func(a Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			c := newTriggeredWriter(w, a)
			c.inject = func(frame []byte) error {
				if frame != nil && a.Trigger.Byte < 0 {
					if err := c.writeBytes(part(frame)); err != nil {
						return err
					}
				}
				return w.Finish(Torn)
			}
			return c
		}}
	}
}

// cutInsideCharacter returns the beginning of frame up to and including the first byte of its first
// multibyte character. If the frame has no such character, it returns the bytes before the last
// quotation mark, followed by the first two bytes of a three-byte character.
func cutInsideCharacter(frame []byte) []byte {
	for i := 0; i < len(frame); {
		_, size := utf8.DecodeRune(frame[i:])
		if size > 1 {
			return frame[:i+1]
		}
		i += size
	}
	text := max(bytes.LastIndexByte(frame, '"'), 0)
	return append(bytes.Clone(frame[:text]), "\u20ac"[:2]...)
}
