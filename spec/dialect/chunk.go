package dialect

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// A chunkRule is the content of the extension x-chunk in the schema of a [variant]. Values of
// such a variant are chunks: deltas of messages or tool calls whose stream need not contain events
// for the start and the end of the message or call, because the chunks imply them.
type chunkRule struct {
	id         func(*spec.Event) *string // returns a pointer to the field for the id of the message or call
	start, end spec.Kind                 // the kinds of the implied events

	// by and until are set if several messages or calls can be open at the same time. by returns a
	// pointer to the field that distinguishes their chunks, such as Index: chunks of the same
	// message or call have the same value in it. An event of the kind until ends all open messages
	// and calls.
	by    func(*spec.Event) *string
	until spec.Kind
}

// newChunkRule returns the chunkRule for at, the value of an extension x-chunk. The fields for
// members that at lacks are nil or "". The value is not checked (see chunkCheck).
func newChunkRule(at node) *chunkRule {
	return &chunkRule{
		id:    slotFields[at.get("of").text()],
		start: spec.Kind(at.get("start").text()),
		end:   spec.Kind(at.get("end").text()),
		by:    slotFields[at.get("by").text()],
		until: spec.Kind(at.get("until").text()),
	}
}

// chunkCheck is the [extensionValidator] of x-chunk (see [chunkRule]). The value must have the
// members "of", "start" and "end". It may also have "by" and "until", but not only one of the two.
func chunkCheck(n node) (pointer, message string) {
	if pointer, message := memberCheck(map[string]extensionValidator{
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

// An openSpan is a message or tool call that a chunk of a stream started and that has not ended
// yet.
type openSpan struct {
	rule *chunkRule // the rule for its chunks
	key  string     // the value in the field rule.by of its chunks, such as an index; "" if rule.by is nil
	end  spec.Event // the end to add if the stream does not contain one; without a position in the stream
}

// openSpans lists the open messages and tool calls of a stream, in the order of their starts.
// Unless chunkRule.by is set, at most one of them is open in each lane (see
// [spec.Event].Lane).
type openSpans []openSpan

// appendEvents appends the starts and ends that the event e implies to events, and returns the
// result. It does not append e itself. It adds to o the messages and calls that start, and removes
// from o those that end. If e is a chunk without an id that continues an open message or call,
// appendEvents sets the id in e to that of the message or call.
//
// The kind of e must be neither Undecodable nor Unrecognized, because an event of these kinds may
// belong to any message or call. The argument chunk is the rule for e if e is a chunk, and nil
// otherwise.
func (o *openSpans) appendEvents(events []spec.Event, chunk *chunkRule, e *spec.Event) []spec.Event {
	key := ""
	if chunk != nil && chunk.by != nil {
		key = *chunk.by(e)
	}
	if chunk != nil && o.setID(chunk.id(e), chunk, key, e.Lane) {
		return events
	}
	*o = slices.DeleteFunc(*o, func(open openSpan) bool {
		switch isEnd := e.Kind == open.end.Kind && *open.rule.id(e) == *open.rule.id(&open.end); {
		case isEnd:
			return true
		case open.end.Lane != e.Lane && e.Kind.Subject() != "run":
			return false // e is about another agent within the agent
		case open.rule.by != nil && e.Kind != open.rule.until && (chunk != open.rule || key != open.key):
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

// setID finds the open message or tool call that a chunk continues, and sets *id, the id in the
// chunk, to the id of that message or call. It reports whether it found one. The other arguments
// are the rule for the chunk, its key (see [openSpan]) and its lane (see [spec.Event].Lane).
//
// Only messages and calls with the same rule and key are considered. A chunk with an id continues
// the one with that id. A chunk without an id continues the first one in its lane. If none is open
// there and lane is "", it continues the first one in any lane.
func (o *openSpans) setID(id *string, rule *chunkRule, key, lane string) bool {
	find := func(matches func(openSpan) bool) int {
		return slices.IndexFunc(*o, func(open openSpan) bool {
			return open.rule == rule && open.key == key && matches(open)
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

// chunkOf returns the rule for the chunks among the events of kind k that frames of the variant
// carry. It returns nil if the frames carry no events of that kind or if these are not chunks.
func (w *variant) chunkOf(k spec.Kind) *chunkRule {
	for _, site := range w.parts {
		for _, item := range site.variants {
			if site.separate && item.kind == k && item.chunk != nil {
				return item.chunk
			}
		}
	}
	return nil
}
