package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// ErrUnsupportedKind means that the document of a dialect has no schema with which an event can be
// encoded.
var ErrUnsupportedKind = errors.New("the dialect has no event of this kind")

// CanEncode reports whether e can be sent in the stream of o: as a frame of its own, as the
// terminator of the stream, or in a frame that carries it together with other events (see
// [Operation.Carrier]).
func (o *Operation) CanEncode(e spec.Event) bool {
	if e.Kind == spec.Done && o.sentinel != "" || o.Carrier(e.Kind) != "" {
		return true
	}
	w, _ := o.frameFor(&e)
	return w != nil
}

// Carrier returns the kind of the frames that carry events of kind k in a list (x-parts: events).
// Such an event is not encoded by itself, but as one of the Parts of an event of the returned kind.
// Carrier returns "" if events of kind k have frames or envelopes of their own, or cannot be sent.
func (o *Operation) Carrier(k spec.Kind) spec.Kind { return o.carriers[k] }

// initCarriers sets o.carriers to the results of [Operation.Carrier] by kind.
func (o *Operation) initCarriers() {
	o.carriers = map[spec.Kind]spec.Kind{}
	for _, w := range o.frameVariants {
		for _, site := range w.parts {
			for _, item := range site.variants {
				own, _ := o.frameFor(&spec.Event{Kind: item.kind})
				if site.separate && own == nil {
					o.carriers[item.kind] = w.kind
				}
			}
		}
	}
}

// HasEnvelopes reports whether the stream of o has envelopes. An envelope is a frame that
// represents no event itself but only carries other events.
func (o *Operation) HasEnvelopes() bool {
	return slices.ContainsFunc(o.frameVariants, (*variant).isEnvelope)
}

// frameFor returns the variant of the frame in which e is sent, and the event to encode with that
// variant. If the frame is an envelope, the event to encode is a new event whose only part is e, in
// the form that chunkFor returns. Otherwise, the event to encode is e itself. Both results are nil
// if the stream of o has no frame for e.
func (o *Operation) frameFor(e *spec.Event) (*variant, *spec.Event) {
	if w := variantFor(o.frameVariants, e.Kind, e); w != nil {
		return w, e
	}
	for _, w := range o.frameVariants {
		if !w.isEnvelope() {
			continue
		}
		for _, site := range w.parts {
			if !site.separate {
				continue
			}
			if part, ok := chunkFor(site.variants, e); ok {
				return w, &spec.Event{
					Thread: e.Thread, Run: e.Run, Seq: e.Seq, Cursor: e.Cursor, Created: e.Created, Parts: []spec.Event{part},
				}
			}
		}
	}
	return nil, nil
}

// chunkFor returns e in the form in which one of the variants can encode it. ok is false if none of
// them can. The form differs from e only if the variant describes chunks that carry their id only
// once (see [chunkRule].by): if e starts a message or call, part is the first chunk of it; if
// e is a later chunk, part is e without its id.
func chunkFor(variants []*variant, e *spec.Event) (part spec.Event, ok bool) {
	part = *e
	for _, w := range variants {
		if w.chunk != nil && w.chunk.by != nil && e.Kind == w.chunk.start {
			part.Kind = w.kind
			return part, true
		}
	}
	w := variantFor(variants, e.Kind, e)
	if w != nil && w.chunk != nil && w.chunk.by != nil {
		*w.chunk.id(&part) = "" // only the first chunk has it
	}
	return part, w != nil
}

// EndStatus returns the status with which the reference server ends a run, if the document makes
// this status depend on which events the run had (x-after). Otherwise, it returns "". The function
// occurred reports whether the run had an event of the given kind.
func (o *Operation) EndStatus(occurred func(spec.Kind) bool) string {
	depends, status := false, ""
	for _, w := range o.frameVariants {
		m := w.encoding.fieldForSlot("status")
		if w.kind != spec.RunEnd || m == nil {
			continue
		}
		after := spec.Kind(w.node.get("x-after").text())
		if depends = depends || after != ""; after != "" && occurred(after) {
			return slotText(m.fixedValue)
		}
		if after == "" {
			status = slotText(m.fixedValue)
		}
	}
	if !depends {
		return ""
	}
	return status
}

