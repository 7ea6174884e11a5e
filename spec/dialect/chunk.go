package dialect

import (
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// chunkKinds describes the frames of a variant with x-chunk. These are deltas that may imply the
// start and the end of the message or tool call to which they belong.
type chunkKinds struct {
	id         func(*spec.Event) *string // the slot with the id of that message or call
	start, end spec.Kind

	// Several messages or calls can be open at once if by is not nil: it is the slot that tells which
	// of them a chunk without an id belongs to. All of them end with an event of the kind until.
	by    func(*spec.Event) *string
	until spec.Kind
}

// parseChunk sets w.chunk according to the x-chunk of the schema n, or does nothing if n has no
// x-chunk. It returns an error if the x-chunk is incomplete.
func (w *variant) parseChunk(n node) error {
	at, ok := n.extension("x-chunk")
	if !ok {
		return nil
	}
	w.chunk = &chunkKinds{
		id:    slotFields[at.get("of").text()],
		start: spec.Kind(at.get("start").text()),
		end:   spec.Kind(at.get("end").text()),
		by:    slotFields[at.get("by").text()],
		until: spec.Kind(at.get("until").text()),
	}
	if w.chunk.id == nil || w.chunk.start == "" || w.chunk.end == "" {
		return fmt.Errorf("%s: x-chunk needs a slot (of), and the kinds start and end", at.pointer)
	}
	if (w.chunk.by == nil) != (w.chunk.until == "") {
		return fmt.Errorf("%s: x-chunk needs both or neither of a slot (by) and a kind (until)", at.pointer)
	}
	return nil
}

// An openChunk is a message or tool call that chunks have started in a stream and that has not
// ended.
type openChunk struct {
	kinds *chunkKinds
	key   string     // the value of the slot kinds.by
	end   spec.Event // its implied end, without a position
}

// openChunks lists the messages and tool calls that are open in a stream, in the order of their
// starts. At most one is open in each lane if their chunkKinds have no by.
type openChunks []openChunk

// appendEvents appends to events the starts and ends that e implies before itself, and returns the
// result. e is the event of a frame, or one that a frame carries; if e is a chunk without an id,
// appendEvents sets its id. chunk is the x-chunk of the variant of e, or nil. The caller must not
// pass an event that could not be decoded: it may belong to anything.
func (o *openChunks) appendEvents(events []spec.Event, chunk *chunkKinds, e *spec.Event) []spec.Event {
	key := ""
	if chunk != nil && chunk.by != nil {
		key = *chunk.by(e)
	}
	if chunk != nil && o.setID(chunk.id(e), chunk, key, e.Lane) {
		return events
	}
	*o = slices.DeleteFunc(*o, func(open openChunk) bool {
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
	*o = append(*o, openChunk{chunk, key, start})
	(*o)[len(*o)-1].end.Kind = chunk.end
	return append(events, impliedBy(e, start))
}

// setID reports whether the chunk with the given id and lane continues what is open. If it has no
// id, setID sets it. A chunk that names neither its id nor its lane may continue another lane's.
func (o *openChunks) setID(id *string, chunk *chunkKinds, key, lane string) bool {
	find := func(matches func(openChunk) bool) int {
		return slices.IndexFunc(*o, func(open openChunk) bool {
			return open.kinds == chunk && open.key == key && matches(open)
		})
	}
	i := find(func(open openChunk) bool { return *id == *chunk.id(&open.end) || *id == "" && open.end.Lane == lane })
	if i < 0 && *id == "" && lane == "" {
		i = find(func(openChunk) bool { return true })
	}
	if i >= 0 {
		*id = *chunk.id(&(*o)[i].end)
	}
	return i >= 0
}

// impliedBy returns a copy of the event implied that is marked as implied and has the position, the
// name and the run of the frame e.
func impliedBy(e *spec.Event, implied spec.Event) spec.Event {
	implied.Implied = true
	implied.Frame, implied.Line, implied.Offset, implied.Raw = e.Frame, e.Line, e.Offset, e.Raw
	implied.WireName, implied.Fields = e.WireName, e.Fields
	implied.Thread, implied.Run = e.Thread, e.Run
	return implied
}
