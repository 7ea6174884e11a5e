package fault

import (
	"bytes"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/sse"
)

var tornEnd = &Fault{
	Name: "torn", Doc: "the connection is closed in the middle of a line", Triggers: []string{"event", "byte"},
	Checks: []string{"run.ends"},
	NewEffect: truncateFrame(func(frame []byte) []byte {
		data, _ := sse.FindField(frame, "data")
		return frame[:data.Start+(len(frame)-data.Start)/2]
	}),
}

var tornUTF8 = &Fault{
	Name: "torn-utf8", Doc: "the connection is closed in the middle of a character, which is inserted if necessary",
	Triggers:  []string{"event"},
	Checks:    []string{"run.ends"},
	NewEffect: truncateFrame(cutInsideCharacter),
}

// truncateFrame returns a value for [Fault.NewEffect]. At the trigger, the effect sends only the
// beginning of a frame, part(frame), and closes the connection. If the trigger is a number of
// bytes, the connection is closed after exactly that number instead.
func truncateFrame(part func(frame []byte) []byte) func(Args) Effect {
	return func(a Args) Effect {
		return injectAt(a, func(c *triggeredWriter, frame []byte) error {
			if frame != nil && a.Trigger.Byte < 0 {
				if err := c.writeBytes(part(frame)); err != nil {
					return err
				}
			}
			return c.Finish(Torn)
		})
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