// variantFor returns the first of the variants that has kind k and can encode e, or nil if there is
// none. If e.IsChunk is true, the variant must describe chunks (see [chunkRule]). If no
// variant of kind [spec.ReasoningDelta] can encode e, variantFor returns one of kind
// [spec.MessageDelta] instead.
func variantFor(variants []*variant, k spec.Kind, e *spec.Event) *variant {
	for _, w := range variants {
		if w.kind == k && w.canEncode(e) && (!e.IsChunk || w.chunk != nil) {
			return w
		}
	}
	if k == spec.ReasoningDelta {
		return variantFor(variants, spec.MessageDelta, e)
	}
	return nil
}

// canEncode reports whether e can be encoded as a value of the variant. It cannot if a slot of e
// has a value other than the constant that the variant has for that slot. If the variant is for
// steps, e can be encoded only if its type equals w.encloses.
func (w *variant) canEncode(e *spec.Event) bool {
	if w.kind.Subject() == "step" && w.encloses != e.Type {
		return false
	}
	for _, c := range w.constants {
		if want := *c.slot(e); want != "" && want != c.value {
			return false
		}
	}
	return true
}

// A constantSlot is a slot of [spec.Event] that has the same value in all events of a variant. The
// function slot returns a pointer to the field of an event that holds the slot.
type constantSlot struct {
	slot  func(*spec.Event) *string
	value string
}

// constantSlotsOf returns the slots of w whose values are determined by discriminators of w, each
// with its constant value.
func constantSlotsOf(w *variant) (all []constantSlot) {
	for _, m := range w.discriminators {
		for _, site := range w.slots {
			if slices.Equal(site.path, m.path) {
				all = append(all, constantSlot{slotFields[site.slot], slotText(m.value)})
			}
		}
	}
	return all
}

// AppendEvent appends to dst the encoding of e as a frame of the stream of o, and returns the
// result. An event of kind [spec.Comment] is encoded as a comment, and an event of kind [spec.Done]
// as the in-band terminator, if the stream has one. If the document has no frame for e, AppendEvent
// returns dst unchanged and an error that wraps [ErrUnsupportedKind]. It also returns an error if
// the cursor of e cannot be encoded as an SSE id.
func (o *Operation) AppendEvent(dst []byte, e *spec.Event) ([]byte, error) {
	switch {
	case e.Kind == spec.Comment:
		return sse.AppendComment(dst, e.Text), nil
	case e.Kind == spec.Done && o.sentinel != "":
		return sse.Append(dst, sse.Frame{Data: []byte(o.sentinel)})
	}
	w, frame := o.frameFor(e)
	if w == nil {
		return dst, fmt.Errorf("%s: %w", e.Kind, ErrUnsupportedKind)
	}
	head := sse.Frame{}
	if o.eventField != "" {
		head.Event = w.encoding.fieldText(o.eventField, frame)
	}
	if o.cursorAsID {
		head.ID, head.HasID = e.Cursor, e.Cursor != ""
	}
	begin := len(dst)
	dst, err := sse.Append(dst, head)
	if err != nil {
		return dst, err
	}
	if len(dst) > begin {
		dst = dst[:len(dst)-1] // drop the blank line: the data follows
	}
	dst, _ = w.encoding.appendJSON(append(dst, "data: "...), frame) // compact JSON is one line
	return append(dst, "\n\n"...), nil
}

// AppendCursor appends to dst an SSE id field with the given cursor and returns the result. The
// field belongs to the frame that is appended next. If the frames of o have no id fields,
// AppendCursor returns dst unchanged. [Operation.AppendEvent] writes this field itself if the event
// has a cursor.
func (o *Operation) AppendCursor(dst []byte, cursor string) []byte {
	if o.cursorAsID {
		dst = append(append(append(dst, "id: "...), cursor...), '\n')
	}
	return dst
}

