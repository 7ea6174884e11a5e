package mutation

import (
	"bytes"
	"net/http"
	"slices"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

// editResumed returns a middleware that edits streams that are resumed from a cursor. It calls
// begin with each valid request v for such a stream, and begin returns the edit of that stream. The
// argument r contains the frames that the server has sent so far in streams that were not resumed.
func editResumed(begin func(v parsedRequest, r *framesByRun) streamEdit) middleware {
	return func(next dialectHandler) dialectHandler {
		r := &framesByRun{frames: map[string][][]byte{}}
		return editStreams(func(v parsedRequest) streamEdit {
			switch {
			case !v.isOperation("listen") || !v.parsed().Valid():
				return streamEdit{}
			case v.parsed().Cursor == "":
				return streamEdit{frame: r.recorder(v)}
			}
			return begin(v, r)
		})(next)
	}
}

// A framesByRun holds the frames of each run in the order in which they were first sent. The mutex
// mu protects the field frames.
type framesByRun struct {
	mu     sync.Mutex
	frames map[string][][]byte // by run id
}

// recorder returns a function that records its argument, a frame of the response to the request v,
// for the run of v, and returns it unchanged. A frame that is equal to a recorded frame of the run
// is not recorded again.
func (r *framesByRun) recorder(v parsedRequest) func(frame []byte) []byte {
	return func(frame []byte) []byte {
		r.mu.Lock()
		defer r.mu.Unlock()
		id := v.parsed().Run
		if !slices.ContainsFunc(r.frames[id], func(f []byte) bool { return bytes.Equal(f, frame) }) {
			r.frames[id] = append(r.frames[id], frame)
		}
		return frame
	}
}

// findCursor returns the recorded frame whose id is the cursor of the request v, and the index of
// that frame among the frames of the run that v names. If there is no such frame, it returns nil
// and -1.
func (r *framesByRun) findCursor(v parsedRequest) (frame []byte, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := []byte("id: " + v.parsed().Cursor + "\n")
	at = slices.IndexFunc(r.frames[v.parsed().Run], func(f []byte) bool {
		return bytes.HasPrefix(f, line) || bytes.Contains(f, append([]byte("\n"), line...))
	})
	if at >= 0 {
		frame = r.frames[v.parsed().Run][at]
	}
	return frame, at
}

func (r *framesByRun) firstFrame(v parsedRequest) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if all := r.frames[v.parsed().Run]; len(all) > 0 {
		return all[0]
	}
	return nil
}

// editFrameAt returns an edit of one stream. In place of the frame with the given index, counted
// from 0, it sends replace(frame), which may be several frames or none. A stream with fewer frames
// is not changed.
func editFrameAt(index int, replace func(frame []byte) []byte) streamEdit {
	n := -1
	return streamEdit{frame: func(frame []byte) []byte {
		if n++; n == index {
			return replace(frame)
		}
		return frame
	}}
}

// dropFrame returns nil. As a field of a streamEdit, or as the argument replace of editFrameAt, it
// removes the frame or comment from the stream.
func dropFrame([]byte) []byte { return nil }

// editLast returns an edit of one stream. In place of the last frame, it sends replace(frame),
// which may be several frames or none. The edit holds back each frame until the next one arrives or
// the stream ends, because only then does it know whether the frame is the last one.
func editLast(replace func(frame []byte) []byte) streamEdit {
	var held []byte
	return streamEdit{
		frame: func(frame []byte) []byte {
			frame, held = held, frame
			return frame
		},
		end: func() []byte {
			if held == nil {
				return nil
			}
			return replace(held)
		},
	}
}

