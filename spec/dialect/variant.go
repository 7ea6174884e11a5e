package dialect

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A variant is one of the alternative schemas of a value, together with the kind of event that it
// stands for and what is needed to decode and encode it.
type variant struct {
	kind               spec.Kind
	node               node                 // its schema, or a reference to it
	discriminators     []discriminatorValue // a value of the variant has all of them
	presencePaths      [][]string           // if there are any, a value of the variant has one of these members
	constants          []constantSlot       // slots that the discriminators fix
	slots              []slotLocation
	parts              []nestedParts
	requirements       []memberRequirement
	siblings           []*variant // of the frame of a stream: all variants of such a frame
	chunk              *chunkRule // nil unless values of the variant are chunks
	encloses           string     // the subject that a step encloses (x-encloses); "" if there is no x-encloses
	defaultRequirement string     // id of the requirement where no x-requirement inside applies
	validate           func(any) error
	layout             *objectLayout
	cache              *validationCache
}

// A discriminatorValue is a member whose constant value distinguishes the values of a variant from
// those of other variants.
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

// A nestedParts is a location in the values of a variant at which there is a value of one of
// several other variants, or an array of such values. These values are decoded as parts of the
// event.
type nestedParts struct {
	path         []string // as in slotLocation
	variants     []*variant
	onlyWithKind bool // values whose variant has no kind are not parts
	separate     bool // the parts are events of their own
}

// rank returns 1 if the parts at this location answer interrupts, and 0 otherwise. Parts of rank 1
// follow the others in an event, since the answer to an interrupt comes after the messages.
func (p nestedParts) rank() int {
	if slices.ContainsFunc(p.variants, func(w *variant) bool { return w.kind == spec.InputResume }) {
		return 1
	}
	return 0
}

// A memberRequirement is a location in the values of a variant, together with the requirement
// that applies there. A value of the variant exercises the requirement if something other than null
// is at the location. If required is true, the requirement is also about whether the member at the
// location is present, and it is enough that the object around the location is present.
type memberRequirement struct {
	path     []string // as in slotLocation; empty for the value as a whole
	id       string   // id of the requirement
	required bool
	// If matchesForm is not nil, a value of the variant exercises the requirement only if
	// matchesForm returns nil for at least one value at the location.
	matchesForm func(any) error
}

// isEnvelope reports whether frames of the variant are envelopes, which stand for no event of their
// own, only for the events that they carry.
func (w *variant) isEnvelope() bool {
	return w.kind == "" && slices.ContainsFunc(w.parts, func(p nestedParts) bool { return p.separate })
}

// parseVariants returns the variants of the given schema. These are the alternatives of its oneOf
// or anyOf. If the schema has no alternatives, or has an x-kind, it is itself the only variant.
// requirement is the id of the default requirement of variants that have none of their own.
func (s *document) parseVariants(schema node, requirement string) (all []*variant) {
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

// requirementAt returns the id of the requirement on the whole schema n: the x-requirement of n if
// that is an id and not a map. If n is a reference, an x-requirement beside the reference takes
// precedence over that of the target. The result is "" if there is no such id.
func (s *document) requirementAt(n node) string {
	own, _ := s.requirements[n.pointer].(string)
	target, _ := s.requirements[n.deref().pointer].(string)
	return cmp.Or(own, target)
}

// parseVariant returns the schema n as a single variant. requirement is the id of the default
// requirement of the variant, unless n has its own. Calls with the same arguments return the same
// variant.
func (s *document) parseVariant(n node, requirement string) *variant {
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
		w.requirements = append(w.requirements, memberRequirement{id: own, required: true})
	}
	w.scanSchema(s, n, nil, true, 0)
	slices.SortStableFunc(w.parts, func(a, b nestedParts) int { // what answers an interrupt follows the messages
		return cmp.Compare(a.rank(), b.rank())
	})
	w.constants = constantSlotsOf(w)
	w.layout = w.layoutOf(withAllOf(n, 0), nil, 0)
	w.cache = newValidationCache(w.layout, withAllOf(n, 0))
	s.variantCache[cacheKey] = w
	return w
}

// lastToken returns the string that the last reference token of a JSON pointer (RFC 6901) stands
// for. For "/paths/~1runs", it is "/runs".
func lastToken(pointer string) string {
	return unescape(pointer[strings.LastIndexByte(pointer, '/')+1:])
}

// maxDepth is the maximum depth to which nested schemas are followed. There is a limit because
// schemas may be recursive. The parameter depth of a function is the depth of the recursion, 0 in
// calls from other functions. Beyond maxDepth, a function adds and returns nothing, unless its
// comment says otherwise.
const maxDepth = 12

// scanSchema adds to w the discriminators, slots, parts and requirements of the schema n and of the
// schemas inside n. path is the location to which n applies, in which "*" stands for every item of
// an array. always is whether n applies to every value of the variant, and not only to those of one
// alternative.
func (w *variant) scanSchema(s *document, n node, path []string, always bool, depth int) {
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
			w.requirements = append(w.requirements, memberRequirement{
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

// scanProperty does for p, the schema of a property, what scanSchema does for any schema. It also
// evaluates the extensions that only properties may have, such as x-mark and x-parts. required is
// whether every value of the variant must have the property. The other arguments are as in
// scanSchema.
func (w *variant) scanProperty(s *document, p node, path []string, always, required bool, depth int) {
	w.addRequirements(s, p, path, required)
	mark := p.get("x-mark")
	switch enum := p.get("enum").items(); {
	case mark.text() == "present":
		w.presencePaths = append(w.presencePaths, path)
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
		w.parts = append(w.parts, nestedParts{
			path: path, variants: s.parseVariants(items, w.defaultRequirement),
			onlyWithKind: parts.text() == "named", separate: parts.text() == "events",
		})
		if parts.text() != "named" {
			return
		}
	}
	w.scanSchema(s, p, path, always, depth+1)
}

// addRequirements adds to w.requirements the requirements that the document states for a property
// with the schema p. If p is a reference, these are the requirements beside the reference and those
// at its target. path is the location of the property in values of the variant, and required is
// whether every value of the variant must have it.
func (w *variant) addRequirements(s *document, p node, path []string, required bool) {
	for _, at := range slices.Compact([]string{p.pointer, p.deref().pointer}) {
		switch requirement := s.requirements[at].(type) {
		case string:
			w.requirements = append(w.requirements, memberRequirement{path: path, id: requirement, required: required})
		case map[string]any:
			for keyword, id := range requirement {
				id, _ := id.(string)
				w.requirements = append(w.requirements, memberRequirement{
					path: path, id: id, required: required || keyword == "required",
				})
			}
		}
	}
}

// matchVariant returns the first of the variants that the value v matches (see [variant.matches]),
// or nil if there is none.
func matchVariant(variants []*variant, v any) *variant {
	for _, w := range variants {
		if w.matches(v) {
			return w
		}
	}
	return nil
}

// matches reports whether the value v has all discriminators of the variant. If the variant has
// members that mark its values by their presence, v must also have one of these members.
func (w *variant) matches(v any) bool {
	for _, m := range w.discriminators {
		if !equalScalars(firstAt(v, m.path), m.value) {
			return false
		}
	}
	isPresent := func(path []string) bool { return firstAt(v, path) != nil }
	return len(w.presencePaths) == 0 || slices.ContainsFunc(w.presencePaths, isPresent)
}

// siblingConstants returns the constants that the siblings of w require at the given path. It
// considers only those siblings with which v agrees in all discriminators at other paths.
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
