package rules

import (
	"bytes"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

var sequenceChecks = []*spec.Check{SequenceIncreases, SequenceDense, SequenceNeverFalls, CursorPresent, CursorUnique}

// eachSequenceNumber lets a rule see the sequence numbers of a stream, each with the numbered
// event before it.
func eachSequenceNumber(judge func(p *spec.Pass, e, before spec.Event, n, last int64)) watchFunc {
	return eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var before spec.Event
		last := int64(-1)
		return func(e spec.Event) {
			n, err := strconv.ParseInt(e.Seq, 10, 64)
			if !e.IsFrame() || err != nil {
				return // an event without its number is the schema's business
			}
			judge(p, e, before, n, last)
			before, last = e, n
		}
	})
}

// SequenceIncreases judges the order of numbers.
var SequenceIncreases = &spec.Check{
	ID:    "sequence.increases",
	Doc:   "sequence numbers increase from event to event",
	Needs: []spec.Kind{spec.SlotSeq},
	Watch: eachSequenceNumber(func(p *spec.Pass, e, before spec.Event, n, last int64) {
		if before.Raw != nil {
			p.Judge(e, n > last, "number %d comes after %d", n, last)
		}
	}),
}

// SequenceDense judges that no number is left out.
var SequenceDense = &spec.Check{
	ID:    "sequence.dense",
	Doc:   "every event has a sequence number; they begin at 0 and grow by one",
	Needs: []spec.Kind{spec.SlotSeq},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		next := int64(0)
		return func(e spec.Event) {
			if !e.IsFrame() || e.Kind == spec.Done || e.Kind == spec.RunRefused || e.Kind == spec.Undecodable {
				return
			}
			n, err := strconv.ParseInt(e.Seq, 10, 64)
			p.Judge(e, err == nil && n == next, "the number is %q where %d was next", e.Seq, next)
			if next++; err == nil {
				next = n + 1
			}
		}
	}),
}

// SequenceNeverFalls judges numbers that may stand still where an event is told
// again.
var SequenceNeverFalls = &spec.Check{
	ID:    "sequence.never-falls",
	Doc:   "sequence numbers never fall, and stay the same only where an event is repeated unchanged",
	Needs: []spec.Kind{spec.SlotSeq},
	Watch: eachSequenceNumber(func(p *spec.Pass, e, before spec.Event, n, last int64) {
		if before.Raw != nil {
			p.Judge(e, n > last || n == last && bytes.Equal(e.Raw, before.Raw), "number %d comes after %d", n, last)
		}
	}),
}

// CursorPresent judges whether a stream can be taken up again at all.
var CursorPresent = &spec.Check{
	ID:    "cursor.present",
	Doc:   "events carry an SSE id, without which nobody could resume",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var first spec.Event
		seen := false
		return func(e spec.Event) {
			switch {
			case e.IsFrame():
				if seen = seen || e.Cursor != ""; first.Raw == nil {
					first = e
				}
			case isCleanEnd(e) && first.Raw != nil:
				p.Judge(first, seen, "no event of the stream has an id")
			}
		}
	}),
}

// CursorUnique judges the ids of events.
var CursorUnique = &spec.Check{
	ID:    "cursor.unique",
	Doc:   "no two events of a stream have the same id",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		seen := map[string]bool{}
		return func(e spec.Event) {
			if e.IsFrame() && e.Cursor != "" {
				p.Judge(e, !seen[e.Cursor], "id %q was used before", e.Cursor)
				seen[e.Cursor] = true
			}
		}
	}),
}
