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
	ResumeAcceptsThreadCursor, ResumeKeepsToRun, ResumesTwice,
}

// An observedStream is a request for the stream of a run, from its start or from a cursor,
// together with the frames of the response. Frames without a cursor are left out. There are no
// frames if the response is not a stream.
type observedStream struct {
	request, response, bodyEnd spec.Event
	earlier                    []*observedStream // the streams of the run that were opened before
	frames                     []streamFrame
	runEnded                   bool           // whether a frame is a terminal event
	positions                  map[string]int // by cursor: the index in frames; nil until indexOf is called
}

// isOpened reports whether the server responded to the request with status 200 and an event stream.
func (t *observedStream) isOpened() bool {
	return t.response.StatusCode == 200 && t.response.IsStream()
}

// A streamFrame is a copy of some fields of a frame: those that are needed to compare it with
// other frames and to report it. To keep whole events would take too much memory.
type streamFrame struct {
	cursor                        string
	hash                          uint64 // of raw; see streamsByRun.hashSeed
	exchange, frame, line, offset int    // the position of the frame, as in [spec.Event]
	raw                           []byte // the bytes of the frame
	kind                          spec.Kind
}

// event returns an event that can serve as evidence for a finding about the frame. It has only the
// fields that h has.
func (h streamFrame) event() spec.Event {
	return spec.Event{
		Kind: h.kind, Exchange: h.exchange, Frame: h.frame, Line: h.line, Offset: h.offset, Raw: h.raw, Cursor: h.cursor,
	}
}

// indexOf returns the index in t.frames of the first frame that has the given cursor, or -1 if
// there is none. It must not be called before all frames of the stream were added.
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

// eachResumedStream returns a newWatcherFunc that calls judge, at the end of a conversation, once
// for each stream t of a run. The argument full is the stream to compare with t: the result of
// longestStream for the run. That stream itself is left out. If longestStream returns nil, all
// streams of the run are left out.
func eachResumedStream(judge func(p *spec.Pass, full, t *observedStream)) newWatcherFunc {
	return judgeAtEnd(streamsByRunOf, func(p *spec.Pass, all *streamsByRun) {
		for _, key := range all.runOrder {
			full := longestStream(all.runs[key])
			for _, t := range all.runs[key] {
				if full != nil && t != full {
					judge(p, full, t)
				}
			}
		}
	})
}

// A streamsByRun collects the streams of a conversation. It covers valid requests that name a run.
type streamsByRun struct {
	runs         map[string][]*observedStream // by runKey, in order of their requests
	runOrder     []string                     // the keys of runs, in order of the first stream
	resumed      []*observedStream            // the requests with a cursor, including those that were refused
	firstRequest map[string]int               // by runKey: the index of the first exchange whose request named the run
	issuedBy     map[string]*observedStream   // by cursor: the first stream that had it
	current      *observedStream              // the stream that is being received; nil if there is none
	hashSeed     maphash.Seed                 // for the hashes of frames
}

// streamsByRunOf returns the streams in the conversation that p judges. All checks share the
// result, and must not modify it.
func streamsByRunOf(p *spec.Pass) *streamsByRun {
	return spec.Shared(p, "streams by run", func() (*streamsByRun, func(spec.Event)) {
		all := &streamsByRun{
			runs: map[string][]*observedStream{}, firstRequest: map[string]int{},
			issuedBy: map[string]*observedStream{}, hashSeed: maphash.MakeSeed(),
		}
		return all, all.observe
	})
}

