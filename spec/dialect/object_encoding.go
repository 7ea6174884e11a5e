package dialect

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// An objectEncoding describes how to encode an object in a value of a variant. It lists the members
// that the schemas of the object describe.
type objectEncoding struct{ fields []*memberEncoding } // by name

// A memberEncoding describes one member of an object: its types, the slot of [spec.Event] that it
// carries, and how to encode it.
type memberEncoding struct {
	name           string
	encodedKey     string   // the name as JSON, with the colon
	path           []string // location in the values of the variant; "*" stands for every item of an array
	schemas        []node   // schemas that apply to it, outermost first
	required       bool
	nullable       bool                      // may be null
	types          []string                  // JSON Schema types that it may have; empty means any
	slot           string                    // name of its slot; "" if there is none
	slotPointer    func(*spec.Event) *string // returns the field for slot; nil if there is no slot
	fixedValue     any                       // value to encode if the slot is empty
	hasFixedValue  bool
	encodedDefault string          // fixedValue or else the empty value, as JSON
	object         *objectEncoding // the members of the value or, if isList, of its items; nil if there are none
	variants       []*variant      // the variants of the parts that it holds; nil if it holds none
	isList         bool            // the value is an array: of parts, or with a single item described by object
}

// encodingOf returns the encoding of the object at the given path in values of the variant. The
// argument schemas holds all schemas that apply to the object. The argument depth is the nesting
// depth of the object; if it exceeds maxDepth, the encoding is empty.
func (w *variant) encodingOf(schemas []node, path []string, depth int) *objectEncoding {
	f := &objectEncoding{}
	if depth > maxDepth {
		return f
	}
	required := map[string]bool{}
	for _, n := range schemas {
		f.addMembers(n, required)
	}
	for _, m := range f.fields {
		m.path = append(slices.Clone(path), m.name)
		m.required = required[m.name]
		m.readSchemas()
		m.encodedKey, m.encodedDefault = compactJSON(m.name)+":", compactJSON(m.fixedValue)
		if !m.hasFixedValue {
			m.encodedDefault = compactJSON(m.emptyValue())
		}
		isMember := func(s nestedVariantLocation) bool { return slices.Equal(s.path, m.path) }
		if i := slices.IndexFunc(w.parts, isMember); i >= 0 {
			m.variants = w.parts[i].variants
			m.isList = slices.ContainsFunc(m.schemas, func(s node) bool { return s.get("items").exists() })
			continue
		}
		if m.firstKeyword("x-parts").text() == "single" {
			m.isList = true
			items := withAllOf(m.firstKeyword("items"), 0)
			m.object = w.encodingOf(items, append(slices.Clone(m.path), "*"), depth+1)
			continue
		}
		if m.firstKeyword("properties").exists() {
			m.object = w.encodingOf(m.schemas, m.path, depth+1)
		}
	}
	slices.SortFunc(f.fields, func(a, b *memberEncoding) int { return strings.Compare(a.name, b.name) })
	return f
}

// addMembers adds the members that the schema n describes to f.fields. It also sets required[name]
// for each member that n requires. It does not follow the allOf of n.
func (f *objectEncoding) addMembers(n node, required map[string]bool) {
	for _, name := range n.get("required").strings() {
		required[name] = true
	}
	for name, property := range n.get("properties").members() {
		j := slices.IndexFunc(f.fields, func(m *memberEncoding) bool { return m.name == name })
		if j < 0 {
			f.fields = append(f.fields, &memberEncoding{name: name})
			j = len(f.fields) - 1
		}
		f.fields[j].schemas = append(f.fields[j].schemas, withSlotChoice(withAllOf(property, 0))...)
	}
}

// withSlotChoice returns the schemas that determine how to encode a value. The argument schemas
// holds all schemas that apply to the value. If one of them assigns the value to a slot of
// [spec.Event] (x-slot), the result is schemas. Otherwise, withSlotChoice appends the first
// alternative in a oneOf of these schemas that assigns the value to a slot, and the schemas in the
// allOf of that alternative. If there is no such alternative, the result is schemas.
func withSlotChoice(schemas []node) []node {
	hasSlot := func(s node) bool { return s.get("x-slot").exists() }
	if slices.ContainsFunc(schemas, hasSlot) {
		return schemas
	}
	for _, s := range schemas {
		for _, choice := range s.get("oneOf").items() {
			if all := withAllOf(choice, 0); slices.ContainsFunc(all, hasSlot) {
				return append(schemas, all...)
			}
		}
	}
	return schemas
}

// withAllOf returns the schema n and, recursively, the schemas of its allOf, with n first. If depth
// exceeds maxDepth, it returns only n. Callers that are not recursive themselves pass 0 as depth.
func withAllOf(n node, depth int) []node {
	all := []node{n}
	if depth > maxDepth {
		return all
	}
	for _, part := range n.get("allOf").items() {
		all = append(all, withAllOf(part, depth+1)...)
	}
	return all
}

// readSchemas sets the fields of m that depend on m.schemas: types, nullable, slot, slotPointer,
// fixedValue and hasFixedValue.
func (m *memberEncoding) readSchemas() {
	m.types = m.firstKeyword("type").strings()
	m.nullable = len(m.types) == 0 || slices.Contains(m.types, "null")
	m.slot = m.firstKeyword("x-slot").text()
	m.slotPointer = slotFields[m.slot]
	var written, others []any // the candidates for the fixed value
	for _, s := range m.schemas {
		if v, ok := s.object()["x-write"]; ok {
			written = append(written, v)
		}
		if enum := s.allowedValues(); len(enum) == 1 {
			others = append(others, enum[0].value)
		}
	}
	for _, key := range []string{"x-write", "default"} {
		if n := m.firstKeyword(key); n.exists() {
			others = append(others, n.value)
		}
	}
	if all := append(written, others...); len(all) > 0 {
		m.fixedValue, m.hasFixedValue = all[0], true
	}
}

// firstKeyword returns the value of the keyword key in the first schema of the member that has it.
// If none has it, the returned node has no value.
func (m *memberEncoding) firstKeyword(key string) node {
	for _, s := range m.schemas {
		if n := s.get(key); n.exists() {
			return n
		}
	}
	return node{}
}
