package rules

import (
	"errors"
	"hash/maphash"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

var resumeChecks = []*spec.Check{
	ResumeStartsAfterCursor, ResumeExcludesCursor, ResumeIsComplete, ResumedEventsAreUnchanged, ResumeEndsRun, ResumeAcceptsThreadCursor,
}

// A recordedStream is one stream of a run, from its start or from a cursor on.
type recordedStream struct {
	request    spec.Event
	frames     []streamFrame
	err        error // how the body ended
	bodyEnd    spec.Event
	runEnded   bool // it told the end of the run
	positions  map[string]int
	ownCursors map[string]bool // the cursors of its run
}

// streamFrame is what a rule about several streams keeps of an event: enough to compare
// it and to show it.
type streamFrame struct {
	cursor                        string
	hash                          uint64
	exchange, frame, line, offset int
	raw                           []byte
	kind                          spec.Kind
}

func (h streamFrame) event() spec.Event {
	return spec.Event{Kind: h.kind, Exchange: h.exchange, Frame: h.frame, Line: h.line, Offset: h.offset, Raw: h.raw, Cursor: h.cursor}
}

// indexOf is where in the telling the cursor stands, -1 if it does not.
func (t *recordedStream) indexOf(cursor string) int {
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

// eachResumedStream lets a rule compare, at the end of a conversation, each telling of a run
// with the fullest one that is known.
func eachResumedStream(judge func(p *spec.Pass, full, t *recordedStream)) watchFunc {
	return func(p *spec.Pass) func(spec.Event) {
		all, observe := spec.SharedState(p, "resumes", func() (*streamsByRun, func(spec.Event)) {
			all := &streamsByRun{runs: map[string][]*recordedStream{}, hashSeed: maphash.MakeSeed()}
			return all, all.observe
		})
		return func(e spec.Event) {
			if observe(e); e.Kind != "" {
				return
			}
			for _, key := range all.runOrder {
				full := longestStream(all.runs[key])
				for _, t := range all.runs[key] {
					if full != nil && t != full {
						judge(p, full, t)
					}
				}
			}
		}
	}
}

// streamsByRun are the tellings of the runs of a conversation.
type streamsByRun struct {
	runs     map[string][]*recordedStream
	runOrder []string // of the runs
	current  *recordedStream
	hashSeed maphash.Seed
}

func (all *streamsByRun) observe(e spec.Event) {
	current := all.current
	switch {
	case e.Kind == spec.HTTPRequest:
		all.current = nil
		if e.IsStream() && e.Valid() && e.Run != "" {
			all.current = &recordedStream{request: e}
		}
	case e.Kind == spec.HTTPResponse && current != nil && e.IsStream() && e.StatusCode == 200:
		key := runKey(current.request)
		if all.runs[key] == nil {
			all.runOrder = append(all.runOrder, key)
		}
		all.runs[key] = append(all.runs[key], current)
	case current != nil && e.IsFrame() && e.Cursor != "":
		current.frames = append(current.frames, streamFrame{e.Cursor, maphash.Bytes(all.hashSeed, e.Raw), e.Exchange, e.Frame, e.Line, e.Offset, e.Raw, e.Kind})
		current.runEnded = current.runEnded || isTerminal(e)
	case current != nil && e.Kind == spec.BodyEnd:
		current.err, current.bodyEnd = e.Err, e
	}
}

// longestStream is the longest telling from the start, a complete one before any other.
func longestStream(streams []*recordedStream) (full *recordedStream) {
	for _, t := range streams {
		if t.request.Cursor != "" {
			continue
		}
		if full == nil || t.runEnded && !full.runEnded || t.runEnded == full.runEnded && len(t.frames) > len(full.frames) {
			full = t
		}
	}
	return full
}

// startIndex is where in full the telling has to begin, -1 if nobody can tell.
func (t *recordedStream) startIndex(full *recordedStream) int {
	if t.request.Cursor == "" {
		return 0
	}
	if i := full.indexOf(t.request.Cursor); i >= 0 {
		return i + 1
	}
	return -1
}

// ResumeStartsAfterCursor judges where a resumed stream begins.
var ResumeStartsAfterCursor = &spec.Check{
	ID:    "resume.starts-after-cursor",
	Doc:   "a stream taken up at a cursor tells nothing from before the cursor",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *recordedStream) {
		from := t.startIndex(full)
		if t.request.Cursor == "" || from < 0 {
			return
		}
		for _, h := range t.frames {
			i := full.indexOf(h.cursor)
			p.Judge(h.event(), i < 0 || i >= from-1, "taken up at %q, it tells %q from before", t.request.Cursor, h.cursor)
		}
	}),
}

// ResumeExcludesCursor judges whether the cursor's own event is told again.
var ResumeExcludesCursor = &spec.Check{
	ID:    "resume.excludes-cursor",
	Doc:   "a stream taken up at a cursor does not tell the event of the cursor again",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *recordedStream) {
		if t.request.Cursor == "" || t.startIndex(full) < 0 || len(t.frames) == 0 {
			return
		}
		i := t.indexOf(t.request.Cursor)
		first := t.frames[max(0, i)].event()
		p.Judge(first, i < 0, "taken up at %q, it tells that event again", t.request.Cursor)
	}),
}