// observe updates the streams with e, the next event of the conversation.
func (all *streamsByRun) observe(e spec.Event) {
	current := all.current
	switch {
	case e.Kind == spec.HTTPRequest:
		all.current = nil
		if !e.Valid() || e.Run == "" {
			return
		}
		if _, known := all.firstRequest[runKey(e)]; !known {
			all.firstRequest[runKey(e)] = e.Exchange
		}
		if e.IsStream() {
			all.current = &observedStream{request: e}
		}
	case current == nil:
	case e.Kind == spec.HTTPResponse:
		all.open(current, e)
	case e.IsFrame() && e.Cursor == "":
		current.runEnded = current.runEnded || isTerminal(e)
	case e.IsFrame():
		if all.issuedBy[e.Cursor] == nil {
			all.issuedBy[e.Cursor] = current
		}
		hash := maphash.Bytes(all.hashSeed, e.Raw)
		frame := streamFrame{e.Cursor, hash, e.Exchange, e.Frame, e.Line, e.Offset, e.Raw, e.Kind}
		current.frames = append(current.frames, frame)
		current.runEnded = current.runEnded || isTerminal(e)
	case e.Kind == spec.BodyEnd:
		current.bodyEnd = e
	}
}

// open records the response to the request of t. If the response is an event stream (see
// isOpened), t becomes a stream of its run. Otherwise, no stream is being received, and
// all.current is set to nil. In both cases, t is added to all.resumed if its request has a cursor.
func (all *streamsByRun) open(t *observedStream, response spec.Event) {
	t.response = response
	if t.request.Cursor != "" {
		all.resumed = append(all.resumed, t)
	}
	if !t.isOpened() {
		all.current = nil
		return
	}
	key := runKey(t.request)
	if all.runs[key] == nil {
		all.runOrder = append(all.runOrder, key)
	}
	t.earlier = all.runs[key]
	all.runs[key] = append(t.earlier, t)
}

// longestStream returns the most complete of the streams of one run. A stream with a terminal
// event is preferred to one without. Otherwise, the stream with the most frames is preferred.
// Streams that were requested with a cursor are ignored; if there are no others, the result is
// nil.
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

// startIndex returns the index in full.frames of the frame with which t must start. If t was
// requested with a cursor, that is the frame after the cursor; otherwise, it is the first one. The
// result is len(full.frames) if the cursor is that of the last frame, and -1 if full does not have
// the cursor.
func (t *observedStream) startIndex(full *observedStream) int {
	if t.request.Cursor == "" {
		return 0
	}
	if i := full.indexOf(t.request.Cursor); i >= 0 {
		return i + 1
	}
	return -1
}

// describeStart describes the start of the stream for the message of a finding. The result is
// "requested without a cursor", or "resumed after" and the quoted cursor.
func (t *observedStream) describeStart() string {
	if t.request.Cursor == "" {
		return "requested without a cursor"
	}
	return fmt.Sprintf("resumed after %q", t.request.Cursor)
}

// ResumeStartsAfterCursor judges whether a resumed stream contains no event that precedes its
// cursor.
var ResumeStartsAfterCursor = &spec.Check{
	ID:    "resume.starts-after-cursor",
	Doc:   "a resumed stream has no event that comes before the cursor in the run",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(func(p *spec.Pass, full, t *observedStream) {
		from := t.startIndex(full)
		if t.request.Cursor == "" || from < 0 {
			return
		}
		for _, h := range t.frames {
			i := full.indexOf(h.cursor)
			p.Judge(h.event(), i < 0 || i >= from-1,
				"client resumed after %q, but the server sent the earlier event %q again; expected only later events",
				t.request.Cursor, h.cursor)
		}
	}),
}

// ResumeExcludesCursor judges whether a resumed stream leaves out the event of its cursor, which
// the client already has.
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
		p.Judge(first, i < 0, "client resumed after %q, but the server sent %q again; expected the event after it",
			t.request.Cursor, t.request.Cursor)
	}),
}

