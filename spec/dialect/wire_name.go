package dialect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// initWireNames notes how the frames of an operation are told apart: the members with
// constants, the one that most frames have first.
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
	slices.SortFunc(o.nameMembers, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
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

// wireName is what an event is called on the wire: the constants by which it was recognised
// as the word, and its status. Of v the status is taken, and what the word leaves open
// where it is of no kind that is known.
func (o *Operation) wireName(w *variant, v any) string {
	var parts []string
	for _, name := range o.nameMembers {
		text, marked := w.discriminatorText(name)
		if !marked && (w.carriesSlot(name, "status") || w.kind == "" || w.kind == spec.Unrecognized) {
			text, _ = memberAt(v, []string{name}).(string)
		}
		if text != "" {
			parts = append(parts, displayName(text))
		}
	}
	return strings.Join(parts, " ")
}

// discriminatorText is the text by which a word is recognised at a member.
func (w *variant) discriminatorText(name string) (text string, ok bool) {
	for _, m := range w.discriminators {
		if len(m.path) == 1 && m.path[0] == name {
			text, ok = m.value.(string)
			return text, ok
		}
	}
	return "", false
}

// carriesSlot reports whether a member carries a slot.
func (w *variant) carriesSlot(name, slot string) bool {
	return slices.ContainsFunc(w.slots, func(s slotLocation) bool { return s.slot == slot && len(s.path) == 1 && s.path[0] == name })
}

// displayName is a text as it stands if it is a word, else quoted.
func displayName(s string) string {
	if isBareWord(s) {
		return s
	}
	return displayValue(s)
}