// WritesSentinel reports whether the reference server ends the streams of o with an in-band
// terminator, such as [DONE].
func (o *Operation) WritesSentinel() bool { return o.writesSentinel }

// WritesEventNames reports whether the reference server writes an SSE event field in each frame of
// the streams of o.
func (o *Operation) WritesEventNames() bool { return o.eventField != "" }

// An NonStreamResponse is a response that is not an event stream, encoded as the document describes
// it.
type NonStreamResponse struct {
	Status    int
	MediaType string // "" if there is no body
	Body      []byte
}

// EncodeResponse encodes e as a response of o that is not a stream. The status is e.StatusCode or,
// if that is 0, the lowest documented status from 200 to 299. The response has no body if the
// document describes none for the status. A JSON body is encoded according to the first of the
// alternative schemas that fits the kind and slots of e or, if none fits, to the first schema. Any
// other body is the text of e or, if that is empty, the example in the document.
func (o *Operation) EncodeResponse(e spec.Event) NonStreamResponse {
	if e.StatusCode == 0 {
		e.StatusCode = o.successStatus
	}
	r, ok := o.responseFor(e.StatusCode)
	if !ok || len(r.variants) == 0 {
		return NonStreamResponse{Status: e.StatusCode}
	}
	if !isJSON(r.mediaType) {
		return NonStreamResponse{e.StatusCode, r.mediaType, []byte(cmp.Or(e.Text, r.example))}
	}
	w := variantFor(r.variants, e.Kind, &e)
	if w == nil {
		w = r.variants[0]
	}
	return NonStreamResponse{e.StatusCode, r.mediaType, w.appendJSON(nil, &e)}
}

// appendJSON appends to dst the encoding of e as a JSON value of the variant, and returns the
// result. The value is a string if the schema of the variant allows that type, and otherwise an
// object.
func (w *variant) appendJSON(dst []byte, e *spec.Event) []byte {
	if slices.Contains(w.node.get("type").strings(), "string") {
		return appendString(dst, cmp.Or(e.Text, w.node.get("x-write").text()))
	}
	dst, _ = w.encoding.appendJSON(dst, e)
	return dst
}

// fieldText returns, as text, the value that the top-level member with the given name has in the
// encoding of e, or "" if it has none.
func (f *objectEncoding) fieldText(name string, e *spec.Event) string {
	i := slices.IndexFunc(f.fields, func(m *memberEncoding) bool { return m.name == name })
	if i < 0 {
		return ""
	}
	if m := f.fields[i]; m.slotPointer != nil && *m.slotPointer(e) != "" {
		return *m.slotPointer(e)
	}
	return slotText(f.fields[i].fixedValue)
}

// Container returns the type and the role of the message in which the reference server sends
// content parts of kind k (x-within). ok is false if the reference server does not send these parts
// within messages.
func (o *Operation) Container(k spec.Kind) (messageType, role string, ok bool) {
	w := findVariant(o.frameVariants, k, 0)
	if w == nil {
		return "", "", false
	}
	within := w.node.get("x-within")
	return within.get("type").text(), within.get("role").text(), within.exists()
}

// findVariant returns the first of the given variants that has kind k. If there is none, it
// searches the variants of their parts, recursively, up to a nesting depth of maxDepth. It returns
// nil if it finds none. The argument depth is the nesting depth of the given variants; it is 0
// except in recursive calls.
func findVariant(variants []*variant, k spec.Kind, depth int) *variant {
	for _, w := range variants {
		if w.kind == k {
			return w
		}
	}
	for _, w := range variants {
		for _, site := range w.parts {
			if depth < maxDepth {
				if inner := findVariant(site.variants, k, depth+1); inner != nil {
					return inner
				}
			}
		}
	}
	return nil
}