// ResumeIsComplete judges whether a resumed stream has, in order, all events that follow the cursor
// in the longest stream of the run.
var ResumeIsComplete = &spec.Check{
	ID: "resume.loses-nothing",
	Doc: `a resumed stream has all events after the cursor, in order

A client that lost its connection has received all events up to the cursor and none after it.

A second stream that is requested without a cursor may start with any event of the run, and must have
all events after that one. It must not start after the cursor that an earlier request for the run
named, however, if the server had already sent earlier events in response to a request without a
cursor after the end of the run.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachResumedStream(judgeComplete),
}

// judgeComplete judges whether t has the same events as full, in the same order, from the first
// event that t must have; see startIndex. If t was requested without a cursor, it may start with
// any event of full. The arguments full and t must be streams of the same run.
func judgeComplete(p *spec.Pass, full, t *observedStream) {
	next := t.startIndex(full)
	if t.request.Cursor == "" && len(t.frames) > 0 {
		next = full.indexOf(t.frames[0].cursor)
	}
	if next < 0 || t.request.Cursor == "" && len(t.frames) == 0 {
		return
	}
	if cursor, ok := t.foreignStart(full); ok {
		p.Judge(t.frames[0].event(), false,
			"stream requested without a cursor starts after %q, the cursor of an earlier request; expected the run from its start",
			cursor)
	}
	for _, h := range t.frames {
		i := full.indexOf(h.cursor)
		switch {
		case i >= 0 && i < next: // judged by resume.starts-after-cursor
		case i < 0 && full.runEnded:
			p.Judge(h.event(), false,
				"stream %s has event %q, which the uninterrupted stream does not have; expected the same events",
				t.describeStart(), h.cursor)
		case next < len(full.frames):
			p.Judge(h.event(), i == next,
				"stream %s has event %q where the uninterrupted stream has %q; expected the same events",
				t.describeStart(), h.cursor, full.frames[next].cursor)
			next = max(next, i) + 1
		}
	}
	if isCleanEnd(t.bodyEnd) && full.runEnded && t.request.PollLimit == "" {
		p.Judge(t.bodyEnd, next >= len(full.frames),
			"stream %s closed with %s missing; expected all events to the end of the run",
			t.describeStart(), pluralize(len(full.frames)-next, "event"))
	}
}

// foreignStart reports whether t, which was requested without a cursor, starts directly after the
// cursor of an earlier request for the run, as if t had been requested with it. It returns that
// cursor, or "" if ok is false. The argument full must be a stream of the same run.
//
// A server that has discarded the events before the start of t also sends such a stream. Therefore,
// ok is true only if another stream contains earlier events, and was requested without a cursor,
// after the end of the run and before the request with the cursor.
func (t *observedStream) foreignStart(full *observedStream) (cursor string, ok bool) {
	from := 0
	if t.request.Cursor == "" && len(t.frames) > 0 {
		from = full.indexOf(t.frames[0].cursor)
	}
	if from <= 0 {
		return "", false
	}
	cursor = full.frames[from-1].cursor
	startsEarlier := func(s *observedStream) bool {
		isBefore := s.request.Cursor == "" && len(s.frames) > 0 && s.bodyEnd.At <= t.request.At
		return isBefore && s.isAfterEnd() && full.indexOf(s.frames[0].cursor) < from
	}
	for i, s := range t.earlier {
		if s.request.Cursor == cursor && slices.ContainsFunc(t.earlier[:i], startsEarlier) {
			return cursor, true
		}
	}
	return "", false
}

// isAfterEnd reports whether t was requested after an earlier stream of the run had ended and had
// a terminal event.
func (t *observedStream) isAfterEnd() bool {
	return slices.ContainsFunc(t.earlier, func(s *observedStream) bool {
		return s.runEnded && s.bodyEnd.At <= t.request.At
	})
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
				got, want := "", ""
				if !same {
					got, want = quotePair(string(h.raw), string(full.frames[i].raw))
				}
				p.Judge(h.event(), same,
					"event %q is sent as %s; expected %s, as in the uninterrupted stream", h.cursor, got, want)
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
		if unknown || isAbandoned(t.bodyEnd) || t.request.PollLimit != "" {
			return
		}
		how := "closed"
		if errors.Is(t.bodyEnd.Err, spec.ErrLimitExceeded) || errors.Is(t.bodyEnd.Err, spec.ErrIdleTimeout) {
			how = "was left open by the server and given up by the client"
		}
		p.Judge(t.bodyEnd, t.runEnded, "stream resumed after %q %s%s before the run's terminal event",
			t.request.Cursor, how, parenthesize(t.bodyEnd.Err))
	}),
}

// ResumeAcceptsThreadCursor judges whether the stream of a run starts at the beginning of the run
// if it is requested with a cursor of an earlier run of the same thread.
var ResumeAcceptsThreadCursor = &spec.Check{
	ID: "resume.takes-thread-cursor",
	Doc: `a cursor of an earlier run of the same thread resumes a later run from its start

A cursor is a position in the events of the whole thread, so events of two runs must not have the same
cursor. Not judged: a status that depends on the state of the server, such as 404 or 410 if it no
longer has the cursor, and a run that was requested before the server sent the cursor.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: judgeAtEnd(streamsByRunOf, func(p *spec.Pass, all *streamsByRun) {
		for _, t := range all.resumed {
			full := longestStream(all.runs[runKey(t.request)])
			switch status := t.response.StatusCode; {
			case !all.hasCursorOfEarlierRun(t):
			case all.ownFrame(t).cursor != "":
				first, own := all.issuedBy[t.request.Cursor], all.ownFrame(t)
				if first.frames[first.indexOf(own.cursor)].hash == own.hash {
					continue // the same event, in a stream that is not its own
				}
				p.Judge(own.event(), false,
					"got the id %q, which an event of the earlier run %q of the thread has, too; expected a new one in the thread",
					own.cursor, first.request.Run)
			case isStateDependentStatus(status):
			case status/100 == 4:
				p.Judge(t.response, false,
					"cursor %q of an earlier run of the thread is refused with status %d; expected the run from its start",
					t.request.Cursor, status)
			case t.isOpened() && full != nil && full.runEnded && t.request.PollLimit == "":
				evidence, n := t.bodyEnd, t.commonPrefixLen(full)
				if n < len(t.frames) {
					evidence = t.frames[n].event()
				}
				complete := n == len(t.frames) && (!isCleanEnd(t.bodyEnd) || n == len(full.frames))
				p.Judge(evidence, complete,
					"cursor %q of an earlier run: got %s, %d of them as expected; expected all %d events of the run, from its start",
					t.request.Cursor, pluralize(len(t.frames), "event"), n, len(full.frames))
			}
		}
	}),
}

