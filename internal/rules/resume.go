package rules

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

var resumeChecks = []*spec.Check{
	ResumeStartsAfterCursor, ResumeExcludesCursor, ResumeIsComplete, ResumedEventsAreUnchanged, ResumeEndsRun,
	ResumeAcceptsThreadCursor,
}

// An observedStream is one stream of a run, requested from its start or from a cursor.
type observedStream struct {
	request    spec.Event
	frames     []streamFrame
	err        error // how the body ended, as in bodyEnd
	bodyEnd    spec.Event
	runEnded   bool            // it has the terminal event
	positions  map[string]int  // by cursor: the index in frames
	ownCursors map[string]bool // the cursors of its run, shared with the run's other streams
}

// A streamFrame holds what is kept of a frame: enough to compare the frame and to report it.
// Keeping whole events of all streams would take too much memory.
type streamFrame struct {
	cursor                        string
	hash                          uint64
	exchange, frame, line, offset int
	raw                           []byte
	kind                          spec.Kind
}

// event returns an event with the members of the frame that were kept, as evidence for a finding.
func (h streamFrame) event() spec.Event {
	return spec.Event{
		Kind: h.kind, Exchange: h.exchange, Frame: h.frame, Line: h.line, Offset: h.offset, Raw: h.raw, Cursor: h.cursor,
	}
}

// indexOf returns the index of the first frame that has the cursor, or -1 if there is none.
func (t *observedStream) indexOf(cursor string) int {
	if t.positions == nil {
		t.positions = map[string]int{}
		for i, h := range slices.Backward(t.frames) {
			t.positions[h.cursor] = i
		}
	}
	if i, ok := t.positions[cursor]; ok {
		return i
	}
	return -1
}

// eachResumedStream returns a watchFunc that calls judge, at the end of a conversation, with pairs
// of streams of the same run. The argument full is the longest stream that was requested from the
// start of the run (see longestStream), and t is each other stream of the run in turn. Runs without
// such a full stream are left out.
func eachResumedStream(judge func(p *spec.Pass, full, t *observedStream)) watchFunc {
	return func(p *spec.Pass) func(spec.Event) {
		all := spec.Shared(p, "resumes", func() (*streamsByRun, func(spec.Event)) {
			all := &streamsByRun{runs: map[string][]*observedStream{}, hashSeed: maphash.MakeSeed()}
			return all, all.observe
		})
		p.AtEnd(func() {
			for _, key := range all.runOrder {
				full := longestStream(all.runs[key])
				for _, t := range all.runs[key] {
					if full != nil && t != full {
						judge(p, full, t)
					}
				}
			}
		})
		return func(spec.Event) {}
	}
}

// streamsByRun collects the streams of a conversation, grouped by run key.
type streamsByRun struct {
	runs     map[string][]*observedStream
	runOrder []string // the keys of runs, in order
	current  *observedStream
	hashSeed maphash.Seed
}

// observe updates the streams with one event of the conversation.
func (all *streamsByRun) observe(e spec.Event) {
	current := all.current
	switch {
	case e.Kind == spec.HTTPRequest:
		all.current = nil
		if e.IsStream() && e.Valid() && e.Run != "" {
			all.current = &observedStream{request: e}
		}
	case e.Kind == spec.HTTPResponse && current != nil && e.IsStream() && e.StatusCode == 200:
		key := runKey(current.request)
		if all.runs[key] == nil {
			all.runOrder = append(all.runOrder, key)
		}
		all.runs[key] = append(all.runs[key], current)
	case current != nil && e.IsFrame() && e.Cursor != "":
		hash := maphash.Bytes(all.hashSeed, e.Raw)
		frame := streamFrame{e.Cursor, hash, e.Exchange, e.Frame, e.Line, e.Offset, e.Raw, e.Kind}
		current.frames = append(current.frames, frame)
		current.runEnded = current.runEnded || isTerminal(e)
	case current != nil && e.Kind == spec.BodyEnd:
		current.err, current.bodyEnd = e.Err, e
	}
}

// longestStream returns the stream with the most frames among those that were requested from the
// start of the run. A stream with a terminal event precedes all streams without one. longestStream
// returns nil if all streams were requested from a cursor.
func longestStream(streams []*observedStream) (full *observedStream) {
	for _, t := range streams {
		if t.request.Cursor != "" {
			continue
		}
		if full == nil || t.runEnded && !full.runEnded ||
			t.runEnded == full.runEnded && len(t.frames) > len(full.frames) {
			full = t
		}
	}
	return full
}

// startIndex returns the index of the frame of full with which t has to start: the frame after the
// cursor from which t was requested, or 0 if t was requested without a cursor. It returns -1 if
// full does not have the cursor.
func (t *observedStream) startIndex(full *observedStream) int {
	if t.request.Cursor == "" {
		return 0
	}
	if i := full.indexOf(t.request.Cursor); i >= 0 {
		return i + 1
	}
	return -1
}

