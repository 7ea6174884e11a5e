package mutation

import (
	"bytes"
	"slices"
	"sync"
)

// editResumedAgain returns a middleware that edits streams that are resumed for the second time,
// that is, from a cursor that was sent in a resumed stream. The function begin is called for each
// resumed stream, and returns the edit to use if the stream is resumed for the second time. Only
// the field frame of the edit is used, and it must not be nil.
func editResumedAgain(begin func() streamEdit) middleware {
	var sent sync.Map // the cursors that resumed streams have sent
	return editResumed(func(v parsedRequest, _ *framesByRun) streamEdit {
		_, isAgain := sent.Load(v.parsed().Cursor)
		edit := begin()
		return streamEdit{frame: func(frame []byte) []byte {
			for line := range bytes.Lines(frame) {
				if id, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
					sent.Store(string(bytes.TrimSpace(id)), true)
				}
			}
			if !isAgain {
				return frame
			}
			return edit.frame(frame)
		}}
	})
}

// insertOtherRun returns a middleware that inserts an event into resumed streams, before the frame
// with the given index, counted from 0. The event is a copy of the first event of the requested
// run, but names a different run, and its frame has no id line.
func insertOtherRun(index int) middleware {
	return editResumed(func(v parsedRequest, r *framesByRun) streamEdit {
		return editFrameAt(index, func(frame []byte) []byte {
			var start []byte
			for line := range bytes.Lines(r.firstFrame(v)) {
				if !bytes.HasPrefix(line, []byte("id: ")) {
					start = append(start, bytes.ReplaceAll(line, []byte(v.parsed().Run), []byte("another-run"))...)
				}
			}
			return slices.Concat(start, frame)
		})
	})
}

// resumeAgainMutants are servers that lose events only when a stream is resumed for the second
// time, or that send events of other runs only in resumed streams.
var resumeAgainMutants = []*Mutant{
	{
		Name: "resumed-again-first-event-missing", Doc: "omits the first event of a stream that is resumed for the second time",
		KilledBy:   map[string]string{"resume.twice-loses-nothing": "message.delta message.end run.end http.close"},
		AlsoFails:  []string{"resume.loses-nothing", "resume.ends", "resume.takes-thread-cursor"}, // which judge each resumed stream
		Middleware: editResumedAgain(func() streamEdit { return editFrameAt(0, dropFrame) }),
	}, {
		Name: "resumed-again-empty", Doc: "sends no events in a stream that is resumed for the second time",
		KilledBy:   map[string]string{"resume.twice-loses-nothing": "http.close"},
		AlsoFails:  []string{"resume.loses-nothing", "resume.ends", "resume.takes-thread-cursor"}, // which judge each resumed stream
		Middleware: editResumedAgain(func() streamEdit { return streamEdit{frame: dropFrame} }),
	}, {
		Name: "resumed-other-run-first", Doc: "sends the start event of another run as the first event of a resumed stream",
		KilledBy:   map[string]string{"resume.keeps-to-run": "*"},
		AlsoFails:  []string{"run.keeps-to-itself", "echo.run", "run.id-is-stable", "cursor.present"}, // which judge each stream
		Middleware: insertOtherRun(0),
	}, {
		Name: "resumed-other-run-second", Doc: "sends the start event of another run as the second event of a resumed stream",
		KilledBy:   map[string]string{"resume.keeps-to-run": "*"},
		AlsoFails:  []string{"run.keeps-to-itself", "echo.run", "run.id-is-stable", "cursor.present"}, // which judge each stream
		Middleware: insertOtherRun(1),
	},
}
