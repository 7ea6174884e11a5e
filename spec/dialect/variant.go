package dialect

import (
	"cmp"
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A variant is one of several alternative schemas of a value. It contains the kind of the event
// that a value of the variant represents, and what is needed to decode and encode the value.
type variant struct {
	kind               spec.Kind
	node               node                 // its schema, or a reference to it
	discriminators     []discriminatorValue // a value of the variant has all of them
	presencePaths      [][]string           // unless empty, a value of the variant has at least one of these members
	absencePaths       [][]string           // a value of the variant has none of these members
	messageTypes       []string             // unless empty, a value belongs to a message of one of these types (x-in)
	constants          []constantSlot       // slots whose values the discriminators determine
	slots              []slotLocation
	parts              []nestedVariantLocation
	requirements       []locatedRequirement
	siblings           []*variant       // for a frame: all variants of the frames of the stream
	chunk              *chunkRule       // nil unless values of the variant are chunks
	encloses           string           // the subject of the messages that a step encloses (x-encloses); "" for none
	defaultRequirement string           // id of the requirement for violations to which no x-requirement inside applies
	validate           func(any) error  // validates a decoded value against the schema
	encoding           *objectEncoding  // how to encode an object of the variant
	cache              *validationCache // which values of the variant are valid
}

// A discriminatorValue is a member with a constant value that distinguishes values of a variant
// from values of other variants.
type discriminatorValue struct {
	path  []string // as in slotLocation
	value any      // the constant
}

// A slotLocation is a location in the values of a variant, together with the slot that holds the
// value at that location in a decoded event.
type slotLocation struct {
	path  []string // member names; "*" stands for every item of an array
	slot  string   // the name of the slot, as in x-slot
	types []string // types that the schema allows; empty means any
}

// A nestedVariantLocation is a location in the values of a variant that holds parts of the event: a
// value of one of several other variants, or an array of such values.
type nestedVariantLocation struct {
	path         []string   // as in slotLocation
	variants     []*variant // the variants of the parts
	onlyWithKind bool       // values whose variant has no kind are not parts
	separate     bool       // the parts are events of their own
}

// rank returns the number by which the parts of an event are sorted: 1 for answers to interrupts,
// which come after the messages, and 0 for all other parts.
func (p nestedVariantLocation) rank() int {
	if slices.ContainsFunc(p.variants, func(w *variant) bool { return w.kind == spec.InputResume }) {
		return 1
	}
	return 0
}

// A locatedRequirement is a requirement that applies to a location in the values of a variant.
// Unless required or matchesForm is set, a value of the variant exercises the requirement if it has
// a value other than null at that location.
type locatedRequirement struct {
	path []string // as in slotLocation; empty for the value as a whole
	id   string   // id of the requirement

	// required is true if the requirement also demands that the member is present. A value of the
	// variant then exercises the requirement if it has the object that should contain the member.
	required bool

	// matchesForm is set if the requirement is about one of several alternative schemas. It returns
	// nil for values that match this schema. A value of the variant then exercises the requirement
	// if matchesForm returns nil for at least one value at the location.
	matchesForm func(any) error
}

// isEnvelope reports whether frames of the variant are envelopes, which only carry other events and
// represent no event themselves.
func (w *variant) isEnvelope() bool {
	return w.kind == "" && slices.ContainsFunc(w.parts, func(p nestedVariantLocation) bool { return p.separate })
}

// parseVariants returns the variants of the given schema: the alternatives of its oneOf or anyOf.
// If the schema has no alternatives, or states the kind of its values itself (x-kind), it is the
// only variant. The argument requirement is the id of the default requirement for variants that do
// not state one.
func (s *openAPIDocument) parseVariants(schema node, requirement string) (all []*variant) {
	requirement = cmp.Or(s.requirementAt(schema), requirement)
	branches := schema.get("oneOf").items()
	if len(branches) == 0 {
		branches = schema.get("anyOf").items()
	}
	if len(branches) == 0 || schema.get("x-kind").exists() {
		return []*variant{s.parseVariant(schema, requirement)}
	}
	for _, b := range branches {
		all = append(all, s.parseVariants(b, requirement)...)
	}
	return all
}

// requirementAt returns the id of the requirement on the schema n as a whole. This is the
// x-requirement of n or, if n is a reference without one, that of its target. The result is "" if
// there is no x-requirement, or if it is a map from keywords to ids, which are about these keywords
// alone.
func (s *openAPIDocument) requirementAt(n node) string {
	own, _ := s.requirements[n.pointer].(string)
	target, _ := s.requirements[n.deref().pointer].(string)
	return cmp.Or(own, target)
}

// parseVariant returns the schema n as a single variant. The argument requirement is the id of its
// default requirement, unless n states one. Calls with the same arguments return the same variant.
func (s *openAPIDocument) parseVariant(n node, requirement string) *variant {
	cacheKey := n.pointer + " " + requirement
	if w := s.variantCache[cacheKey]; w != nil {
		return w
	}
	target := n.deref()
	w := &variant{
		node: n, defaultRequirement: requirement, validate: s.validator(target.pointer),
		kind: spec.Kind(n.get("x-kind").text()), encloses: n.get("x-encloses").text(),
	}
	if chunk := n.get("x-chunk"); chunk.exists() {
		w.chunk = newChunkRule(chunk)
	}
	if own := s.requirementAt(n); own != "" {
		w.defaultRequirement = own
		w.requirements = append(w.requirements, locatedRequirement{id: own, required: true})
	}
	w.messageTypes = n.get("x-in").strings()
	w.scanSchema(s, n, nil, true, 0)
	// What answers an interrupt follows the messages.
	sort.SliceStable(w.parts, func(i, j int) bool { return w.parts[i].rank() < w.parts[j].rank() })
	w.constants = constantSlotsOf(w)
	w.encoding = w.encodingOf(withAllOf(n, 0), nil, 0)
	w.cache = newValidationCache(w.encoding, withAllOf(n, 0))
	s.variantCache[cacheKey] = w
	return w
}

// lastToken returns the last reference token of a JSON pointer (RFC 6901), unescaped. For example,
// it returns "/runs" for "/paths/~1runs".
func lastToken(pointer string) string {
	return unescape(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

// maxDepth is the maximum depth to which functions follow nested schemas, which may be recursive.
// The parameter depth of such a function is the depth of the recursion; other functions pass 0.
// Beyond maxDepth, a function does nothing and returns zero values, unless its comment states
// otherwise.
const maxDepth = 12

// scanSchema adds the discriminators, slots, parts and requirements of the schema n, and of the
// schemas inside n, to w. The argument path is the location to which n applies; "*" stands for
// every item of an array. The argument always is true if n applies to all values of the variant,
// and false if it is only one of several alternatives.
func (w *variant) scanSchema(s *openAPIDocument, n node, path []string, always bool, depth int) {
	if depth > maxDepth {
		return
	}
	if n.get("x-kind").exists() && len(path) > 0 {
		outer := len(w.slots) // slots of an inner variant are not slots of this one
		defer func() { w.slots = w.slots[:outer] }()
	}
	if slot := n.get("x-slot"); slot.exists() {
		w.slots = append(w.slots, slotLocation{slices.Clone(path), slot.text(), n.get("type").strings()})
	}
	for _, part := range n.get("allOf").items() {
		w.scanSchema(s, part, path, always, depth+1)
	}
	for _, choice := range slices.Concat(n.get("oneOf").items(), n.get("anyOf").items()) {
		if id := s.requirementAt(choice); id != "" {
			w.requirements = append(w.requirements, locatedRequirement{
				path: slices.Clone(path), id: id, matchesForm: s.validator(choice.pointer),
			})
		}
		w.scanSchema(s, choice, path, false, depth+1)
	}
	if items := n.get("items"); items.exists() {
		w.scanSchema(s, items, append(slices.Clone(path), "*"), false, depth+1)
	}
	required := n.get("required").strings()
	for name, property := range n.get("properties").members() {
		inside := append(slices.Clone(path), name)
		w.scanProperty(s, property, inside, always, always && slices.Contains(required, name), depth)
	}
}

// scanProperty is like scanSchema, for the schema p of a property. It also evaluates the extensions
// that only properties may have, such as x-parts, which states that the property holds parts of the
// event. The argument required is whether all values of the variant must have the property.
func (w *variant) scanProperty(s *openAPIDocument, p node, path []string, always, required bool, depth int) {
	w.addRequirements(s, p, path, required)
	mark := p.get("x-mark")
	switch enum := p.allowedValues(); {
	case mark.text() == "present":
		w.presencePaths = append(w.presencePaths, path)
	case mark.text() == "absent":
		w.absencePaths = append(w.absencePaths, path)
	case always && len(enum) == 1 && !mark.exists():
		w.discriminators = append(w.discriminators, discriminatorValue{path, enum[0].value})
	}
	if parts := p.get("x-parts"); parts.exists() {
		if parts.text() == "single" {
			w.scanSchema(s, p.get("items"), append(slices.Clone(path), "*"), always, depth+1)
			return
		}
		items := p
		if list := p.get("items"); list.exists() {
			items = list
		}
		w.parts = append(w.parts, nestedVariantLocation{
			path: path, variants: s.parseVariants(items, w.defaultRequirement),
			onlyWithKind: parts.text() == "named", separate: parts.text() == "events",
		})
		if parts.text() != "named" {
			return
		}
	}
	w.scanSchema(s, p, path, always, depth+1)
}

// addRequirements adds the requirements that the document states for a property with the schema p
// to w.requirements. If p is a reference, they include those of its target. The argument path is
// the location of the property in values of the variant, and required is whether all values of the
// variant must have it.
func (w *variant) addRequirements(s *openAPIDocument, p node, path []string, required bool) {
	for _, at := range slices.Compact([]string{p.pointer, p.deref().pointer}) {
		switch requirement := s.requirements[at].(type) {
		case string:
			w.requirements = append(w.requirements, locatedRequirement{path: path, id: requirement, required: required})
		case map[string]any:
			for keyword, id := range requirement {
				id, _ := id.(string)
				w.requirements = append(w.requirements, locatedRequirement{
					path: path, id: id, required: required || keyword == "required",
				})
			}
		}
	}
}

// matchVariant returns the first of the variants that the value v matches (see [variant.matches]),
// or nil if there is none. It considers only variants without messageTypes.
func matchVariant(variants []*variant, v any) *variant { return matchVariantIn(variants, v, nil) }

// matchVariantIn is like matchVariant, but also considers variants with messageTypes. The function
// typeOf returns the type of the message with the given id, or "" if it is unknown. matchVariantIn
// calls typeOf with the message id that v contains, or "" if v contains none.
func matchVariantIn(variants []*variant, v any, typeOf func(id string) string) *variant {
	for _, w := range variants {
		if w.matches(v, typeOf) {
			return w
		}
	}
	return nil
}

// matches reports whether v is a value of the variant, that is, whether all of these conditions
// hold: v has all discriminators of the variant; v has none of the members at absencePaths; v has
// at least one of the members at presencePaths, if there are any; and v belongs to a message of one
// of the messageTypes, if there are any. The argument typeOf is as in matchVariantIn, or nil if all
// types are unknown.
func (w *variant) matches(v any, typeOf func(id string) string) bool {
	for _, m := range w.discriminators {
		if !equalScalars(firstAt(v, m.path), m.value) {
			return false
		}
	}
	isPresent := func(path []string) bool { return firstAt(v, path) != nil }
	if slices.ContainsFunc(w.absencePaths, isPresent) {
		return false
	}
	if len(w.messageTypes) > 0 && (typeOf == nil || !slices.Contains(w.messageTypes, typeOf(w.textAt("message", v)))) {
		return false
	}
	return len(w.presencePaths) == 0 || slices.ContainsFunc(w.presencePaths, isPresent)
}

// textAt returns the text of the given slot in v, a value of the variant, or "" if it has none.
func (w *variant) textAt(slot string, v any) string {
	for _, s := range w.slots {
		if found := firstAt(v, s.path); s.slot == slot && found != nil {
			return slotText(found)
		}
	}
	return ""
}

// siblingConstants returns the constants that the variants in w.siblings require at the given path.
// It considers only variants whose other discriminators v has.
func (w *variant) siblingConstants(v any, path []string) (all []any) {
	for _, s := range w.siblings {
		var own []any
		others := slices.DeleteFunc(slices.Clone(s.discriminators), func(m discriminatorValue) bool {
			if slices.Equal(m.path, path) {
				own = append(own, m.value)
			}
			return slices.Equal(m.path, path) || equalScalars(firstAt(v, m.path), m.value)
		})
		if len(others) == 0 {
			all = append(all, own...)
		}
	}
	return all
}

// equalScalars reports whether a and b are scalars that are equal as JSON values, such as 1 and
// 1.0. Objects and arrays are never equal.
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

// childAt returns one value directly inside v: the member with the name token if v is an object, or
// the item with the index token if v is an array. It returns nil if there is no such value.
func childAt(v any, token string) any {
	switch in := v.(type) {
	case map[string]any:
		return in[token]
	case []any:
		if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(in) {
			return in[i]
		}
	}
	return nil
}

// valueAt returns the value at the given location within v. The location consists of member names
// and array indexes. valueAt returns nil if there is no such value.
func valueAt(v any, location []string) any {
	for _, token := range location {
		v = childAt(v, token)
	}
	return v
}

// firstAt returns the first value at the given path within v that is not null, or nil if there is
// none. In the path, "*" stands for every item of an array.
func firstAt(v any, path []string) any {
	if !slices.Contains(path, "*") {
		return valueAt(v, path)
	}
	for _, found := range valuesAt(v, path) {
		if found != nil {
			return found
		}
	}
	return nil
}

// valuesAt returns all values at the given path within v, including nulls. It returns nil if the
// path leads to no value. In the path, "*" stands for every item of an array; anything else is the
// name of a member.
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
