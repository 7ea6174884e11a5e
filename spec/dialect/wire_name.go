package dialect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// initWireNames sets o.nameMembers (see [Dialect.TypeMembers]) and o.wireNames, the names of frames
// by kind.
func (o *Operation) initWireNames() {
	count := map[string]int{}
	for _, w := range o.frameVariants {
		for _, m := range w.discriminators {
			if _, text := m.value.(string); text && len(m.path) == 1 {
				count[m.path[0]]++
			}
		}
	}
	for name := range count {
		o.nameMembers = append(o.nameMembers, name)
	}
	slices.SortFunc(o.nameMembers, func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	o.wireNames = map[spec.Kind]string{}
	for _, w := range o.frameVariants {
		if text := o.wireName(w, nil); w.kind != "" && text != "" && o.wireNames[w.kind] == "" {
			o.wireNames[w.kind] = text
		}
	}
	if o.sentinel != "" {
		o.wireNames[spec.Done] = o.sentinel
	}
}

// hasFrame reports whether the document describes frames with the given name on the wire. It
// returns false if name is "".
func (d *Dialect) hasFrame(name string) bool {
	return slices.ContainsFunc(d.operations, func(o *Operation) bool {
		return slices.ContainsFunc(o.frameVariants, func(w *variant) bool { return name != "" && o.wireName(w, nil) == name })
	})
}

// TypeMembers returns the names of the JSON members, such as "type", whose values distinguish the
// frames of an event stream. These are the top-level members that discriminate between the schemas
// of frames. The member that most of these schemas have comes first. TypeMembers considers only the
// first operation that streams, and returns nil if there is none. The caller must not modify the
// slice.
func (d *Dialect) TypeMembers() []string {
	if o := d.firstStream(); o != nil {
		return o.nameMembers
	}
	return nil
}

// wireName returns the name on the wire of a frame of the variant w, such as RUN_FINISHED or
// "response (status completed)". The name consists of the values of the discriminators and of the
// status. The first value stands alone. The others follow in parentheses, each after the name of
// its member. The argument v is the frame. If it is nil, the name contains only constants of w.
func (o *Operation) wireName(w *variant, v any) string {
	first := ""
	var others []string
	for _, name := range o.nameMembers {
		text, marked := w.discriminatorText(name)
		isStatus := func(s slotLocation) bool { return s.slot == "status" && len(s.path) == 1 && s.path[0] == name }
		if !marked && (w.kind == "" || w.kind == spec.Unrecognized || slices.ContainsFunc(w.slots, isStatus)) {
			text, _ = childAt(v, name).(string)
		}
		switch {
		case text == "":
		case first == "":
			first = displayWord(text)
		default:
			others = append(others, name+" "+displayWord(text))
		}
	}
	if len(others) > 0 {
		first += " (" + strings.Join(others, ", ") + ")"
	}
	return first
}

// discriminatorText returns the constant of the variant for the top-level member with the given
// name. ok is false if that member is not a discriminator, or if the constant is not a string.
func (w *variant) discriminatorText(name string) (text string, ok bool) {
	for _, m := range w.discriminators {
		if len(m.path) == 1 && m.path[0] == name {
			text, ok = m.value.(string)
			return text, ok
		}
	}
	return "", false
}
