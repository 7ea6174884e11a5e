package rules

import (
	"errors"
	"hash/maphash"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

var resumption = []*spec.Check{
	StartsAfterCursor, ExcludesCursor, LosesNothing, TellsTheSame, ResumedEnds, TakesThreadCursor,
}

// A telling is one stream of a run, from its start or from a cursor on.
type telling struct {
	ask   spec.Event
	heard []heard
	end   error // how the body ended
	close spec.Event
	ended bool // it told the end of the run
	index map[string]int
	own   map[string]bool // the cursors of its run
}

// heard is what a rule about several streams keeps of an event: enough to compare
// it and to show it.
type heard struct {
	cursor                      string
	sum                         uint64
	exchange, nth, line, offset int
	raw                         []byte
	kind                        spec.Kind
}

func (h heard) event() spec.Event {
	return spec.Event{Kind: h.kind, Exchange: h.exchange, Frame: h.nth, Line: h.line, Offset: h.offset, Raw: h.raw, Cursor: h.cursor}
}

// place is where in the telling the cursor stands, -1 if it does not.
func (t *telling) place(cursor string) int {
	if t.index == nil {
		t.index = map[string]int{}
		for i, h := range slices.Backward(t.heard) {
			t.index[h.cursor] = i
		}
	}
	if i, ok := t.index[cursor]; ok {
		return i
	}
	return -1
}

// resumes lets a rule compare, at the end of a conversation, each telling of a run
// with the fullest one that is known.
func resumes(judge func(p *spec.Pass, full, t *telling)) watch {
	return func(p *spec.Pass) func(spec.Event) {
		all, hear := spec.SharedState(p, "resumes", func() (*resumptions, func(spec.Event)) {
			all := &resumptions{runs: map[string][]*telling{}, seed: maphash.MakeSeed()}
			return all, all.hear
		})
		return func(e spec.Event) {
			if hear(e); e.Kind != "" {
				return
			}
			for _, key := range all.order {
				full := fullest(all.runs[key])
				for _, t := range all.runs[key] {
					if full != nil && t != full {
						judge(p, full, t)
					}
				}
			}
		}
	}
}

// resumptions are the tellings of the runs of a conversation.
type resumptions struct {
	runs  map[string][]*telling
	order []string // of the runs
	now   *telling
	seed  maphash.Seed
}

func (all *resumptions) hear(e spec.Event) {
	now := all.now
	switch {
	case e.Kind == spec.HTTPRequest:
		all.now = nil
		if e.IsStream() && e.Valid() && e.Run != "" {
			all.now = &telling{ask: e}
		}
	case e.Kind == spec.HTTPResponse && now != nil && e.IsStream() && e.StatusCode == 200:
		key := run(now.ask)
		if all.runs[key] == nil {
			all.order = append(all.order, key)
		}
		all.runs[key] = append(all.runs[key], now)
	case now != nil && e.IsFrame() && e.Cursor != "":
		now.heard = append(now.heard, heard{e.Cursor, maphash.Bytes(all.seed, e.Raw), e.Exchange, e.Frame, e.Line, e.Offset, e.Raw, e.Kind})
		now.ended = now.ended || terminal(e)
	case now != nil && e.Kind == spec.BodyEnd:
		now.end, now.close = e.Err, e
	}
}

// fullest is the longest telling from the start, a complete one before any other.
func fullest(tellings []*telling) (full *telling) {
	for _, t := range tellings {
		if t.ask.Cursor != "" {
			continue
		}
		if full == nil || t.ended && !full.ended || t.ended == full.ended && len(t.heard) > len(full.heard) {
			full = t
		}
	}
	return full
}

// after is where in full the telling has to begin, -1 if nobody can tell.
func (t *telling) after(full *telling) int {
	if t.ask.Cursor == "" {
		return 0
	}
	if i := full.place(t.ask.Cursor); i >= 0 {
		return i + 1
	}
	return -1
}

// StartsAfterCursor judges where a resumed stream begins.
var StartsAfterCursor = &spec.Check{
	ID:    "resume.starts-after-cursor",
	Doc:   "a stream taken up at a cursor tells nothing from before the cursor",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: resumes(func(p *spec.Pass, full, t *telling) {
		from := t.after(full)
		if t.ask.Cursor == "" || from < 0 {
			return
		}
		for _, h := range t.heard {
			i := full.place(h.cursor)
			p.Judge(h.event(), i < 0 || i >= from-1, "taken up at %q, it tells %q from before", t.ask.Cursor, h.cursor)
		}
	}),
}

// ExcludesCursor judges whether the cursor's own event is told again.
var ExcludesCursor = &spec.Check{
	ID:    "resume.excludes-cursor",
	Doc:   "a stream taken up at a cursor does not tell the event of the cursor again",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: resumes(func(p *spec.Pass, full, t *telling) {
		if t.ask.Cursor == "" || t.after(full) < 0 || len(t.heard) == 0 {
			return
		}
		i := t.place(t.ask.Cursor)
		first := t.heard[max(0, i)].event()
		p.Judge(first, i < 0, "taken up at %q, it tells that event again", t.ask.Cursor)
	}),
}

// LosesNothing judges that a resumed stream is the rest of the whole.
var LosesNothing = &spec.Check{
	ID: "resume.loses-nothing",
	Doc: `a stream taken up at a cursor tells everything after it, in order

Whoever lost the connection has heard everything up to the cursor and nothing after
it. Where a stream begins that is asked for without a cursor, it does not say; from there
on it is held to the same.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: resumes(func(p *spec.Pass, full, t *telling) {
		next := t.after(full)
		if t.ask.Cursor == "" && len(t.heard) > 0 {
			next = full.place(t.heard[0].cursor)
		}
		if next < 0 || t.ask.Cursor == "" && len(t.heard) == 0 {
			return
		}
		for _, h := range t.heard {
			i := full.place(h.cursor)
			switch {
			case i >= 0 && i < next: // told again: another rule's business
			case i < 0 && full.ended:
				p.Judge(h.event(), false, "%q was not told in the whole stream", h.cursor)
			case next < len(full.heard):
				p.Judge(h.event(), i == next, "%q comes where %q was next", h.cursor, full.heard[next].cursor)
				next = max(next, i) + 1
			}
		}
		if t.end == nil && full.ended && t.ask.PollLimit == "" {
			p.Judge(t.close, next >= len(full.heard), "the stream taken up at %q ended, and %s still to come", t.ask.Cursor, were(len(full.heard)-next, "event"))
		}
	}),
}

// TellsTheSame judges that an event is the same whenever it is told.
var TellsTheSame = &spec.Check{
	ID:    "resume.tells-the-same",
	Doc:   "an event has the same id and the same data whenever it is told",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: resumes(func(p *spec.Pass, full, t *telling) {
		for _, h := range t.heard {
			if i := full.place(h.cursor); i >= 0 {
				p.Judge(h.event(), full.heard[i].sum == h.sum || sameFrame(full.heard[i].raw, h.raw), "%q was told differently: %s", h.cursor, full.heard[i].raw)
			}
		}
	}),
}

// ResumedEnds judges that a resumed stream ends like any other.
var ResumedEnds = &spec.Check{
	ID:    "resume.ends",
	Doc:   "a stream taken up at a cursor tells the end of the run before it ends itself",
	Needs: []spec.Kind{spec.SlotCursor, spec.RunEnd},
	Watch: resumes(func(p *spec.Pass, full, t *telling) {
		from := t.after(full)
		if t.ask.Cursor == "" || from < 0 || from >= len(full.heard) || errors.Is(t.end, spec.ErrClientLeft) || t.ask.PollLimit != "" || !full.ended {
			return
		}
		p.Judge(t.close, t.ended, "the stream taken up at %q ended%s without the end of the run", t.ask.Cursor, reason(t.end))
	}),
}

// TakesThreadCursor judges what a cursor of an earlier run is good for.
var TakesThreadCursor = &spec.Check{
	ID: "resume.takes-thread-cursor",
	Doc: `a cursor of an earlier run of the same conversation is a place before the whole of a later one

Cursors are those of the conversation's events, of which a stream tells one run's. That
the server does not keep so much (404, 410) is not judged, nor is a run that was asked
for before the cursor was told.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: func(p *spec.Pass) func(spec.Event) {
		t := thread{map[string]*spec.Event{}, map[string]map[string]bool{}, map[string]int{}, map[string][]*telling{}}
		var earlier []*telling // that were asked for at a cursor of another run
		var now *telling
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.HTTPRequest:
				now = t.asked(e)
			case e.Kind == spec.HTTPResponse && now != nil:
				before := t.before(now.ask)
				switch {
				case !now.ask.IsStream() || stateful(e.StatusCode) || e.StatusCode != 200 && !before:
					now = nil
				case e.StatusCode/100 == 4:
					p.Judge(e, false, "%q, which was told of the run before in the same conversation, is refused with %d", now.ask.Cursor, e.StatusCode)
				case before:
					earlier = append(earlier, now)
				default:
					t.runs[run(now.ask)] = append(t.runs[run(now.ask)], now)
				}
			case now != nil && e.IsFrame() && e.Cursor != "":
				t.told(now, e)
			case now != nil && e.Kind == spec.BodyEnd:
				now.end, now.close = e.Err, e
			case e.Kind == "":
				for _, x := range earlier {
					if full := fullest(t.runs[run(x.ask)]); full != nil && full.ended && x.ask.PollLimit == "" {
						n := x.agrees(full)
						p.Judge(x.close, n == len(x.heard) && (x.end != nil || n == len(full.heard)),
							"taken up at %q, of the run before, it tells %s, the first %d of them as the whole run with its %s does", x.ask.Cursor, counted(len(x.heard), "event"), n, counted(len(full.heard), "event"))
					}
				}
			}
		}
	},
}

