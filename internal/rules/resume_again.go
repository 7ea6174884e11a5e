package rules

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// ResumeKeepsToRun judges whether all events of a resumed stream belong to the requested run. This
// is a separate check because cursors are positions in the events of the whole thread: a server
// that resumes a stream may come across the events of other runs, and must leave them out.
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

The cursor is one that only a resumed stream can have told: the client had asked with another
cursor before, and this one comes later.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *observedStream) {
		if t.continuesResumed() {
			judgeComplete(p, full, t)
		}
	}),
}

// continuesResumed reports whether t continues a stream that was itself resumed: whether an earlier
// stream of the run was requested with a cursor, has no terminal event, and ends with the frame that
// has the cursor of the request for t.
func (t *observedStream) continuesResumed() bool {
	return slices.ContainsFunc(t.earlier, func(s *observedStream) bool {
		n := len(s.frames)
		return s.request.Cursor != "" && n > 0 && t.request.Cursor == s.frames[n-1].cursor && !s.runEnded
	})
}
