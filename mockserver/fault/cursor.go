package fault

import (
	"bytes"

	"github.com/streamassay/streamassay/spec"
)

// CursorMissing leaves out what a stream could be taken up at.
var CursorMissing = &Fault{
	Name: "cursor-missing", Doc: "events have no id", Category: CategoryResume, Triggers: []string{"event"},
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"cursor.present"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			return frameFuncs{frame: func(n int, frame []byte) error {
				if n >= a.Trigger.Event {
					frame = replaceIDLine(frame, nil)
				}
				_, err := w.Write(frame)
				return err
			}}
		}}
	},
}

// CursorRepeated gives two events one id.
var CursorRepeated = &Fault{
	Name: "cursor-repeated", Doc: "an event has the id of the one before it", Category: CategoryResume, Triggers: []string{"event"},
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"cursor.unique"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			var before []byte
			at, done := max(a.Trigger.Event, 1), false
			return frameFuncs{frame: func(n int, frame []byte) error {
				id := findIDLine(frame)
				if n >= at && before != nil && id != nil && !done {
					done = true
					frame = replaceIDLine(frame, before)
				} else if id != nil {
					before = bytes.Clone(id)
				}
				_, err := w.Write(frame)
				return err
			}}
		}}
	},
}

// DifferentOnReplay tells events otherwise than whoever listens later hears them: like all
// faults on the wire it strikes the first stream alone, if nothing else is said.
var DifferentOnReplay = &Fault{
	Name: "told-differently", Doc: "an event, or all if no place is set, has other data than when it is told again", Category: CategoryWire,
	Triggers:      []string{"event"},
	RequiredKinds: []spec.Kind{spec.SlotCursor},
	Checks:        []string{"resume.tells-the-same"},
	NewEffect: func(a Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			return frameFuncs{frame: func(n int, frame []byte) error {
				data := frameData(frame)
				if m := decodeMembers(data); m != nil && (n == a.Trigger.Event || a.Trigger.Event < 0) {
					m["toldBefore"] = []byte("true")
					frame = replaceData(frame, data, encodeMembers(m))
				}
				_, err := w.Write(frame)
				return err
			}}
		}}
	},
}

var idPrefix = []byte("id: ")

// findIDLine is the line of a frame with its id.
func findIDLine(frame []byte) []byte {
	for line := range bytes.Lines(frame) {
		if bytes.HasPrefix(line, idPrefix) {
			return line
		}
	}
	return nil
}

// replaceIDLine is the frame with another line in place of its id; nil is none.
func replaceIDLine(frame, line []byte) []byte {
	if id := findIDLine(frame); id != nil {
		return bytes.Replace(frame, id, line, 1)
	}
	return frame
}
