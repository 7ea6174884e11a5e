package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// ErrUnsupportedKind says that a dialect has nothing to say a kind with.
var ErrUnsupportedKind = errors.New("the dialect has no word for it")

// CanEncode says whether a stream of o can say e.
func (o *Operation) CanEncode(e spec.Event) bool {
	return e.Kind == spec.Done && o.sentinel != "" || variantFor(o.frameVariants, e.Kind, &e) != nil
}

// variantFor is the first word of a kind whose marks e's slots do not contradict. What a
// dialect has no own words for is spelled like a message's.
func variantFor(words []*variant, k spec.Kind, e *spec.Event) *variant {
	for _, w := range words {
		if w.kind == k && w.canEncode(e) {
			return w
		}
	}
	if k == spec.ReasoningDelta {
		return variantFor(words, spec.MessageDelta, e)
	}
	return nil
}

// canEncode is whether the word's constants agree with what e's slots ask for.
func (w *variant) canEncode(e *spec.Event) bool {
	for _, c := range w.constants {
		if want := *c.slot(e); want != "" && want != c.value {
			return false
		}
	}
	return true
}

// A constantSlot is what a slot is in all that a word says.
type constantSlot struct {
	slot  func(*spec.Event) *string
	value string
}

// constantSlotsOf are those of a word whose marks and slots are known.
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

// AppendEvent spells e as a frame of the stream that o answers with, at the end of dst.
// It is ErrNoWord if the dialect cannot say it.
func (o *Operation) AppendEvent(dst []byte, e *spec.Event) ([]byte, error) {
	switch {
	case e.Kind == spec.Comment:
		return sse.AppendComment(dst, e.Text), nil
	case e.Kind == spec.Done && o.sentinel != "":
		return sse.Append(dst, sse.Frame{Data: []byte(o.sentinel)})
	}
	w := variantFor(o.frameVariants, e.Kind, e)
	if w == nil {
		return dst, fmt.Errorf("%s: %w", e.Kind, ErrUnsupportedKind)
	}
	head := sse.Frame{}
	if o.encoding.eventField != "" {
		head.Event = w.layout.fieldText(o.encoding.eventField, e)
	}
	if o.encoding.cursorAsID {
		head.ID, head.HasID = e.Cursor, e.Cursor != ""
	}
	begin := len(dst)
	dst, err := sse.Append(dst, head)
	if err != nil {
		return dst, err
	}
	if len(dst) > begin {
		dst = dst[:len(dst)-1] // the frame goes on
	}
	dst, _ = w.layout.appendJSON(append(dst, "data: "...), e) // compact JSON is one line
	return append(dst, "\n\n"...), nil
}

// AppendCursor spells where the next frame of o's stream stands, at the end of dst:
// Append spells it as well, where the event has a cursor.
func (o *Operation) AppendCursor(dst []byte, cursor string) []byte {
	if o.encoding.cursorAsID {
		dst = append(append(append(dst, "id: "...), cursor...), '\n')
	}
	return dst
}

// WritesSentinel says whether a server of ours closes a stream with the in-band
// terminator.
func (o *Operation) WritesSentinel() bool { return o.sentinel != "" && o.encoding.sentinel }

// An EncodedResponse is a reply that is no stream, as the document spells it.
type EncodedResponse struct {
	Status    int
	MediaType string // "" if there is no body
	Body      []byte
}

// EncodeResponse spells the event that answers a whole request; e.HTTP says which of the
// operation's replies it is, 0 the success. A text that e does not say is the one
// that the document gives as its example.
func (o *Operation) EncodeResponse(e spec.Event) EncodedResponse {
	if e.StatusCode == 0 {
		e.StatusCode = o.successStatus
	}
	r, ok := o.responseFor(e.StatusCode)
	if !ok || len(r.variants) == 0 {
		return EncodedResponse{Status: e.StatusCode}
	}
	if e.Text == "" && !isJSON(r.mediaType) {
		e.Text = r.example
	}
	if !isJSON(r.mediaType) {
		return EncodedResponse{e.StatusCode, r.mediaType, []byte(e.Text)}
	}
	w := variantFor(r.variants, e.Kind, &e)
	if w == nil {
		w = r.variants[0]
	}
	return EncodedResponse{e.StatusCode, r.mediaType, w.appendJSON(nil, &e)}
}

// appendJSON spells a word that says e, which need not be an object, at the end of dst.
func (w *variant) appendJSON(dst []byte, e *spec.Event) []byte {
	if slices.Contains(w.node.get("type").strings(), "string") {
		return appendString(dst, cmp.Or(e.Text, w.node.get("x-write").text()))
	}
	dst, _ = w.layout.appendJSON(dst, e)
	return dst
}

// fieldText is a member of the form as a text.
func (f *objectLayout) fieldText(name string, e *spec.Event) string {
	i := slices.IndexFunc(f.fields, func(m *objectField) bool { return m.name == name })
	if i < 0 {
		return ""
	}
	if m := f.fields[i]; m.slotPointer != nil && *m.slotPointer(e) != "" {
		return *m.slotPointer(e)
	}
	return slotText(f.fields[i].fixedValue)
}

// Container says which message a content of this kind stands in, in dialects that
// put everything into messages: its type and role. ok is false where contents of
// the kind stand alone.
func (o *Operation) Container(k spec.Kind) (kind, role string, ok bool) {
	w := findVariant(o.frameVariants, k, 0)
	if w == nil {
		return "", "", false
	}
	within, ok := w.node.extension("x-within")
	return within.get("type").text(), within.get("role").text(), ok
}

// findVariant is the first word of a kind, in frames or in what stands inside them.
func findVariant(words []*variant, k spec.Kind, depth int) *variant {
	for _, w := range words {
		if w.kind == k {
			return w
		}
	}
	for _, w := range words {
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
