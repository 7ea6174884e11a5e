package dialect

import (
	"slices"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// DefaultValue returns the default of the parameter of o that carries the given slot (x-slot), such
// as "limit", or "" if o has no parameter with that slot or the parameter has no default.
func (o *Operation) DefaultValue(slot string) string {
	for _, p := range o.parameters {
		if p.slot == slot {
			return slotText(p.schema.get("default").value)
		}
	}
	return ""
}

// FixedText returns the value that the document fixes for a slot in frames or replies of kind k
// (x-write, a single-valued enum or a default), in the form in which a slot holds it. It returns ""
// if the document fixes none.
func (o *Operation) FixedText(k spec.Kind, slot string) string {
	if w := o.variantOfKind(k); w != nil {
		if m := w.layout.fieldForSlot(slot); m != nil {
			return slotText(m.fixedValue)
		}
	}
	return ""
}

// MaxBodyBytes returns the documented maximum size of a JSON body of o in bytes, or 0 if the
// document sets no maximum.
func (o *Operation) MaxBodyBytes() int {
	for _, b := range o.bodies {
		if b.mediaType == jsonMediaType {
			return b.limit.maxBytes
		}
	}
	return 0
}

// RefusalCode returns the error code with which the reference server refuses a request with the
// given status if no x-error specifies a code (x-code of the response). It returns "" if the
// document has no such x-code.
func (o *Operation) RefusalCode(status int) string {
	return o.node.get("responses").get(strconv.Itoa(status)).get("x-code").text()
}

// RepeatCount returns the number of times that the reference server sends each event of kind k
// (x-times of the variant). It returns 1 if the document does not specify a number.
func (o *Operation) RepeatCount(k spec.Kind) int {
	if w := variantFor(o.frameVariants, k, &noSlots); w != nil {
		if n, ok := intValue(w.node.get("x-times")); ok && n > 1 {
			return n
		}
	}
	return 1
}

// FailureCode returns the error code with which the reference server ends a run that has the given
// status, such as canceled (x-code of the variant for failed runs). It returns "" if the document
// has no such x-code.
func (o *Operation) FailureCode(status string) string {
	w := variantFor(o.frameVariants, spec.RunError, &spec.Event{Status: status})
	if w == nil {
		return ""
	}
	return w.node.get("x-code").get(status).text()
}

// KeepAlive returns the text, after the colon, of the comments on an idle stream of o. It returns
// "" if the document does not state the text.
func (o *Operation) KeepAlive() string { return o.promised.KeepAlive }

// SnapshotStatus returns the status of incomplete content parts of kind k, which the reference
// server sends repeatedly, each time as a whole, while they grow (x-snapshots of a variant). It
// returns "" if the dialect has no such parts.
func (o *Operation) SnapshotStatus(k spec.Kind) string {
	for _, w := range o.frameVariants {
		if m := w.layout.fieldForSlot("status"); m != nil && w.kind == k && w.node.get("x-snapshots").value == true {
			return slotText(m.fixedValue)
		}
	}
	return ""
}

// FormatTime returns t in the format of the member that carries the slot in frames or replies of
// kind k: RFC 3339 for a string or an untyped member; for a number, seconds since 1970, or
// milliseconds if the schema's minimum is too large for seconds. It returns "" if there is no such
// member or if its type cannot represent a time.
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
		const year5138 = 1e11 // in seconds; as milliseconds it is in 1973
		if minimum, ok := intValue(m.firstKeyword("minimum")); ok && minimum >= year5138 {
			return strconv.FormatInt(t.UnixMilli(), 10)
		}
		return strconv.FormatInt(t.Unix(), 10)
	case has("string") || len(m.types) == 0:
		return t.UTC().Format(time.RFC3339Nano)
	}
	return ""
}

// noSlots is an event with empty slots. Every variant can encode it, so that variantFor chooses by
// the kind alone.
var noSlots spec.Event

// variantOfKind returns the variant with which o encodes events of kind k, in its stream or in a
// reply. It returns nil if o has no such event.
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

// fieldForSlot returns the first member that carries the slot, at any depth of the object. It
// returns nil if no member does.
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
