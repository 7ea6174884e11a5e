package rules

import "github.com/streamassay/streamassay/spec"

// ResumeKeepsToRun judges whether all events of a resumed stream belong to the requested run. A
// cursor is a position in the events of the whole thread, so a server that resumes a stream also
// reads the events of other runs, and has to leave them out.
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

// ResumesTwice judges whether a stream that is resumed for the second time has all events after its
// cursor, in order.
var ResumesTwice = &spec.Check{
	ID: "resume.twice-loses-nothing",
	Doc: `a stream that is resumed a second time has all events after the cursor, in order

The cursor is one that only a resumed stream can have told: the client had asked with another
cursor before, and this one comes later.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: func(p *spec.Pass) func(spec.Event) {
		all := streamsByRunOf(p)
		p.AtEnd(func() {
			for _, key := range all.runOrder {
				full := longestStream(all.runs[key])
				for i, t := range all.runs[key] {
					if full != nil && t != full && t.continuesResumed(all.runs[key][:i]) {
						judgeComplete(p, full, t)
					}
				}
			}
		})
		return func(spec.Event) {}
	},
}

// continuesResumed reports whether t continues a stream that was itself resumed, so that the client
// resumes the run for the second time. The argument earlier lists the streams of the run before t.
// One of them must have been requested with a cursor, have no terminal event, and end with the
// cursor with which t was requested.
func (t *observedStream) continuesResumed(earlier []*observedStream) bool {
	for _, s := range earlier {
		n := len(s.frames)
		if s.request.Cursor != "" && n > 0 && t.request.Cursor == s.frames[n-1].cursor && !s.runEnded {
			return true
		}
	}
	return false
}
