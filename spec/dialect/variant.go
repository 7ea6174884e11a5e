package dialect

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// A variant is one schema of the dialect and what it means.
type variant struct {
	kind               spec.Kind
	name               string
	node               node
	discriminators     []discriminator // all of them are there, or it is another word
	presencePaths      [][]string      // one of these paths is there, if there are any
	constants          []constantSlot  // slots that are the same in all that the word says
	slots              []slotLocation
	parts              []partLocation
	requirements       []requirementLocation
	defaultRequirement string // of what no x-requirement inside covers
	validate           func(any) error
	layout             *objectLayout
	cache              *validationCache
}

// A discriminator is a constant that a value is recognised by.
type discriminator struct {
	path  []string
	value any
}

// A slotLocation is a place that carries a slot.
type slotLocation struct {
	path  []string // "*" stands for every item of an array
	slot  string
	types []string // what the schema lets stand there; nil: anything
}

// A partLocation is a place whose items are words of their own.
type partLocation struct {
	path         []string
	variants     []*variant
	onlyWithKind bool // only items of a kind are parts
}

// A requirementLocation is a place with a requirement. It is exercised where its value is
// there, or has to be.
type requirementLocation struct {
	path        []string
	id          string
	required    bool
	matchesForm func(any) error // nil, or the one of several forms that the value has to have
}

// parseVariants reads what a schema may be: the branches of its oneOf or anyOf, or itself.
// law is the requirement of what no other covers.
func (s *document) parseVariants(at node, requirement string) ([]*variant, error) {
	if own, ok := s.requirementAt(at); ok {
		requirement = own
	}
	branches := at.get("oneOf").items()
	if len(branches) == 0 {
		branches = at.get("anyOf").items()
	}
	_, own := at.extension("x-kind")
	if len(branches) == 0 || own {
		w, err := s.parseVariant(at, requirement)
		return []*variant{w}, err
	}
	var all []*variant
	for _, b := range branches {
		more, err := s.parseVariants(b, requirement)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// requirementAt is the requirement for all of a schema, looked for at a reference first.
func (s *document) requirementAt(n node) (string, bool) {
	for _, at := range []string{n.pointer, n.deref().pointer} {
		if id, ok := s.requirements[at].(string); ok {
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

func (s *document) parseVariant(n node, requirement string) (*variant, error) {
	cacheKey := n.pointer + " " + requirement
	if w := s.variantCache[cacheKey]; w != nil {
		return w, nil
	}
	w := &variant{node: n, defaultRequirement: requirement}
	if k, ok := n.extension("x-kind"); ok {
		w.kind = spec.Kind(k.text())
	}
	target := n.deref()
	w.name = lastToken(target.pointer)
	if own, ok := s.requirementAt(n); ok {
		w.defaultRequirement = own
		w.requirements = append(w.requirements, requirementLocation{id: own, required: true})
	}
	if err := w.scanSchema(s, n, nil, true, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", target.pointer, err)
	}
	w.constants = constantSlotsOf(w)
	w.layout = w.layoutOf(withAllOf(n, 0), nil, 0)
	w.cache = newValidationCache(w.layout, withAllOf(n, 0))
	w.validate = s.validator(target.pointer)
	s.variantCache[cacheKey] = w
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

const maxDepth = 12 // how far a schema is looked into; documents are trees, but may recur

// scanSchema notes the marks, slots, parts and laws of a schema and what is inside.
// sure says that the schema applies to every value of the word: it is not one of
// several choices.
func (w *variant) scanSchema(s *document, n node, path []string, always bool, depth int) error {
	if depth > maxDepth {
		return nil
	}
	if _, own := n.extension("x-kind"); own && len(path) > 0 {
		outer := len(w.slots) // what is a word of its own has its own slots
		defer func() { w.slots = w.slots[:outer] }()
	}
	if slot, ok := n.extension("x-slot"); ok {
		if err := checkSlot(slot.text()); err != nil {
			return err
		}
		w.slots = append(w.slots, slotLocation{slices.Clone(path), slot.text(), n.get("type").strings()})
	}
	for _, part := range n.get("allOf").items() {
		if err := w.scanSchema(s, part, path, always, depth+1); err != nil {
			return err
		}
	}
	for _, choice := range slices.Concat(n.get("oneOf").items(), n.get("anyOf").items()) {
		if id, ok := s.requirementAt(choice); ok {
			w.requirements = append(w.requirements, requirementLocation{path: slices.Clone(path), id: id, matchesForm: s.validator(choice.pointer)})
		}
		if err := w.scanSchema(s, choice, path, false, depth+1); err != nil {
			return err
		}
	}
	if items := n.get("items"); items.exists() {
		if err := w.scanSchema(s, items, append(slices.Clone(path), "*"), false, depth+1); err != nil {
			return err
		}
	}
	required := n.get("required").strings()
	names, props := n.get("properties").members()
	for i, name := range names {
		inside := append(slices.Clone(path), name)
		if err := w.scanProperty(s, props[i], inside, always, always && slices.Contains(required, name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *variant) scanProperty(s *document, p node, path []string, always, required bool, depth int) error {
	w.addRequirements(s, p, path, required)
	extension, marked := p.extension("x-mark")
	switch enum := p.get("enum").items(); {
	case extension.text() == "present":
		w.presencePaths = append(w.presencePaths, path)
	case always && len(enum) == 1 && !marked:
		w.discriminators = append(w.discriminators, discriminator{path, enum[0].value})
	}
	if extension, ok := p.extension("x-parts"); ok {
		items := p
		if list := p.get("items"); list.exists() {
			items = list
		}
		words, err := s.parseVariants(items, w.defaultRequirement)
		if err != nil {
			return err
		}
		w.parts = append(w.parts, partLocation{path, words, extension.text() == "named"})
		if extension.text() != "named" {
			return nil
		}
	}
	return w.scanSchema(s, p, path, always, depth+1)
}

func (w *variant) addRequirements(s *document, p node, path []string, required bool) {
	for _, at := range slices.Compact([]string{p.pointer, p.deref().pointer}) {
		switch law := s.requirements[at].(type) {
		case string:
			w.requirements = append(w.requirements, requirementLocation{path: path, id: law, required: required})
		case map[string]any:
			for keyword, id := range law {
				id, _ := id.(string)
				w.requirements = append(w.requirements, requirementLocation{path: path, id: id, required: required || keyword == "required"})
			}
		}
	}
}

// matchVariant finds the first word that a value is recognised as.
func matchVariant(words []*variant, v any) *variant {
	for _, w := range words {
		if w.matches(v) {
			return w
		}
	}
	return nil
}

func (w *variant) matches(v any) bool {
	for _, m := range w.discriminators {
		if !equalScalars(memberAt(v, m.path), m.value) {
			return false
		}
	}
	return len(w.presencePaths) == 0 || slices.ContainsFunc(w.presencePaths, func(path []string) bool { return memberAt(v, path) != nil })
}

// equalScalars compares scalars as JSON does.
func equalScalars(a, b any) bool {
	switch x := a.(type) {
	case string, bool, nil:
		return a == b
	case json.Number:
		y, ok := b.(json.Number)
		return ok && (x == y || canonicalNumber(x) == canonicalNumber(y))
	}
	return false
}

// memberAt is the value at a path of member names, nil if there is none.
func memberAt(v any, path []string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// valuesAt is every value at a path; "*" stands for every item.
func valuesAt(v any, path []string) []any {
	for i, key := range path {
		if key == "*" {
			var found []any
			list, _ := v.([]any)
			for _, item := range list {
				found = append(found, valuesAt(item, path[i+1:])...)
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