// resumeStartMutants are servers that repeat frames in a resumed stream, although the client has
// already received them.
var resumeStartMutants = []*Mutant{
	{
		Name: "resumed-from-start", Doc: "begins a resumed stream with the start of the run again",
		KilledBy: map[string]string{
			"resume.starts-after-cursor": "message.delta message.end message.start run.start",
			"resume.excludes-cursor":     "message.* run.*",
		},
		Fault: "resume-from-start; streams=0",
	}, {
		Name: "resumed-with-first-event", Doc: "repeats the first event of the run in a resumed stream",
		KilledBy: map[string]string{"resume.starts-after-cursor": "run.start"},
		Middleware: editResumed(func(v parsedRequest, r *framesByRun) streamEdit {
			return editFrameAt(0, func(frame []byte) []byte {
				if _, at := r.findCursor(v); at < 1 { // otherwise it is the event of the cursor itself
					return frame
				}
				return slices.Concat(r.firstFrame(v), frame)
			})
		}),
	}, {
		Name: "resumed-with-cursor-event", Doc: "begins a resumed stream with the event of the cursor",
		KilledBy: map[string]string{"resume.excludes-cursor": "message.delta message.end message.start run.end run.start"},
		Fault:    "resume-repeated; streams=0",
	}, {
		Name: "resumed-late-cursor-event", Doc: "sends the event of the cursor after the next one in a resumed stream",
		KilledBy: map[string]string{"resume.excludes-cursor": "message.delta message.end message.start run.start"},
		Middleware: editResumed(func(v parsedRequest, r *framesByRun) streamEdit {
			return editFrameAt(0, func(frame []byte) []byte {
				old, _ := r.findCursor(v)
				return slices.Concat(frame, old)
			})
		}),
	},
}

// resumeLossMutants are servers that leave out events of a stream when it is resumed.
var resumeLossMutants = []*Mutant{
	{
		Name: "resumed-lacks-next-event", Doc: "omits the event after the cursor from a resumed stream",
		KilledBy: map[string]string{"resume.loses-nothing": "message.delta message.end run.end"},
		// A stream resumed before the last event has no event at all.
		AlsoFails: []string{"resume.ends", "resume.takes-thread-cursor", "resume.twice-loses-nothing"},
		Fault:     "resume-lost; streams=0",
	}, {
		Name: "resumed-second-event-missing", Doc: "omits the second event of a resumed stream",
		KilledBy:   map[string]string{"resume.loses-nothing": "message.delta message.end run.end"},
		AlsoFails:  []string{"resume.ends", "resume.takes-thread-cursor", "resume.twice-loses-nothing"}, // the second event may be the last one
		Middleware: editResumed(func(parsedRequest, *framesByRun) streamEdit { return editFrameAt(1, dropFrame) }),
	}, {
		Name: "resumed-new-events-only", Doc: "sends only events that occur after the request in a resumed stream",
		KilledBy: map[string]string{"resume.loses-nothing": "http.close"},
		// The terminal event may precede the resumed part, and all resumed streams have the defect.
		AlsoFails: []string{"resume.ends", "resume.takes-thread-cursor", "resume.twice-loses-nothing"},
		Fault:     "resume-newer; streams=0",
	}, {
		Name: "resumed-last-event-missing", Doc: "omits the last event of a resumed stream",
		KilledBy: map[string]string{
			"resume.ends":          "http.close",
			"resume.loses-nothing": "http.close",
		},
		Middleware: editResumed(func(parsedRequest, *framesByRun) streamEdit { return editLast(dropFrame) }),
		AlsoFails:  []string{"resume.takes-thread-cursor", "resume.twice-loses-nothing"}, // resuming from a cursor of the previous run, or twice, has the same defect
	}, {
		Name: "resumed-empty", Doc: "sends no events in a resumed stream",
		KilledBy: map[string]string{
			"resume.ends":          "http.close",
			"resume.loses-nothing": "http.close",
		},
		Middleware: editResumed(func(parsedRequest, *framesByRun) streamEdit { return streamEdit{frame: dropFrame} }),
		AlsoFails:  []string{"resume.takes-thread-cursor"}, // resuming from a cursor of the previous run has the same defect
	}, {
		Name: "resumed-events-held", Doc: "holds back the events of a resumed stream and sends them all at once when the run ends",
		KilledBy: map[string]string{"wire.flushes": "message.delta"}, Needs: []spec.Kind{spec.SlotCursor},
		Middleware: editResumed(func(parsedRequest, *framesByRun) streamEdit {
			var held []byte
			return streamEdit{
				frame: func(frame []byte) []byte { held = append(held, frame...); return nil },
				end:   func() []byte { return held },
			}
		}),
	},
}

