package rules

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// ResumeKeepsToRun judges whether all events of a resumed stream belong to the requested run. A
// cursor is a position in the events of the whole thread, so a server that resumes a stream must
// skip the events of other runs.
var ResumeKeepsToRun = &spec.Check{
	ID:    "resume.keeps-to-run",
	Doc:   "a resumed stream contains only events of the requested run",
	Needs: []spec.Kind{spec.SlotCursor, spec.SlotRun},
	Watch: eachResponseEvent(func(p *spec.Pass, x *exchange, e spec.Event) {
		if x.request.Cursor != "" {
			judgeOwnRun(p, x, e)
		}
	}),
}

// ResumesTwice judges whether a stream that is resumed for the second time has all events after the
// cursor, in order.
var ResumesTwice = &spec.Check{
	ID: "resume.twice-loses-nothing",
	Doc: `a stream that is resumed a second time has all events after the cursor, in order

This is judged for a request with the cursor of the last event of a resumed stream of the same run.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *observedStream) {
		if t.continuesResumed() {
			judgeComplete(p, full, t)
		}
	}),
}

// continuesResumed reports whether t was requested with the cursor of the last frame of an earlier
// stream of the run, and that stream was itself requested with a cursor and has no terminal event.
func (t *observedStream) continuesResumed() bool {
	return slices.ContainsFunc(t.earlier, func(s *observedStream) bool {
		n := len(s.frames)
		return s.request.Cursor != "" && n > 0 && t.request.Cursor == s.frames[n-1].cursor && !s.runEnded
	})
}
