package fault

import (
	"bytes"

	"github.com/streamassay/streamassay/spec"
)

// CursorMissing is the fault that removes the id line from the frames of a stream, so that the
// client has no cursor from which to resume it.
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

// CursorRepeated is the fault that gives one frame the id of the frame before it, so that two
// events have the same cursor.
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
// no trigger is set. By default it affects only the first stream of a run, so that the same event
// has other data when a resumed stream replays it.
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

// idPrefix is the beginning of the line of a frame that contains the id of the event.
var idPrefix = []byte("id: ")

// findIDLine returns the line of frame that contains the id of the event, including its line end.
// It returns nil if the frame has no id.
func findIDLine(frame []byte) []byte {
	for line := range bytes.Lines(frame) {
		if bytes.HasPrefix(line, idPrefix) {
			return line
		}
	}
	return nil
}

// replaceIDLine returns a copy of frame in which line replaces the line with the id; a nil line
// removes it. It returns frame itself if the frame has no id.
func replaceIDLine(frame, line []byte) []byte {
	if id := findIDLine(frame); id != nil {
		return bytes.Replace(frame, id, line, 1)
	}
	return frame
}