// resumeThreadCursorMutants are servers that refuse a cursor from an earlier run of the same
// thread, or lose an event after such a cursor.
var resumeThreadCursorMutants = []*Mutant{
	{
		Name: "earlier-run-cursor-refused", Doc: "refuses a cursor from an earlier run of the thread",
		KilledBy: map[string]string{"resume.takes-thread-cursor": "http.response"},
		Middleware: func(next dialectHandler) dialectHandler {
			r := &framesByRun{frames: map[string][][]byte{}}
			return editRequests(func(v parsedRequest) *http.Request {
				if v.isOperation("listen") && v.parsed().Cursor != "" {
					if _, at := r.findCursor(v); at < 0 {
						bad := v.raw
						bad.Header = bad.Header.With("Last-Event-ID", "%%none%%")
						return v.withRequest(bad)
					}
				}
				return v.httpRequest
			})(editFrames(r.recorder)(next))
		},
	}, {
		Name: "earlier-run-cursor-loses-event", Doc: "omits the first event of a later run after a cursor from an earlier run of the thread",
		KilledBy: map[string]string{"resume.takes-thread-cursor": "message.start"},
		Middleware: editResumed(func(v parsedRequest, r *framesByRun) streamEdit {
			if _, at := r.findCursor(v); at >= 0 {
				return streamEdit{}
			}
			return editFrameAt(0, dropFrame)
		}),
		AlsoFails: []string{"resume.loses-nothing", "resume.twice-loses-nothing"}, // resuming from a cursor of the previous run has the same defect
	},
}

// resumeContentMutants are servers that change the data of events when they send the events again
// in a resumed stream.
var resumeContentMutants = []*Mutant{
	{
		Name: "replayed-data-differs", Doc: "changes the data of an event when it sends the event again",
		KilledBy: map[string]string{"resume.tells-the-same": "message.delta message.end message.start run.end run.start"},
		Fault:    "told-differently",
	}, {
		Name: "replayed-data-extra-member", Doc: "adds a member to the data of each event in a resumed stream",
		KilledBy: map[string]string{"resume.tells-the-same": "message.delta message.end message.start run.end run.start"},
		Middleware: editResumed(func(parsedRequest, *framesByRun) streamEdit {
			return streamEdit{frame: func(frame []byte) []byte {
				return bytes.Replace(frame, []byte("data: {"), []byte(`data: {"replayed":true,`), 1)
			}}
		}),
	},
}

// editCanceled returns a middleware that edits the streams of canceled runs. In place of the
// terminal event of such a stream, it sends replace(frame), which may be several frames or none. A
// run counts as canceled if the server has responded with a 2xx status to a valid request to cancel
// it.
func editCanceled(replace func(frame []byte) []byte) middleware {
	return func(next dialectHandler) dialectHandler {
		var canceled sync.Map // ids of runs
		note := editResponses(func(v parsedRequest, a *completeResponse) {
			if v.isOperation("cancel") && v.parsed().Valid() && a.status/100 == 2 {
				canceled.Store(v.parsed().Run, true)
			}
		})
		edit := editStreams(func(v parsedRequest) streamEdit {
			if !v.isOperation("listen") || !v.parsed().Valid() {
				return streamEdit{}
			}
			var last []byte // the terminal event, which is held back until the stream ends
			return streamEdit{
				frame: func(frame []byte) []byte {
					if k := v.decodeFrame(frame).Kind; k == spec.RunEnd || k == spec.RunError {
						last, frame = frame, nil
					}
					return frame
				},
				end: func() []byte {
					if _, ok := canceled.Load(v.parsed().Run); ok && last != nil {
						return replace(last)
					}
					return last
				},
			}
		})
		return note(edit(next))
	}
}

// cancelMutants are servers that send no terminal event for a canceled run, or send it twice.
var cancelMutants = []*Mutant{
	{
		Name: "canceled-terminal-event-missing", Doc: "ends the stream of a canceled run without a terminal event",
		KilledBy: map[string]string{"cancel.run-ends": "http.close"},
		// The end is missing in every stream of the run, resumed ones too, as if the server had
		// stopped sending.
		AlsoFails:  []string{"run.ends", "run.outlives-others", "resume.loses-nothing", "resume.ends"},
		Middleware: editCanceled(dropFrame),
	}, {
		Name: "canceled-terminal-event-twice", Doc: "sends the terminal event of a canceled run twice",
		KilledBy: map[string]string{"cancel.run-ends": "http.close"},
		// The second terminal event follows the first, and has the same event id.
		AlsoFails:  []string{"run.ends-once", "run.end-is-last", "cursor.unique", "resume.loses-nothing", "resume.ends"},
		Middleware: editCanceled(func(frame []byte) []byte { return slices.Concat(frame, frame) }),
	},
}
