package fault

import (
	"bytes"
	"slices"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// resumeFaults lists the faults that affect resumed streams, and the cursors from which streams can
// be resumed.
var resumeFaults = []*Fault{
	{Name: "resume-lost", Doc: "a resumed stream lacks the event after the cursor",
		RequiredKinds: []spec.Kind{spec.SlotCursor}, Checks: []string{"resume.loses-nothing"},
		NewEffect: overrideResume(func(at, last int64) (int64, bool) { return min(at+1, last), true })},
	{Name: "resume-repeated", Doc: "a resumed stream begins with the event of the cursor",
		RequiredKinds: []spec.Kind{spec.SlotCursor}, Checks: []string{"resume.excludes-cursor"},
		NewEffect: overrideResume(func(at, _ int64) (int64, bool) { return max(at-1, 0), true })},
	{Name: "resume-from-start", Doc: "a resumed stream begins with the first event, as if there were no cursor",
		RequiredKinds: []spec.Kind{spec.SlotCursor},
		Checks:        []string{"resume.starts-after-cursor", "resume.excludes-cursor"},
		NewEffect:     overrideResume(func(int64, int64) (int64, bool) { return 0, true })},
	{Name: "resume-expired", Doc: "the cursor is refused as unknown",
		RequiredKinds: []spec.Kind{spec.SlotCursor}, Checks: []string{"wire.opens-stream"},
		NewEffect: overrideResume(func(at, _ int64) (int64, bool) { return at, false })},
	{Name: "resume-newer", Doc: "a resumed stream contains only events that occur after the request",
		RequiredKinds: []spec.Kind{spec.SlotCursor}, Checks: []string{"resume.loses-nothing"},
		NewEffect: overrideResume(func(_, last int64) (int64, bool) { return last, true })},
	{Name: "cursor-missing", Doc: "events have no id",
		RequiredKinds: []spec.Kind{spec.SlotCursor}, Triggers: atEvent, Checks: []string{"cursor.present"},
		NewEffect: editStream(func(a Args) func(int, []byte) []byte {
			return func(n int, frame []byte) []byte {
				if n < a.Trigger.Event {
					return frame
				}
				return replaceIDLine(frame, nil)
			}
		})},
	{Name: "cursor-repeated", Doc: "an event has the same id as the preceding event",
		RequiredKinds: []spec.Kind{spec.SlotCursor}, Triggers: atEvent, Checks: []string{"cursor.unique"},
		NewEffect: editStream(func(a Args) func(int, []byte) []byte {
			var before []byte // the preceding id line
			at, done := max(a.Trigger.Event, 1), false
			return func(n int, frame []byte) []byte {
				id, ok := sse.FindField(frame, "id")
				switch {
				case !ok:
				case n >= at && before != nil && !done:
					done = true
					return replaceIDLine(frame, before)
				default:
					before = bytes.Clone(frame[id.Start:id.Next])
				}
				return frame
			}
		})},
}

// overrideResume returns a value for [Fault.NewEffect]. When a client resumes a stream, the effect
// calls f, whose arguments and results are those of [Effect.OnResume]: at is the position of the
// client's cursor, last is that of the last event, and the results are the position from which the
// stream is resumed, and false if the cursor is refused.
func overrideResume(f func(at, last int64) (int64, bool)) func(Args) Effect {
	return func(a Args) Effect {
		return Effect{OnResume: func(at, last int64) (int64, bool) {
			from, ok := f(at, last)
			if from != at || !ok {
				a.Applied()
			}
			return from, ok
		}}
	}
}

// replaceIDLine returns a copy of frame in which line, which includes its line ending, replaces the
// id line. If line is nil, the copy has no id line. If frame has no id line, replaceIDLine returns
// frame itself.
func replaceIDLine(frame, line []byte) []byte {
	id, ok := sse.FindField(frame, "id")
	if !ok {
		return frame
	}
	return slices.Concat(frame[:id.Start], line, frame[id.Next:])
}