// describeStart returns a description of the start of the stream, for a message: "requested without
// a cursor" or the cursor after which the stream resumed.
func (t *observedStream) describeStart() string {
	if t.request.Cursor == "" {
		return "requested without a cursor"
	}
	return fmt.Sprintf("resumed after %q", t.request.Cursor)
}

// ResumeStartsAfterCursor judges whether a resumed stream contains no event from before its cursor.
var ResumeStartsAfterCursor = &spec.Check{
	ID:    "resume.starts-after-cursor",
	Doc:   "a resumed stream has no event from before the cursor",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *observedStream) {
		from := t.startIndex(full)
		if t.request.Cursor == "" || from < 0 {
			return
		}
		for _, h := range t.frames {
			i := full.indexOf(h.cursor)
			p.Judge(h.event(), i < 0 || i >= from-1,
				"resumed after %q but replayed the earlier event %q; expected only later events",
				t.request.Cursor, h.cursor)
		}
	}),
}

// ResumeExcludesCursor judges whether a resumed stream omits the event of its cursor.
var ResumeExcludesCursor = &spec.Check{
	ID:    "resume.excludes-cursor",
	Doc:   "a resumed stream does not repeat the event of the cursor",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *observedStream) {
		if t.request.Cursor == "" || t.startIndex(full) < 0 || len(t.frames) == 0 {
			return
		}
		i := t.indexOf(t.request.Cursor)
		first := t.frames[max(0, i)].event()
		p.Judge(first, i < 0, "resumed after %q but replayed that event; expected the event after it", t.request.Cursor)
	}),
}

// ResumeIsComplete judges whether a resumed stream has, in order, all events that follow the cursor
// in the longest stream of the run.
var ResumeIsComplete = &spec.Check{
	ID: "resume.loses-nothing",
	Doc: `a resumed stream has all events after the cursor, in order

A client that lost its connection has received everything up to the cursor and nothing
after it. A stream that is requested again without a cursor may start anywhere and must be
complete from there.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *observedStream) {
		next := t.startIndex(full)
		if t.request.Cursor == "" && len(t.frames) > 0 {
			next = full.indexOf(t.frames[0].cursor)
		}
		if next < 0 || t.request.Cursor == "" && len(t.frames) == 0 {
			return
		}
		for _, h := range t.frames {
			i := full.indexOf(h.cursor)
			switch {
			case i >= 0 && i < next: // judged by resume.starts-after-cursor
			case i < 0 && full.runEnded:
				p.Judge(h.event(), false,
					"got event id %q, which the uninterrupted stream does not have; expected the same events",
					h.cursor)
			case next < len(full.frames):
				p.Judge(h.event(), i == next,
					"got event id %q, but the uninterrupted stream continues with %q; expected the same events",
					h.cursor, full.frames[next].cursor)
				next = max(next, i) + 1
			}
		}
		if t.err == nil && full.runEnded && t.request.PollLimit == "" {
			p.Judge(t.bodyEnd, next >= len(full.frames),
				"stream %s closed with %s missing; expected all events to the end of the run",
				t.describeStart(), pluralize(len(full.frames)-next, "event"))
		}
	}),
}

// ResumedEventsAreUnchanged judges whether an event has the same data in all streams of a run.
var ResumedEventsAreUnchanged = &spec.Check{
	ID:    "resume.tells-the-same",
	Doc:   "an event has the same data in every stream of its run",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *observedStream) {
		for _, h := range t.frames {
			if i := full.indexOf(h.cursor); i >= 0 {
				same := full.frames[i].hash == h.hash || sameFrameData(full.frames[i].raw, h.raw)
				p.Judge(h.event(), same,
					"data of event %q differs between streams of its run; expected %s", h.cursor, full.frames[i].raw)
			}
		}
	}),
}

// ResumeEndsRun judges whether a resumed stream sends a terminal event before it closes.
var ResumeEndsRun = &spec.Check{
	ID:    "resume.ends",
	Doc:   "a resumed stream sends its run's terminal event before it closes",
	Needs: []spec.Kind{spec.SlotCursor, spec.RunEnd},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *observedStream) {
		from := t.startIndex(full)
		unknown := t.request.Cursor == "" || from < 0 || from >= len(full.frames) || !full.runEnded
		if unknown || errors.Is(t.err, spec.ErrClientLeft) || t.request.PollLimit != "" {
			return
		}
		p.Judge(t.bodyEnd, t.runEnded,
			"stream resumed after %q closed%s before the run's terminal event", t.request.Cursor, describeError(t.err))
	}),
}

// ResumeAcceptsThreadCursor judges whether a stream that is requested with a cursor of an earlier
// run starts at the beginning of its own run.
var ResumeAcceptsThreadCursor = &spec.Check{
	ID: "resume.takes-thread-cursor",
	Doc: `a cursor of an earlier run of the same thread resumes a later run from its start

Cursors are positions in the events of the whole thread, of which a stream has those of one
run. Not judged: a server that no longer has the cursor (404, 410), and a run that was
requested before the cursor was issued.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: func(p *spec.Pass) func(spec.Event) {
		t := threadCursors{
			map[string]*spec.Event{}, map[string]map[string]bool{}, map[string]int{}, map[string][]*observedStream{},
		}
		var earlier []*observedStream // resumed from a cursor of an earlier run
		var current *observedStream
		p.AtEnd(func() {
			for _, x := range earlier {
				full := longestStream(t.runs[runKey(x.request)])
				if full == nil || !full.runEnded || x.request.PollLimit != "" {
					continue
				}
				n := x.commonPrefixLen(full)
				complete := n == len(x.frames) && (x.err != nil || n == len(full.frames))
				p.Judge(x.bodyEnd, complete,
					"requested with %q, a cursor of an earlier run, the stream has %s, of which %d match the start of the run; expected all %d events of the run",
					x.request.Cursor, pluralize(len(x.frames), "event"), n, len(full.frames))
			}
		})
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				current = t.startStream(e)
			case e.Kind == spec.HTTPResponse && current != nil:
				fromEarlierRun := t.isFromEarlierRun(current.request)
				switch {
				case !current.request.IsStream() || isStateDependentStatus(e.StatusCode) || e.StatusCode != 200 && !fromEarlierRun:
					current = nil
				case e.StatusCode/100 == 4:
					p.Judge(e, false,
						"cursor %q of an earlier run of the thread is refused with status %d; expected the run from its start",
						current.request.Cursor, e.StatusCode)
				case fromEarlierRun:
					earlier = append(earlier, current)
				default:
					t.runs[runKey(current.request)] = append(t.runs[runKey(current.request)], current)
				}
			case current != nil && e.IsFrame() && e.Cursor != "":
				t.addFrame(current, e)
			case current != nil && e.Kind == spec.BodyEnd:
				current.err, current.bodyEnd = e.Err, e
			}
		}
	},
}

