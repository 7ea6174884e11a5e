package dialect

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A form is how an object of a word is spelled: its members, as all the schemas
// that describe it say together.
type form struct{ fields []*field }

// A field is one member of a form.
type field struct {
	name     string
	path     []string
	schemas  []node // everything that describes it, the outermost first
	required bool
	nullable bool
	types    []string
	slot     string
	constant any // what to write where no slot says it
	fixed    bool
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
		if i := slices.IndexFunc(w.parts, func(s partSite) bool { return slices.Equal(s.path, m.path) }); i >= 0 {
			m.parts = w.parts[i].words
			m.list = slices.ContainsFunc(m.schemas, func(s node) bool { return s.get("items").exists() })
			continue
		}
		if m.first("properties").exists() {
			m.inner = w.formOf(m.schemas, m.path, depth+1)
		}
	}
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

// spell makes the object that says e; said is whether it carries anything but
// constants.
func (f *form) spell(e *spec.Event) (object map[string]any, said bool) {
	object = make(map[string]any, len(f.fields))
	for _, m := range f.fields {
		v, ok, carries := m.spell(e)
		if ok {
			object[m.name] = v
		}
		said = said || carries
	}
	return object, said
}

// spell spells one member; ok is whether it is to be there.
func (m *field) spell(e *spec.Event) (v any, ok, said bool) {
	switch {
	case m.parts != nil:
		return m.spellParts(e.Parts)
	case m.slot != "":
		if text := *slotOf(e, m.slot); text != "" {
			return m.typed(text), true, true
		}
	}
	switch {
	case m.fixed:
		return m.constant, true, false
	case m.inner != nil:
		if inner, said := m.inner.spell(e); said || m.required && !m.nullable {
			return inner, true, said
		}
	}
	return m.empty(), m.required, false
}

func (m *field) spellParts(parts []spec.Event) (v any, ok, said bool) {
	var list []any
	for _, part := range parts {
		if w := wordFor(m.parts, part); w != nil {
			list = append(list, w.spell(part))
		}
	}
	switch {
	case len(list) > 0 && m.list:
		return list, true, true
	case len(list) > 0:
		return list[0], true, true
	case m.fixed:
		return m.constant, true, false
	}
	return m.empty(), m.required, false
}

// empty is what stands for nothing where the document requires a member.
func (m *field) empty() any {
	switch {
	case m.nullable:
		return nil
	case slices.Contains(m.types, "array"):
		return []any{}
	case slices.Contains(m.types, "object"):
		return map[string]any{}
	case slices.Contains(m.types, "integer"), slices.Contains(m.types, "number"):
		return json.Number("0")
	case slices.Contains(m.types, "boolean"):
		return false
	}
	return ""
}

// typed is a slot's text as the schema wants it.
func (m *field) typed(text string) any {
	has := func(name string) bool { return slices.Contains(m.types, name) }
	switch {
	case m.slot == "text" && has("string"): // what is said is never a number
		return text
	case (has("integer") || has("number")) && isNumber(text):
		return json.Number(text)
	case has("string"):
		return text
	case has("boolean"):
		return text == "true"
	}
	if v, err := decode([]byte(text)); err == nil {
		return v
	}
	return text
}

// isNumber says that a text is a JSON number and nothing else: no space around it.
func isNumber(text string) bool {
	return text != "" && !strings.ContainsAny(text, " \t\r\n") && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text))
}
