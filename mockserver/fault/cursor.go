package fault

import (
	"bytes"

	"github.com/streamassay/streamassay/spec"
)

// CursorMissing leaves out what a stream could be taken up at.
var CursorMissing = &Fault{
	Name: "cursor-missing", Doc: "events have no id", Family: Resume, Places: []string{"event"},
	Needs:  []spec.Kind{spec.SlotCursor},
	Checks: []string{"cursor.present"},
	Begin: func(a Args) Effect {
		return Effect{Body: func(w Writer) Body {
			return each{frame: func(n int, frame []byte) error {
				if n >= a.At.Event {
					frame = withID(frame, nil)
				}
				_, err := w.Write(frame)
				return err
			}}
		}}
	},
}

// CursorRepeated gives two events one id.
var CursorRepeated = &Fault{
	Name: "cursor-repeated", Doc: "an event has the id of the one before it", Family: Resume, Places: []string{"event"},
	Needs:  []spec.Kind{spec.SlotCursor},
	Checks: []string{"cursor.unique"},
	Begin: func(a Args) Effect {
		return Effect{Body: func(w Writer) Body {
			var before []byte
			at, done := max(a.At.Event, 1), false
			return each{frame: func(n int, frame []byte) error {
				id := idOf(frame)
				if n >= at && before != nil && id != nil && !done {
					done = true
					frame = withID(frame, before)
				} else if id != nil {
					before = bytes.Clone(id)
				}
				_, err := w.Write(frame)
				return err
			}}
		}}
	},
}

// ToldDifferently tells events otherwise than whoever listens later hears them: like all
// faults on the wire it strikes the first stream alone, if nothing else is said.
var ToldDifferently = &Fault{
	Name: "told-differently", Doc: "an event, or all if no place is set, has other data than when it is told again", Family: Wire,
	Places: []string{"event"},
	Needs:  []spec.Kind{spec.SlotCursor},
	Checks: []string{"resume.tells-the-same"},
	Begin: func(a Args) Effect {
		return Effect{Body: func(w Writer) Body {
			return each{frame: func(n int, frame []byte) error {
				data := dataOf(frame)
				if m := members(data); m != nil && (n == a.At.Event || a.At.Event < 0) {
					m["toldBefore"] = []byte("true")
					frame = with(frame, data, spelled(m))
				}
				_, err := w.Write(frame)
				return err
			}}
		}}
	},
}

var idLine = []byte("id: ")

// idOf is the line of a frame with its id.
func idOf(frame []byte) []byte {
	for line := range bytes.Lines(frame) {
		if bytes.HasPrefix(line, idLine) {
			return line
		}
	}
	return nil
}

// withID is the frame with another line in place of its id; nil is none.
func withID(frame, line []byte) []byte {
	if id := idOf(frame); id != nil {
		return bytes.Replace(frame, id, line, 1)
	}
	return frame
}
