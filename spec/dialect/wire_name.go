package dialect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// initWireNames sets o.nameMembers to the members that name the frames of o, the most frequent
// first, and o.wireNames to the name of the frames of each kind.
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

// hasFrame reports whether the document describes frames with the given name on the wire.
func (d *Dialect) hasFrame(name string) bool {
	return slices.ContainsFunc(d.operations, func(o *Operation) bool {
		return slices.ContainsFunc(o.frameVariants, func(w *variant) bool { return name != "" && o.wireName(w, nil) == name })
	})
}

// TypeMembers returns the members of the data of events by which the document tells types apart, the
// most frequent first. It returns nil if the dialect has no event stream. The caller must not modify
// the slice.
func (d *Dialect) TypeMembers() []string {
	for _, o := range d.operations {
		if o.IsStream {
			return o.nameMembers
		}
	}
	return nil
}

// wireName returns the name of a frame on the wire, such as RUN_FINISHED or "response (status
// completed)": the values of the discriminators of its variant w, and its status. The values after
// the first are in parentheses, each with the name of its member. v is the decoded frame. If v is
// nil, the name consists only of what the variant fixes.
func (o *Operation) wireName(w *variant, v any) string {
	first := ""
	var others []string
	for _, name := range o.nameMembers {
		text, marked := w.discriminatorText(name)
		if !marked && (w.carriesSlot(name, "status") || w.kind == "" || w.kind == spec.Unrecognized) {
			text, _ = childAt(v, name).(string)
		}
		switch {
		case text == "":
		case first == "":
			first = displayName(text)
		default:
			others = append(others, name+" "+displayName(text))
		}
	}
	if len(others) > 0 {
		first += " (" + strings.Join(others, ", ") + ")"
	}
	return first
}

// discriminatorText returns the constant of the top-level member with the given name. ok is false
// if that member is not a discriminator of the variant, or if its constant is not a string.
func (w *variant) discriminatorText(name string) (text string, ok bool) {
	for _, m := range w.discriminators {
		if len(m.path) == 1 && m.path[0] == name {
			text, ok = m.value.(string)
			return text, ok
		}
	}
	return "", false
}

// carriesSlot reports whether the top-level member with the given name carries the given slot.
func (w *variant) carriesSlot(name, slot string) bool {
	return slices.ContainsFunc(w.slots, func(s slotLocation) bool {
		return s.slot == slot && len(s.path) == 1 && s.path[0] == name
	})
}

// displayName returns s, put in quotes and truncated unless it is a bare word.
func displayName(s string) string {
	if isBareWord(s) {
		return s
	}
	return displayValue(s)
}
