package dialect

import (
	"slices"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// DefaultValue is the value that the parameter of o which carries a slot has where a
// request leaves it out; "" if the document names none.
func (o *Operation) DefaultValue(slot string) string {
	for _, p := range o.parameters {
		if p.slot == slot {
			return slotText(p.schema.get("default").value)
		}
	}
	return ""
}

// MaxBodyBytes is how large the document lets a JSON body of o be; 0 is that it does not
// say.
func (o *Operation) MaxBodyBytes() int {
	for _, b := range o.bodies {
		if b.mediaType == jsonMediaType {
			return b.limit.maxBytes
		}
	}
	return 0
}

// RefusalCode is the code of refusals with a status, where nothing that is broken names
// another: x-code of the response; "" if the document has none.
func (o *Operation) RefusalCode(status int) string {
	return o.node.get("responses").get(strconv.Itoa(status)).get("x-code").text()
}

// RepeatCount is how often a server of ours says an event of this kind, each time the
// same: x-times of the word, or once.
func (o *Operation) RepeatCount(k spec.Kind) int {
	if w := variantFor(o.frameVariants, k, &noSlots); w != nil {
		if n, ok := intValue(w.node.get("x-times")); ok && n > 1 {
			return n
		}
	}
	return 1
}

// SendsSnapshots says whether a server of ours tells how a content of this kind grows, each
// time with all that there is: x-snapshots of a word.
func (o *Operation) SendsSnapshots(k spec.Kind) bool {
	return slices.ContainsFunc(o.frameVariants, func(w *variant) bool { return w.kind == k && w.node.get("x-snapshots").value == true })
}

// FormatTime is a time as the slot of a frame or reply of this kind spells it: text, or
// what has no type, is RFC 3339, an integer counts seconds since 1970, or milliseconds where the schema's
// minimum is one that seconds do not reach. It is "" where the slot does not carry
// times.
func (o *Operation) FormatTime(k spec.Kind, slot string, t time.Time) string {
	w := o.variantOfKind(k)
	if w == nil {
		return ""
	}
	m := w.layout.fieldForSlot(slot)
	if m == nil {
		return ""
	}
	switch has := func(name string) bool { return slices.Contains(m.types, name) }; {
	case has("integer") || has("number"):
		const year5138 = 1e11 // in seconds; in milliseconds it is 1973
		if minimum, ok := intValue(m.firstKeyword("minimum")); ok && minimum >= year5138 {
			return strconv.FormatInt(t.UnixMilli(), 10)
		}
		return strconv.FormatInt(t.Unix(), 10)
	case has("string") || len(m.types) == 0:
		return t.UTC().Format(time.RFC3339Nano)
	}
	return ""
}

// noSlots asks for no slot.
var noSlots spec.Event

// variantOfKind is the word that o says a kind with: in its stream, or in a reply.
func (o *Operation) variantOfKind(k spec.Kind) *variant {
	if w := variantFor(o.frameVariants, k, &noSlots); w != nil {
		return w
	}
	for _, r := range o.responses {
		if w := variantFor(r.variants, k, &noSlots); w != nil {
			return w
		}
	}
	return nil
}

// fieldForSlot is the member that carries a slot, wherever in the object it stands.
func (f *objectLayout) fieldForSlot(slot string) *objectField {
	for _, m := range f.fields {
		if m.slot == slot {
			return m
		}
		if m.object != nil {
			if inner := m.object.fieldForSlot(slot); inner != nil {
				return inner
			}
		}
	}
	return nil
}
