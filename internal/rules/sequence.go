package rules

import (
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

var sequenceChecks = []*spec.Check{SequenceIncreases, SequenceDense, SequenceNeverFalls, CursorPresent, CursorUnique}

// eachSequenceNumber returns a newWatcherFunc that calls judge with each frame e that has a
// sequence number, except the first one of a stream. The argument before is the previous frame of
// the stream that has one. The arguments n and last are the sequence numbers of e and of before.
func eachSequenceNumber(judge func(p *spec.Pass, e, before spec.Event, n, last int64)) newWatcherFunc {
	return eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var before spec.Event
		var last int64
		return func(e spec.Event) {
			n, err := strconv.ParseInt(e.Seq, 10, 64)
			if !e.IsFrame() || err != nil {
				return // a missing number is judged by wire.matches-schema
			}
			if before.Raw != nil {
				judge(p, e, before, n, last)
			}
			before, last = e, n
		}
	})
}

// SequenceIncreases judges whether each sequence number in a stream is greater than the previous
// one.
var SequenceIncreases = &spec.Check{
	ID:    "sequence.increases",
	Doc:   "sequence numbers increase from event to event",
	Needs: []spec.Kind{spec.SlotSeq},
	Watch: eachSequenceNumber(func(p *spec.Pass, e, _ spec.Event, n, last int64) {
		p.Judge(e, n > last, "got sequence number %d after %d; expected a greater one", n, last)
	}),
}

// SequenceDense judges whether the sequence numbers of a stream are consecutive and start at 0.
var SequenceDense = &spec.Check{
	ID:    "sequence.dense",
	Doc:   "the sequence numbers of a stream are 0, 1, 2 and so on without gaps",
	Needs: []spec.Kind{spec.SlotSeq},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		next, before := int64(0), ""
		afterUnreadable := false // the previous event cannot be read, and may have any number
		return func(e spec.Event) {
			switch {
			case !e.IsFrame() || e.Kind == spec.Done || e.Kind == spec.RunRefused:
				return
			case e.Kind == spec.Undecodable:
				afterUnreadable = true
				return
			}
			n, err := strconv.ParseInt(e.Seq, 10, 64)
			switch {
			case err == nil && n == next:
				p.Judge(e, true, "")
			case err != nil || !afterUnreadable:
				p.Judge(e, false, "%s; expected %d", describeSequence(e.Seq, before), next)
			}
			if next++; err == nil {
				next = n + 1
			}
			before, afterUnreadable = e.Seq, false
		}
	}),
}

// describeSequence describes a sequence number for the message of a finding, as in "got sequence
// number 7 after 5". The argument n is the sequence number of an event, and before is that of the
// previous event. Each of them is "" if its event has none.
func describeSequence(n, before string) string {
	text := "got no sequence number"
	if n != "" {
		text = "got sequence number " + n
	}
	if before != "" {
		text += " after " + before
	}
	return text
}

// SequenceNeverFalls judges whether sequence numbers never decrease. A number may be repeated only
// if the same event is sent again unchanged.
var SequenceNeverFalls = &spec.Check{
	ID:    "sequence.never-falls",
	Doc:   "sequence numbers never decrease, and repeat only for an unchanged event",
	Needs: []spec.Kind{spec.SlotSeq},
	Watch: eachSequenceNumber(func(p *spec.Pass, e, before spec.Event, n, last int64) {
		ordered := n > last || n == last && sameFrameData(e.Raw, before.Raw)
		p.Judge(e, ordered,
			"got sequence number %d after %d; expected a greater number, unless the event repeats the one before", n, last)
	}),
}

// CursorPresent judges whether at least one event of a stream has an SSE id, from which a client
// can resume. A stream that lacks a part of its run, because it was resumed or ended before the
// terminal event, may be without ids.
var CursorPresent = &spec.Check{
	ID: "cursor.present",
	Doc: `events have an SSE id from which a client can resume

Not every event needs an id. A stream without ids is judged only if it has the whole run: it was
requested without a cursor and has the terminal event.`,
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		var first spec.Event
		seen, ended := false, false
		return func(e spec.Event) {
			switch {
			case e.IsFrame():
				ended = ended || isTerminal(e)
				if seen = seen || e.Cursor != ""; first.Raw == nil {
					first = e
				}
			case isCleanEnd(e) && first.Raw != nil && (seen || ended && request.Cursor == ""):
				p.Judge(first, seen, "no event in the stream has an SSE id; expected ids, so that clients can resume")
			}
		}
	}),
}

// CursorUnique judges whether the SSE ids in a stream are distinct. Events without an SSE id are
// not judged.
var CursorUnique = &spec.Check{
	ID:    "cursor.unique",
	Doc:   "no two events of a stream have the same SSE id",
	Needs: []spec.Kind{spec.SlotCursor},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		seen := map[string]bool{}
		return func(e spec.Event) {
			if e.IsFrame() && e.Cursor != "" {
				p.Judge(e, !seen[e.Cursor], "got SSE id %q twice; expected a unique id for each event", e.Cursor)
				seen[e.Cursor] = true
			}
		}
	}),
}
