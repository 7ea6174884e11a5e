package dialect

import (
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

// chunkKinds describes the frames of a variant with x-chunk. These are deltas that may imply the
// start and the end of the message or tool call to which they belong.
type chunkKinds struct {
	id         func(*spec.Event) *string // the slot with the id of that message or call
	start, end spec.Kind
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
	}
	if w.chunk.id == nil || w.chunk.start == "" || w.chunk.end == "" {
		return fmt.Errorf("%s: x-chunk needs a slot (of), and the kinds start and end", at.pointer)
	}
	return nil
}

// openChunks holds the message or tool call of a stream that was started by chunks and has not
// ended. At most one can be open.
type openChunks struct {
	kinds *chunkKinds // nil if none is open
	end   spec.Event  // its implied end, without a position
}

// appendEvents appends the events that the frame e implies, and that come before the event of e
// itself, to events and returns the extended slice. w is the variant of e, or nil if e cannot be
// decoded. If e is a chunk without an id, appendEvents sets the id to that of the open message or
// call.
func (o *openChunks) appendEvents(events []spec.Event, w *variant, e *spec.Event) []spec.Event {
	if w == nil || e.Kind == spec.Unrecognized {
		return events // may belong to anything
	}
	if w.chunk != nil {
		id := w.chunk.id(e)
		if *id == "" && o.kinds == w.chunk {
			*id = *w.chunk.id(&o.end)
		}
		if o.kinds == w.chunk && *id == *w.chunk.id(&o.end) {
			return events
		}
	}
	if o.kinds != nil {
		if isEnd := e.Kind == o.end.Kind && *o.kinds.id(e) == *o.kinds.id(&o.end); !isEnd {
			events = append(events, impliedBy(e, o.end))
		}
		o.kinds = nil
	}
	if w.chunk == nil || *w.chunk.id(e) == "" {
		return events
	}
	start := spec.Event{Kind: w.chunk.start, Message: e.Message, Call: e.Call, Name: e.Name, Role: e.Role, Type: e.Type}
	o.kinds, o.end = w.chunk, start
	o.end.Kind = w.chunk.end
	return append(events, impliedBy(e, start))
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
