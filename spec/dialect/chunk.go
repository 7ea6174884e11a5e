package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// A chunkRule holds the x-chunk of a variant. The values of a variant with an x-chunk are chunks:
// deltas that may also imply the start and the end of the message or tool call to which they
// belong.
type chunkRule struct {
	id         func(*spec.Event) *string // returns the slot with the id of that message or call
	start, end spec.Kind                 // the kinds of the implied events

	// The function by is nil unless several messages or calls can be open at once. It returns the slot
	// that distinguishes them, such as the slot "index": a chunk without an id belongs to the message or
	// call whose chunks have the same value in that slot. The field until is the kind of the events
	// that end all open messages and calls, or "" if by is nil.
	by    func(*spec.Event) *string
	until spec.Kind
}

// newChunkRule returns the chunkRule for the value of an x-chunk. The fields for members that are
// missing are nil or "".
func newChunkRule(at node) *chunkRule {
	return &chunkRule{
		id:    slotFields[at.get("of").text()],
		start: spec.Kind(at.get("start").text()),
		end:   spec.Kind(at.get("end").text()),
		by:    slotFields[at.get("by").text()],
		until: spec.Kind(at.get("until").text()),
	}
}

// chunkCheck is the [extensionCheck] of x-chunk: "of", "start" and "end" are required, and "by" and
// "until" must occur together.
func chunkCheck(n node) (pointer, message string) {
	if pointer, message := memberCheck(map[string]extensionCheck{
		"of": slotCheck, "start": kindCheck, "end": kindCheck, "by": slotCheck, "until": kindCheck,
	})(n); message != "" {
		return pointer, message
	}
	switch rule := newChunkRule(n); {
	case rule.id == nil || rule.start == "" || rule.end == "":
		return n.pointer, "needs a slot (of), and the kinds start and end"
	case (rule.by == nil) != (rule.until == ""):
		return n.pointer, "needs both or neither of a slot (by) and a kind (until)"
	}
	return "", ""
}

// An openSpan is a message or tool call that a chunk of a stream started and that has not ended yet.
type openSpan struct {
	kinds *chunkRule // the x-chunk extension of the schema of its chunks
	key   string     // what all its chunks have in the slot that kinds.by returns, such as an index; "" if kinds.by is nil
	end   spec.Event // the event that ends it, if the stream has none; its position in the stream is not set
}

// openSpans lists the open messages and tool calls of a stream, in the order of their starts. In
// each lane (see [spec.Event.Lane]), at most one of those whose chunkRule.by is nil is open.
type openSpans []openSpan

// appendEvents appends to events the starts and ends that the event e implies, and returns the
// result. These events precede e, which is not appended itself. appendEvents also updates the list
// o. If e is a chunk without an id that continues an open message or call, appendEvents sets the id
// of that message or call in e.
//
// The argument e is the event of a frame or an event that a frame carries. Its kind must be neither
// Undecodable nor Unrecognized, because an event of these kinds may belong to any message or call.
// The argument chunk is the x-chunk of the variant of e, or nil if there is none.
func (o *openSpans) appendEvents(events []spec.Event, chunk *chunkRule, e *spec.Event) []spec.Event {
	key := ""
	if chunk != nil && chunk.by != nil {
		key = *chunk.by(e)
	}
	if chunk != nil && o.setID(chunk.id(e), chunk, key, e.Lane) {
		return events
	}
	*o = slices.DeleteFunc(*o, func(open openSpan) bool {
		switch isEnd := e.Kind == open.end.Kind && *open.kinds.id(e) == *open.kinds.id(&open.end); {
		case isEnd:
			return true
		case open.end.Lane != e.Lane && e.Kind.Subject() != "run":
			return false // e is about another agent within the agent
		case open.kinds.by != nil && e.Kind != open.kinds.until && (chunk != open.kinds || key != open.key):
			return false // e belongs to another message or call, or to none
		}
		events = append(events, impliedBy(e, open.end))
		return true
	})
	if chunk == nil || *chunk.id(e) == "" {
		return events
	}
	start := spec.Event{
		Kind: chunk.start, Message: e.Message, Call: e.Call, Name: e.Name, Role: e.Role, Type: e.Type, Index: e.Index,
		Lane: e.Lane,
	}
	*o = append(*o, openSpan{chunk, key, start})
	(*o)[len(*o)-1].end.Kind = chunk.end
	return append(events, impliedBy(e, start))
}

// setID reports whether a chunk continues an open message or tool call and, if it does, sets *id to
// the id of that message or call. Before the call, *id is the id that the chunk states, or "". The
// argument rule is the x-chunk of the chunk's variant, key is as in openSpan, and lane is the
// chunk's lane.
//
// A chunk can continue only a message or call that was started by a chunk with the same x-chunk and
// key. If the chunk states an id, it continues the one with this id. Otherwise, it continues the
// one that was started first in its lane or, if none is open there and lane is "", in any lane.
func (o *openSpans) setID(id *string, rule *chunkRule, key, lane string) bool {
	find := func(matches func(openSpan) bool) int {
		return slices.IndexFunc(*o, func(open openSpan) bool {
			return open.kinds == rule && open.key == key && matches(open)
		})
	}
	i := find(func(open openSpan) bool { return *id == *rule.id(&open.end) || *id == "" && open.end.Lane == lane })
	if i < 0 && *id == "" && lane == "" {
		i = find(func(openSpan) bool { return true })
	}
	if i >= 0 {
		*id = *rule.id(&(*o)[i].end)
	}
	return i >= 0
}

// impliedBy returns a copy of implied, an event that e implies, with its field Implied set to true.
// The position, bytes, wire name, SSE fields, thread and run of the copy are those of e.
func impliedBy(e *spec.Event, implied spec.Event) spec.Event {
	implied.Implied = true
	implied.Frame, implied.Line, implied.Offset, implied.Raw = e.Frame, e.Line, e.Offset, e.Raw
	implied.WireName, implied.Fields = e.WireName, e.Fields
	implied.Thread, implied.Run = e.Thread, e.Run
	return implied
}
