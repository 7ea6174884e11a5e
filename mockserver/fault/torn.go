package fault

import (
	"bytes"
	"unicode/utf8"
)

// TornEnd closes the connection in the middle of a line.
var TornEnd = &Fault{
	Name: "torn", Doc: "the connection is closed in the middle of a line", Family: Wire, Places: []string{"event", "byte"},
	Checks: []string{"run.ends"},
	Begin: tearing(func(frame []byte) []byte {
		data := max(bytes.Index(frame, []byte("data:")), 0)
		return frame[:data+(len(frame)-data)/2]
	}),
}

// TornUTF8 closes the connection in the middle of a character.
var TornUTF8 = &Fault{
	Name: "torn-utf8", Doc: "the connection is closed in the middle of a character; one is put there if need be", Family: Wire,
	Places: []string{"event"},
	Checks: []string{"run.ends"},
	Begin:  tearing(insideCharacter),
}

// tearing sends the first part of a frame, and closes the connection. After so many bytes
// it is closed wherever that is.
func tearing(part func(frame []byte) []byte) func(Args) Effect {
	return func(a Args) Effect {
		return Effect{Body: func(w Writer) Body {
			c := newWire(w, a)
			c.strike = func(frame []byte) error {
				if frame != nil && a.At.Byte < 0 {
					if err := c.write(part(frame)); err != nil {
						return err
					}
				}
				return w.Finish(Torn)
			}
			return c
		}}
	}
}

// insideCharacter is a frame up to a place inside a character of more than one byte. If
// there is none one is begun in the last text.
func insideCharacter(frame []byte) []byte {
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
