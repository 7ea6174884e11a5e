package dialect

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// DefaultValue returns, as text, the default of the parameter of o that carries the given slot. The
// argument slot names a slot of [spec.Event] as documents do, such as "limit". DefaultValue returns
// "" if o has no parameter with that slot or if the parameter has no default.
func (o *Operation) DefaultValue(slot string) string {
	p, _ := o.parameterWith(slot)
	return slotText(p.schema.get("default").value)
}

// parameterWith returns the parameter of o that carries the given slot. ok is false if there is
// none.
func (o *Operation) parameterWith(slot string) (p parameter, ok bool) {
	i := slices.IndexFunc(o.parameters, func(p parameter) bool { return p.slot == slot })
	if i < 0 {
		return p, false
	}
	return o.parameters[i], true
}

// FixedText returns the constant that the reference server writes for a slot of [spec.Event], such
// as "name", in frames or replies of kind k. The document specifies the constant by the extension
// x-write or, without that, by a const, a default or an enum with a single value. A string is
// returned unchanged, and any other value as JSON. FixedText returns "" if the document specifies
// no constant.
func (o *Operation) FixedText(k spec.Kind, slot string) string {
	if m := o.memberWith(k, slot); m != nil {
		return slotText(m.fixedValue)
	}
	return ""
}

// MaxBodyBytes returns the maximum size, in bytes, that the document sets for JSON bodies of
// requests for o (x-max-bytes), or 0 if it sets none.
func (o *Operation) MaxBodyBytes() int {
	for _, b := range o.bodies {
		if b.mediaType == jsonMediaType {
			return b.limit.maxBytes
		}
	}
	return 0
}

// RefusalCode returns the error code that the reference server sends in a refusal with the given
// HTTP status, unless the document states a code for the particular error (x-error). It is the code
// that the document states for all responses with that status (x-code), or "" if it states none.
func (o *Operation) RefusalCode(status int) string {
	return o.node.get("responses").get(strconv.Itoa(status)).get("x-code").text()
}

// RepeatCount returns the number of times that the reference server sends each event of kind k. It
// is the x-times of the variant for frames of that kind, or 1 if the document does not specify a
// number.
func (o *Operation) RepeatCount(k spec.Kind) int {
	if w := variantFor(o.frameVariants, k, &noSlots); w != nil {
		if n, ok := intValue(w.node.get("x-times")); ok && n > 1 {
			return n
		}
	}
	return 1
}

// FailureCode returns the error code with which the reference server ends a run that has the given
// status, such as "canceled". It is taken from the x-code of the variant for failed runs. The
// result is "" if there is no such variant, or if its x-code has no entry for the status.
func (o *Operation) FailureCode(status string) string {
	w := variantFor(o.frameVariants, spec.RunError, &spec.Event{Status: status})
	if w == nil {
		return ""
	}
	return w.node.get("x-code").get(status).text()
}

// KeepAlive returns the text that the document states for the comments on an idle stream of o,
// without the colon with which comments begin. It returns "" if the document states none.
func (o *Operation) KeepAlive() string { return o.promised.KeepAlive }

// MayReorder reports whether a server may send the events of a stream of o in another order than
// its agent produced them (x-stream, member "reorders").
func (o *Operation) MayReorder() bool { return o.promised.MayReorder }

// SnapshotStatus returns the status of incomplete parts of kind k, such as [spec.ToolCall], in the
// stream of o. The reference server sends such a part repeatedly, each time with more content, if
// the document allows it (x-snapshots). If it does not, SnapshotStatus returns "".
func (o *Operation) SnapshotStatus(k spec.Kind) string {
	for _, w := range o.frameVariants {
		if m := w.encoding.fieldForSlot("status"); m != nil && w.kind == k && w.node.get("x-snapshots").value == true {
			return slotText(m.fixedValue)
		}
	}
	return ""
}

// FormatTime returns t as text in the format of the member that carries the given slot of
// [spec.Event], such as "created", in frames or replies of kind k. It returns "" if no member
// carries the slot, or if the type of the member cannot represent a time.
//
// If the member is a string or has no type, the format is RFC 3339 in UTC. If it is a number, the
// format is Unix time in seconds. If its minimum is at least 1e11, which is implausible for
// seconds, the format is Unix time in milliseconds.
func (o *Operation) FormatTime(k spec.Kind, slot string, t time.Time) string {
	m := o.memberWith(k, slot)
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

// noSlots is an event whose slots are all empty. Passed to variantFor, it selects a variant by kind
// alone. It does not select variants for steps that enclose messages (x-encloses), because these
// require a type.
var noSlots spec.Event

// memberWith returns the member that carries the given slot in events of kind k, or nil if there is
// none. It considers only one variant of that kind: the first of the frames or, if no frame has the
// kind, the first of the other responses, ordered by status.
func (o *Operation) memberWith(k spec.Kind, slot string) *memberEncoding {
	w := variantFor(o.frameVariants, k, &noSlots)
	for _, status := range slices.Sorted(maps.Keys(o.responses)) {
		if w == nil {
			w = variantFor(o.responses[status].variants, k, &noSlots)
		}
	}
	if w == nil {
		return nil
	}
	return w.encoding.fieldForSlot(slot)
}

// fieldForSlot returns the first member of the object, at any depth, that carries the given slot.
// Members are searched in the order of their names. fieldForSlot returns nil if no member carries
// the slot.
func (f *objectEncoding) fieldForSlot(slot string) *memberEncoding {
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
