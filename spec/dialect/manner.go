package dialect

import (
	"slices"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// Default is the value that the parameter of o which carries a slot has where a
// request leaves it out; "" if the document names none.
func (o *Operation) Default(slot string) string {
	for _, p := range o.parameters {
		if p.slot == slot {
			return carry(p.schema.get("default").v)
		}
	}
	return ""
}

// MaxBytes is how large the document lets a JSON body of o be; 0 is that it does not
// say.
func (o *Operation) MaxBytes() int {
	for _, b := range o.bodies {
		if b.media == jsonMedia {
			return b.maximum.limit
		}
	}
	return 0
}

// Code is the code of refusals with a status, where nothing that is broken names
// another: x-code of the response; "" if the document has none.
func (o *Operation) Code(status int) string {
	return o.node.get("responses").get(strconv.Itoa(status)).get("x-code").text()
}

// Times is how often a server of ours says an event of this kind, each time the
// same: x-times of the word, or once.
func (o *Operation) Times(k spec.Kind) int {
	if w := wordFor(o.frames, k, &nothing); w != nil {
		if n, ok := integer(w.node.get("x-times")); ok && n > 1 {
			return n
		}
	}
	return 1
}

// Snapshots says whether a server of ours tells how a content of this kind grows, each
// time with all that there is: x-snapshots of a word.
func (o *Operation) Snapshots(k spec.Kind) bool {
	return slices.ContainsFunc(o.frames, func(w *word) bool { return w.kind == k && w.node.get("x-snapshots").v == true })
}

// Stamp is a time as the slot of a frame or reply of this kind spells it: text, or
// what has no type, is RFC 3339, an integer counts seconds since 1970, or milliseconds where the schema's
// minimum is one that seconds do not reach. It is "" where the slot does not carry
// times.
func (o *Operation) Stamp(k spec.Kind, slot string, t time.Time) string {
	w := o.spoken(k)
	if w == nil {
		return ""
	}
	m := w.form.carrier(slot)
	if m == nil {
		return ""
	}
	switch has := func(name string) bool { return slices.Contains(m.types, name) }; {
	case has("integer") || has("number"):
		const year5138 = 1e11 // in seconds; in milliseconds it is 1973
		if least, ok := integer(m.first("minimum")); ok && least >= year5138 {
			return strconv.FormatInt(t.UnixMilli(), 10)
		}
		return strconv.FormatInt(t.Unix(), 10)
	case has("string") || len(m.types) == 0:
		return t.UTC().Format(time.RFC3339Nano)
	}
	return ""
}

// nothing asks for no slot.
var nothing spec.Event

// spoken is the word that o says a kind with: in its stream, or in a reply.
func (o *Operation) spoken(k spec.Kind) *word {
	if w := wordFor(o.frames, k, &nothing); w != nil {
		return w
	}
	for _, r := range o.replies {
		if w := wordFor(r.words, k, &nothing); w != nil {
			return w
		}
	}
	return nil
}

// carrier is the member that carries a slot, wherever in the object it stands.
func (f *form) carrier(slot string) *field {
	for _, m := range f.fields {
		if m.slot == slot {
			return m
		}
		if m.inner != nil {
			if inner := m.inner.carrier(slot); inner != nil {
				return inner
			}
		}
	}
	return nil
}