// A thread is what was seen of the cursors of conversations.
type thread struct {
	placed map[string]*spec.Event     // cursor → the request whose answer told it first
	own    map[string]map[string]bool // run → the cursors that it was seen to have
	first  map[string]int             // run → the exchange that asked for it
	runs   map[string][]*telling
}

func (t *thread) asked(e spec.Event) *telling {
	if e.Run == "" || !e.Valid() {
		return nil
	}
	if _, ok := t.first[run(e)]; !ok {
		t.first[run(e)] = e.Exchange
	}
	return &telling{ask: e}
}

// before says that a request names a cursor which the conversation had before the run
// that it asks for, and which is none of this run.
func (t *thread) before(ask spec.Event) bool {
	from, told := t.placed[ask.Cursor]
	return told && from.Thread == ask.Thread && from.Run != ask.Run && from.Exchange < t.first[run(ask)] && !t.own[run(ask)][ask.Cursor]
}

func (t *thread) told(now *telling, e spec.Event) {
	if now.own == nil {
		if now.own = t.own[run(now.ask)]; now.own == nil {
			now.own = map[string]bool{}
			t.own[run(now.ask)] = now.own
		}
	}
	now.own[e.Cursor] = true
	if _, ok := t.placed[e.Cursor]; !ok {
		t.placed[e.Cursor] = &now.ask
	}
	now.heard, now.ended = append(now.heard, heard{cursor: e.Cursor}), now.ended || terminal(e)
}

// agrees is how many events of a telling are, from its beginning, those of the whole.
func (t *telling) agrees(full *telling) (n int) {
	for n < min(len(t.heard), len(full.heard)) && t.heard[n].cursor == full.heard[n].cursor {
		n++
	}
	return n
}
