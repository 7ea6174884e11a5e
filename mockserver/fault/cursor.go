package fault

import (
	"bytes"

	"github.com/streamassay/streamassay/spec"
)

// CursorMissing is the fault that removes the id line from each frame at or after the trigger, so
// that the client has no cursor from which to resume the stream.
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

// CursorRepeated is the fault that replaces the id of one frame by the preceding id of the stream,
// so that two events have the same cursor.
var CursorRepeated = &Fault{
	Name: "cursor-repeated", Doc: "an event has the same id as the preceding event", Category: CategoryResume, Triggers: []string{"event"},
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

// DifferentOnReplay is the fault that adds a member to the data of one event, or of every event if
// no trigger is set. By default the fault affects only the first stream of a run. A resumed stream
// then replays the event with other data than the client received before.
var DifferentOnReplay = &Fault{
	Name: "told-differently", Doc: "an event, or every event if no trigger is set, has other data than when it is replayed", Category: CategoryWire,
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

// idPrefix is the prefix of the id line, the line of a frame that contains the id of the event.
var idPrefix = []byte("id: ")

// findIDLine returns the part of frame that is its id line, including the line end. It returns nil
// if the frame has no id.
func findIDLine(frame []byte) []byte {
	for line := range bytes.Lines(frame) {
		if bytes.HasPrefix(line, idPrefix) {
			return line
		}
	}
	return nil
}

// replaceIDLine returns a copy of frame in which the id line is replaced by line, or removed if
// line is nil. If frame has no id line, it returns frame itself.
func replaceIDLine(frame, line []byte) []byte {
	if id := findIDLine(frame); id != nil {
		return bytes.Replace(frame, id, line, 1)
	}
	return frame
}
