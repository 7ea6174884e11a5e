package dialect

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// A word is one schema of the dialect and what it means.
type word struct {
	kind      spec.Kind
	name      string
	node      node
	marks     []mark     // all of them are there, or it is another word
	presence  [][]string // one of these paths is there, if there are any
	constants []constant // slots that are the same in all that the word says
	slots     []slotSite
	parts     []partSite
	laws      []lawSite
	law       string // of what no x-requirement inside covers
	validate  func(any) error
	form      *form
	memo      *memo
}

// A mark is a constant that a value is recognised by.
type mark struct {
	path  []string
	value any
}

// A slotSite is a place that carries a slot.
type slotSite struct {
	path  []string // "*" stands for every item of an array
	slot  string
	types []string // what the schema lets stand there; nil: anything
}

// A partSite is a place whose items are words of their own.
type partSite struct {
	path  []string
	words []*word
	named bool // only items of a kind are parts
}

// A lawSite is a place with a requirement. It is exercised where its value is
// there, or has to be.
type lawSite struct {
	path     []string
	id       string
	required bool
	form     func(any) error // nil, or the one of several forms that the value has to have
}

// words reads what a schema may be: the branches of its oneOf or anyOf, or itself.
// law is the requirement of what no other covers.
func (s *source) words(at node, law string) ([]*word, error) {
	if own, ok := s.lawAt(at); ok {
		law = own
	}
	branches := at.get("oneOf").items()
	if len(branches) == 0 {
		branches = at.get("anyOf").items()
	}
	_, own := at.extension("x-kind")
	if len(branches) == 0 || own {
		w, err := s.word(at, law)
		return []*word{w}, err
	}
	var all []*word
	for _, b := range branches {
		more, err := s.words(b, law)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// lawAt is the requirement for all of a schema, looked for at a reference first.
func (s *source) lawAt(n node) (string, bool) {
	for _, at := range []string{n.at, n.deref().at} {
		if id, ok := s.laws[at].(string); ok {
			return id, true
		}
	}
	return "", false
}

// extension is an x- member, looked for beside a reference first.
func (n node) extension(name string) (node, bool) {
	v := n.get(name)
	return v, v.exists()
}

func (s *source) word(n node, law string) (*word, error) {
	known := n.at + " " + law
	if w := s.known[known]; w != nil {
		return w, nil
	}
	w := &word{node: n, law: law}
	if k, ok := n.extension("x-kind"); ok {
		w.kind = spec.Kind(k.text())
	}
	target := n.deref()
	w.name = lastToken(target.at)
	if own, ok := s.lawAt(n); ok {
		w.law = own
		w.laws = append(w.laws, lawSite{id: own, required: true})
	}
	if err := w.survey(s, n, nil, true, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", target.at, err)
	}
	w.constants = constantsOf(w)
	w.form = w.formOf(madeOf(n, 0), nil, 0)
	w.memo = memoOf(w.form, madeOf(n, 0))
	w.validate = s.validator(target.at)
	s.known[known] = w
	return w, nil
}

func lastToken(pointer string) string {
	for i := len(pointer) - 1; i >= 0; i-- {
		if pointer[i] == '/' {
			return unescape(pointer[i+1:])
		}
	}
	return pointer
}

const deepest = 12 // how far a schema is looked into; documents are trees, but may recur

// survey notes the marks, slots, parts and laws of a schema and what is inside.
// sure says that the schema applies to every value of the word: it is not one of
// several choices.
func (w *word) survey(s *source, n node, path []string, sure bool, depth int) error {
	if depth > deepest {
		return nil
	}
	if _, own := n.extension("x-kind"); own && len(path) > 0 {
		outer := len(w.slots) // what is a word of its own has its own slots
		defer func() { w.slots = w.slots[:outer] }()
	}
	if slot, ok := n.extension("x-slot"); ok {
		if err := knownSlot(slot.text()); err != nil {
			return err
		}
		w.slots = append(w.slots, slotSite{slices.Clone(path), slot.text(), n.get("type").strings()})
	}
	for _, part := range n.get("allOf").items() {
		if err := w.survey(s, part, path, sure, depth+1); err != nil {
			return err
		}
	}
	for _, choice := range slices.Concat(n.get("oneOf").items(), n.get("anyOf").items()) {
		if id, ok := s.lawAt(choice); ok {
			w.laws = append(w.laws, lawSite{path: slices.Clone(path), id: id, form: s.validator(choice.at)})
		}
		if err := w.survey(s, choice, path, false, depth+1); err != nil {
			return err
		}
	}
	if items := n.get("items"); items.exists() {
		if err := w.survey(s, items, append(slices.Clone(path), "*"), false, depth+1); err != nil {
			return err
		}
	}
	required := n.get("required").strings()
	names, props := n.get("properties").members()
	for i, name := range names {
		inside := append(slices.Clone(path), name)
		if err := w.property(s, props[i], inside, sure, sure && slices.Contains(required, name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *word) property(s *source, p node, path []string, sure, required bool, depth int) error {
	w.noteLaws(s, p, path, required)
	how, marked := p.extension("x-mark")
	switch enum := p.get("enum").items(); {
	case how.text() == "present":
		w.presence = append(w.presence, path)
	case sure && len(enum) == 1 && !marked:
		w.marks = append(w.marks, mark{path, enum[0].v})
	}
	if how, ok := p.extension("x-parts"); ok {
		items := p
		if list := p.get("items"); list.exists() {
			items = list
		}
		words, err := s.words(items, w.law)
		if err != nil {
			return err
		}
		w.parts = append(w.parts, partSite{path, words, how.text() == "named"})
		if how.text() != "named" {
			return nil
		}
	}
	return w.survey(s, p, path, sure, depth+1)
}

func (w *word) noteLaws(s *source, p node, path []string, required bool) {
	for _, at := range slices.Compact([]string{p.at, p.deref().at}) {
		switch law := s.laws[at].(type) {
		case string:
			w.laws = append(w.laws, lawSite{path: path, id: law, required: required})
		case map[string]any:
			for keyword, id := range law {
				id, _ := id.(string)
				w.laws = append(w.laws, lawSite{path: path, id: id, required: required || keyword == "required"})
			}
		}
	}
}

// choose finds the first word that a value is recognised as.
func choose(words []*word, v any) *word {
	for _, w := range words {
		if w.marksOf(v) {
			return w
		}
	}
	return nil
}

func (w *word) marksOf(v any) bool {
	for _, m := range w.marks {
		if !same(at(v, m.path), m.value) {
			return false
		}
	}
	return len(w.presence) == 0 || slices.ContainsFunc(w.presence, func(path []string) bool { return at(v, path) != nil })
}

// same compares scalars as JSON does.
func same(a, b any) bool {
	switch x := a.(type) {
	case string, bool, nil:
		return a == b
	case json.Number:
		y, ok := b.(json.Number)
		return ok && (x == y || canonical(x) == canonical(y))
	}
	return false
}

// at is the value at a path of member names, nil if there is none.
func at(v any, path []string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// all is every value at a path; "*" stands for every item.
func all(v any, path []string) []any {
	for i, key := range path {
		if key == "*" {
			var found []any
			list, _ := v.([]any)
			for _, item := range list {
				found = append(found, all(item, path[i+1:])...)
			}
			return found
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		if v, ok = m[key]; !ok {
			return nil
		}
	}
	return []any{v}
}