// hasCursorOfEarlierRun reports whether t was requested with the cursor of an event of an earlier
// run of the same thread. A run is earlier if its stream was requested before the first request
// that named the run of t.
func (all *streamsByRun) hasCursorOfEarlierRun(t *observedStream) bool {
	first := all.issuedBy[t.request.Cursor]
	return first != nil && first.request.Thread == t.request.Thread && first.request.Run != t.request.Run &&
		first.request.Exchange < all.firstRequest[runKey(t.request)]
}

// ownFrame looks for t.request.Cursor in the earlier streams of the run of t. It returns the frame
// that has this cursor or, if there is none, the zero streamFrame.
func (all *streamsByRun) ownFrame(t *observedStream) streamFrame {
	for _, own := range all.runs[runKey(t.request)] {
		if own.request.Exchange >= t.request.Exchange {
			break
		}
		if i := own.indexOf(t.request.Cursor); i >= 0 {
			return own.frames[i]
		}
	}
	return streamFrame{}
}

// commonPrefixLen returns the number of leading frames of t whose cursors equal those of the
// corresponding frames of full.
func (t *observedStream) commonPrefixLen(full *observedStream) (n int) {
	for n < min(len(t.frames), len(full.frames)) && t.frames[n].cursor == full.frames[n].cursor {
		n++
	}
	return n
}