// ResumeIsComplete judges that a resumed stream is the rest of the whole.
var ResumeIsComplete = &spec.Check{
	ID: "resume.loses-nothing",
	Doc: `a stream taken up at a cursor tells everything after it, in order

Whoever lost the connection has heard everything up to the cursor and nothing after
it. Where a stream begins that is asked for without a cursor, it does not say; from there
on it is held to the same.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *recordedStream) {
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
			case i >= 0 && i < next: // told again: another rule's business
			case i < 0 && full.runEnded:
				p.Judge(h.event(), false, "%q was not told in the whole stream", h.cursor)
			case next < len(full.frames):
				p.Judge(h.event(), i == next, "%q comes where %q was next", h.cursor, full.frames[next].cursor)
				next = max(next, i) + 1
			}
		}
		if t.err == nil && full.runEnded && t.request.PollLimit == "" {
			p.Judge(t.bodyEnd, next >= len(full.frames), "the stream taken up at %q ended, and %s still to come", t.request.Cursor, pluralizeWithVerb(len(full.frames)-next, "event"))
		}
	}),
}

// ResumedEventsAreUnchanged judges that an event is the same whenever it is told.
var ResumedEventsAreUnchanged = &spec.Check{
	ID:    "resume.tells-the-same",
	Doc:   "an event has the same id and the same data whenever it is told",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *recordedStream) {
		for _, h := range t.frames {
			if i := full.indexOf(h.cursor); i >= 0 {
				p.Judge(h.event(), full.frames[i].hash == h.hash || sameFrameData(full.frames[i].raw, h.raw), "%q was told differently: %s", h.cursor, full.frames[i].raw)
			}
		}
	}),
}

// ResumeEndsRun judges that a resumed stream ends like any other.
var ResumeEndsRun = &spec.Check{
	ID:    "resume.ends",
	Doc:   "a stream taken up at a cursor tells the end of the run before it ends itself",
	Needs: []spec.Kind{spec.SlotCursor, spec.RunEnd},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *recordedStream) {
		from := t.startIndex(full)
		if t.request.Cursor == "" || from < 0 || from >= len(full.frames) || errors.Is(t.err, spec.ErrClientLeft) || t.request.PollLimit != "" || !full.runEnded {
			return
		}
		p.Judge(t.bodyEnd, t.runEnded, "the stream taken up at %q ended%s without the end of the run", t.request.Cursor, describeError(t.err))
	}),
}

// ResumeAcceptsThreadCursor judges what a cursor of an earlier run is good for.
var ResumeAcceptsThreadCursor = &spec.Check{
	ID: "resume.takes-thread-cursor",
	Doc: `a cursor of an earlier run of the same conversation is a place before the whole of a later one

Cursors are those of the conversation's events, of which a stream tells one run's. That
the server does not keep so much (404, 410) is not judged, nor is a run that was asked
for before the cursor was told.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: func(p *spec.Pass) func(spec.Event) {
		t := threadCursors{map[string]*spec.Event{}, map[string]map[string]bool{}, map[string]int{}, map[string][]*recordedStream{}}
		var earlier []*recordedStream // that were asked for at a cursor of another run
		var current *recordedStream
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
					p.Judge(e, false, "%q, which was told of the run before in the same conversation, is refused with %d", current.request.Cursor, e.StatusCode)
				case fromEarlierRun:
					earlier = append(earlier, current)
				default:
					t.runs[runKey(current.request)] = append(t.runs[runKey(current.request)], current)
				}
			case current != nil && e.IsFrame() && e.Cursor != "":
				t.addFrame(current, e)
			case current != nil && e.Kind == spec.BodyEnd:
				current.err, current.bodyEnd = e.Err, e
			case e.Kind == "":
				for _, x := range earlier {
					if full := longestStream(t.runs[runKey(x.request)]); full != nil && full.runEnded && x.request.PollLimit == "" {
						n := x.commonPrefixLen(full)
						p.Judge(x.bodyEnd, n == len(x.frames) && (x.err != nil || n == len(full.frames)),
							"taken up at %q, of the run before, it tells %s, the first %d of them as the whole run with its %s does", x.request.Cursor, pluralize(len(x.frames), "event"), n, pluralize(len(full.frames), "event"))
					}
				}
			}
		}
	},
}

// A threadCursors is what was seen of the cursors of conversations.
type threadCursors struct {
	issuedBy      map[string]*spec.Event     // cursor → the request whose answer told it first
	ownCursors    map[string]map[string]bool // run → the cursors that it was seen to have
	firstExchange map[string]int             // run → the exchange that asked for it
	runs          map[string][]*recordedStream
}

func (t *threadCursors) startStream(e spec.Event) *recordedStream {
	if e.Run == "" || !e.Valid() {
		return nil
	}
	if _, ok := t.firstExchange[runKey(e)]; !ok {
		t.firstExchange[runKey(e)] = e.Exchange
	}
	return &recordedStream{request: e}
}

// isFromEarlierRun says that a request names a cursor which the conversation had before the run
// that it asks for, and which is none of this run.
func (t *threadCursors) isFromEarlierRun(request spec.Event) bool {
	from, known := t.issuedBy[request.Cursor]
	return known && from.Thread == request.Thread && from.Run != request.Run && from.Exchange < t.firstExchange[runKey(request)] && !t.ownCursors[runKey(request)][request.Cursor]
}

func (t *threadCursors) addFrame(stream *recordedStream, e spec.Event) {
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
	stream.frames, stream.runEnded = append(stream.frames, streamFrame{cursor: e.Cursor}), stream.runEnded || isTerminal(e)
}

// commonPrefixLen is how many events of a telling are, from its beginning, those of the whole.
func (t *recordedStream) commonPrefixLen(full *recordedStream) (n int) {
	for n < min(len(t.frames), len(full.frames)) && t.frames[n].cursor == full.frames[n].cursor {
		n++
	}
	return n
}
