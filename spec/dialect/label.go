package dialect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// labelling notes how the frames of an operation are told apart: the members with
// constants, the one that most frames have first.
func (o *Operation) labelling() {
	count := map[string]int{}
	for _, w := range o.frames {
		for _, m := range w.marks {
			if _, text := m.value.(string); text && len(m.path) == 1 {
				count[m.path[0]]++
			}
		}
	}
	for name := range count {
		o.labels = append(o.labels, name)
	}
	slices.SortFunc(o.labels, func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) })
	o.spelled = map[spec.Kind]string{}
	for _, w := range o.frames {
		if text := o.label(w, nil); w.kind != "" && text != "" && o.spelled[w.kind] == "" {
			o.spelled[w.kind] = text
		}
	}
	if o.sentinel != "" {
		o.spelled[spec.Done] = o.sentinel
	}
}

// label is what an event is called on the wire: the constants by which it was recognised
// as the word, and its status. Of v the status is taken, and what the word leaves open
// where it is of no kind that is known.
func (o *Operation) label(w *word, v any) string {
	var parts []string
	for _, name := range o.labels {
		text, marked := w.constantAt(name)
		if !marked && (w.carries(name, "status") || w.kind == "" || w.kind == spec.Unrecognized) {
			text, _ = at(v, []string{name}).(string)
		}
		if text != "" {
			parts = append(parts, visibleWord(text))
		}
	}
	return strings.Join(parts, " ")
}

// constantAt is the text by which a word is recognised at a member.
func (w *word) constantAt(name string) (text string, ok bool) {
	for _, m := range w.marks {
		if len(m.path) == 1 && m.path[0] == name {
			text, ok = m.value.(string)
			return text, ok
		}
	}
	return "", false
}

// carries reports whether a member carries a slot.
func (w *word) carries(name, slot string) bool {
	return slices.ContainsFunc(w.slots, func(s slotSite) bool { return s.slot == slot && len(s.path) == 1 && s.path[0] == name })
}

// visibleWord is a text as it stands if it is a word, else quoted.
func visibleWord(s string) string {
	if isWord(s) {
		return s
	}
	return shown(s)
}
