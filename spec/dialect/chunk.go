package dialect

import (
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

// chunkKinds describes the frames of a variant with x-chunk: deltas that may imply the start and the
// end of the message or tool call to which they belong.
type chunkKinds struct {
	id         func(*spec.Event) *string // the slot with the id of that message or call
	start, end spec.Kind
}

// parseChunk sets w.chunk according to the x-chunk of the schema n, if it has one.
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

// openChunks is the message or tool call that chunks have started in a stream and that has not ended.
// At most one can be open.
type openChunks struct {
	kinds *chunkKinds // nil if none is open
	end   spec.Event  // its implied end, without a position
}

// appendEvents appends to events what the frame e, a value of the variant w, implies before its own
// event. It may set the id of e. w is nil if the frame cannot be decoded.
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

// impliedBy returns the event implied with the position, the name and the run of the frame e, and
// marked as implied.
func impliedBy(e *spec.Event, implied spec.Event) spec.Event {
	implied.Implied = true
	implied.Frame, implied.Line, implied.Offset, implied.Raw = e.Frame, e.Line, e.Offset, e.Raw
	implied.WireName, implied.Fields = e.WireName, e.Fields
	implied.Thread, implied.Run = e.Thread, e.Run
	return implied
}
