package dialect

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A form is how an object of a word is spelled: its members, as all the schemas
// that describe it say together.
type form struct{ fields []*field } // by name

// A field is one member of a form.
type field struct {
	name     string
	key      string // as it is spelled before the value
	path     []string
	schemas  []node // everything that describes it, the outermost first
	required bool
	nullable bool
	types    []string
	slot     string
	said     func(*spec.Event) *string // the slot of an event; nil: it carries none
	constant any                       // what to write where no slot says it
	fixed    bool
	plain    string // that, or what stands for nothing, spelled
	inner    *form
	parts    []*word
	list     bool
}

// formOf reads the members that a schema and what it is made of describe.
func (w *word) formOf(schemas []node, path []string, depth int) *form {
	f := &form{}
	if depth > deepest {
		return f
	}
	required := map[string]bool{}
	for _, n := range schemas {
		f.collect(n, required)
	}
	for _, m := range f.fields {
		m.path = append(slices.Clone(path), m.name)
		m.required = required[m.name]
		m.read()
		m.key, m.plain = compact(m.name)+":", compact(m.constant)
		if !m.fixed {
			m.plain = compact(m.empty())
		}
		if i := slices.IndexFunc(w.parts, func(s partSite) bool { return slices.Equal(s.path, m.path) }); i >= 0 {
			m.parts = w.parts[i].words
			m.list = slices.ContainsFunc(m.schemas, func(s node) bool { return s.get("items").exists() })
			continue
		}
		if m.first("properties").exists() {
			m.inner = w.formOf(m.schemas, m.path, depth+1)
		}
	}
	slices.SortFunc(f.fields, func(a, b *field) int { return strings.Compare(a.name, b.name) })
	return f
}

// collect gathers the schemas of each member that one schema, without what it is
// made of, describes.
func (f *form) collect(n node, required map[string]bool) {
	for _, name := range n.get("required").strings() {
		required[name] = true
	}
	names, props := n.get("properties").members()
	for i, name := range names {
		j := slices.IndexFunc(f.fields, func(m *field) bool { return m.name == name })
		if j < 0 {
			f.fields = append(f.fields, &field{name: name})
			j = len(f.fields) - 1
		}
		f.fields[j].schemas = append(f.fields[j].schemas, madeOf(props[i], 0)...)
	}
}

// madeOf is a schema and everything in its allOf.
func madeOf(n node, depth int) []node {
	all := []node{n}
	if depth > deepest {
		return all
	}
	for _, part := range n.get("allOf").items() {
		all = append(all, madeOf(part, depth+1)...)
	}
	return all
}

// read takes from the schemas of a member what spelling needs.
func (m *field) read() {
	m.types = m.first("type").strings()
	m.nullable = len(m.types) == 0 || slices.Contains(m.types, "null")
	m.slot = m.first("x-slot").text()
	m.said = slots[m.slot]
	for _, s := range m.schemas {
		if v, ok := s.object()["x-write"]; ok {
			m.constant, m.fixed = v, true
			return
		}
	}
	for _, s := range m.schemas {
		if enum := s.get("enum").items(); len(enum) == 1 {
			m.constant, m.fixed = enum[0].v, true
			return
		}
	}
	for _, key := range []string{"x-write", "const", "default"} {
		if n := m.first(key); n.exists() {
			m.constant, m.fixed = n.v, true
			return
		}
	}
}

// first is a keyword of the first schema that has it.
func (m *field) first(key string) node {
	for _, s := range m.schemas {
		if n := s.get(key); n.exists() {
			return n
		}
	}
	return node{}
}