// threadCursors holds the cursors that a server issued in a conversation, and the streams that had
// them.
type threadCursors struct {
	issuedBy      map[string]*spec.Event       // by cursor: the request whose stream had it first
	ownCursors    map[string]map[string]bool   // by run: its cursors
	firstExchange map[string]int               // by run: the exchange that requested it first
	runs          map[string][]*observedStream // by run
}

// startStream returns a new stream for a request, and notes the exchange in which its run was first
// requested. It returns nil if the request is invalid or names no run.
func (t *threadCursors) startStream(e spec.Event) *observedStream {
	if e.Run == "" || !e.Valid() {
		return nil
	}
	if _, ok := t.firstExchange[runKey(e)]; !ok {
		t.firstExchange[runKey(e)] = e.Exchange
	}
	return &observedStream{request: e}
}

// isFromEarlierRun reports whether the cursor of a request was issued in a stream of an earlier run
// of the same thread, before the run that the request names was first requested.
func (t *threadCursors) isFromEarlierRun(request spec.Event) bool {
	from, known := t.issuedBy[request.Cursor]
	return known && from.Thread == request.Thread && from.Run != request.Run &&
		from.Exchange < t.firstExchange[runKey(request)] && !t.ownCursors[runKey(request)][request.Cursor]
}

// addFrame adds a frame with a cursor to the frames of a stream, and records that the server issued
// the cursor.
func (t *threadCursors) addFrame(stream *observedStream, e spec.Event) {
	if stream.ownCursors == nil {
		if stream.ownCursors = t.ownCursors[runKey(stream.request)]; stream.ownCursors == nil {
			stream.ownCursors = map[string]bool{}
			t.ownCursors[runKey(stream.request)] = stream.ownCursors
		}
	}
	stream.ownCursors[e.Cursor] = true
	if _, ok := t.issuedBy[e.Cursor]; !ok {
		t.issuedBy[e.Cursor] = &stream.request
	}
	stream.frames = append(stream.frames, streamFrame{cursor: e.Cursor})
	stream.runEnded = stream.runEnded || isTerminal(e)
}

// commonPrefixLen returns the number of frames at the start of t whose cursors are those of the
// frames at the start of full.
func (t *observedStream) commonPrefixLen(full *observedStream) (n int) {
	for n < min(len(t.frames), len(full.frames)) && t.frames[n].cursor == full.frames[n].cursor {
		n++
	}
	return n
}
