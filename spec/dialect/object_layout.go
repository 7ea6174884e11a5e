package dialect

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A objectLayout is how an object of a word is spelled: its members, as all the schemas
// that describe it say together.
type objectLayout struct{ fields []*objectField } // by name

// A objectField is one member of a form.
type objectField struct {
	name           string
	encodedKey     string // as it is spelled before the value
	path           []string
	schemas        []node // everything that describes it, the outermost first
	required       bool
	nullable       bool
	types          []string
	slot           string
	slotPointer    func(*spec.Event) *string // the slot of an event; nil: it carries none
	fixedValue     any                       // what to write where no slot says it
	hasFixedValue  bool
	encodedDefault string // that, or what stands for nothing, spelled
	object         *objectLayout
	variants       []*variant
	isList         bool
}

// layoutOf reads the members that a schema and what it is made of describe.
func (w *variant) layoutOf(schemas []node, path []string, depth int) *objectLayout {
	f := &objectLayout{}
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
		if i := slices.IndexFunc(w.parts, func(s partLocation) bool { return slices.Equal(s.path, m.path) }); i >= 0 {
			m.variants = w.parts[i].variants
			m.isList = slices.ContainsFunc(m.schemas, func(s node) bool { return s.get("items").exists() })
			continue
		}
		if m.firstKeyword("properties").exists() {
			m.object = w.layoutOf(m.schemas, m.path, depth+1)
		}
	}
	slices.SortFunc(f.fields, func(a, b *objectField) int { return strings.Compare(a.name, b.name) })
	return f
}

// addMembers gathers the schemas of each member that one schema, without what it is
// made of, describes.
func (f *objectLayout) addMembers(n node, required map[string]bool) {
	for _, name := range n.get("required").strings() {
		required[name] = true
	}
	names, props := n.get("properties").members()
	for i, name := range names {
		j := slices.IndexFunc(f.fields, func(m *objectField) bool { return m.name == name })
		if j < 0 {
			f.fields = append(f.fields, &objectField{name: name})
			j = len(f.fields) - 1
		}
		f.fields[j].schemas = append(f.fields[j].schemas, withAllOf(props[i], 0)...)
	}
}

// withAllOf is a schema and everything in its allOf.
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

// readSchemas takes from the schemas of a member what spelling needs.
func (m *objectField) readSchemas() {
	m.types = m.firstKeyword("type").strings()
	m.nullable = len(m.types) == 0 || slices.Contains(m.types, "null")
	m.slot = m.firstKeyword("x-slot").text()
	m.slotPointer = slotFields[m.slot]
	for _, s := range m.schemas {
		if v, ok := s.object()["x-write"]; ok {
			m.fixedValue, m.hasFixedValue = v, true
			return
		}
	}
	for _, s := range m.schemas {
		if enum := s.get("enum").items(); len(enum) == 1 {
			m.fixedValue, m.hasFixedValue = enum[0].value, true
			return
		}
	}
	for _, key := range []string{"x-write", "const", "default"} {
		if n := m.firstKeyword(key); n.exists() {
			m.fixedValue, m.hasFixedValue = n.value, true
			return
		}
	}
}

// firstKeyword is a keyword of the first schema that has it.
func (m *objectField) firstKeyword(key string) node {
	for _, s := range m.schemas {
		if n := s.get(key); n.exists() {
			return n
		}
	}
	return node{}
}
