package dialect

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

// breakAbsentMember adds requests with an invalid value for a member or item that the valid request
// lacks. The argument n is the schema of the value, at is its location in the body, and depth is
// the nesting depth of the object or array that would contain it.
//
// The valid counterpart of such a request is the valid request itself, without the value: a server
// may refuse even a valid value that it cannot use. If the invalid value exceeds a limit, however,
// its counterpart has a value that is just within the limit.
func (m *invalidRequestBuilder) breakAbsentMember(n node, at []string, depth int) {
	v, ok := exampleValue(n, depth)
	if !ok || m.addedSchemas[n.pointer] {
		return
	}
	m.addedSchemas[n.pointer] = true
	if !m.wantsWithin(at) {
		return
	}
	m.breakAddedValue(n, v, at, depth)
}

// breakItemKinds adds requests in which an invalid item is appended to a list. The item is of a
// kind that no item of the list has. The kinds are the alternatives (anyOf and oneOf) of items, the
// schema of the items. If items has no alternatives, it is itself the only kind, and is used only
// if the list is empty. The argument list is the list, at is its location in the body, and depth is
// its nesting depth.
func (m *invalidRequestBuilder) breakItemKinds(items node, list []any, at []string, depth int) {
	choices := slices.Concat(items.get("anyOf").items(), items.get("oneOf").items())
	if len(choices) == 0 && len(list) == 0 && items.exists() {
		choices = []node{items}
	}
	next := append(slices.Clone(at), strconv.Itoa(len(list)))
	for _, choice := range choices {
		valid := m.dialect.document.validator(choice.deref().pointer)
		if len(choice.deref().object()) > 0 && !slices.ContainsFunc(list, func(v any) bool { return valid(v) == nil }) {
			previous := m.itemKind
			m.itemKind = " in another item, " + itemKindName(choice)
			m.breakAbsentMember(choice, next, depth)
			m.itemKind = previous
		}
	}
}

// itemKindName returns a name for n, one of several alternative schemas of a list item. This is its
// title or, if it has none, the name of its component. If it has neither, the result is "without a
// name".
func itemKindName(n node) string {
	if title := n.get("title").text(); title != "" {
		return title
	}
	name := lastToken(n.deref().pointer)
	if _, err := strconv.Atoi(name); err == nil || name == "items" {
		return "without a name"
	}
	return name
}

// breakAddedValue adds the valid value v to the body of the valid request, and then adds requests
// in which an invalid value replaces v or a value inside v (see breakValue). The argument n is the
// schema of v, at is its location in the body, and depth is the nesting depth of the object or
// array around it. If the valid request is invalid with v, breakAddedValue adds no requests and
// returns false.
func (m *invalidRequestBuilder) breakAddedValue(n node, v any, at []string, depth int) bool {
	valid, base := m.valid, m.base
	extended := withBodyValue(valid, at, v)
	if len(m.dialect.ValidateRequest(extended)) > 0 {
		return false
	}
	m.valid, m.base = extended, cmp.Or(base, &valid)
	m.breakValue(n, v, at, depth+1)
	m.valid, m.base = valid, base
	return true
}

// exampleValue returns a small value for the schema n. The value is not validated and may violate
// n. The argument depth is the nesting depth of the value. ok is false if no value was found, for
// example because depth exceeds maxDepth.
func exampleValue(n node, depth int) (v any, ok bool) {
	if depth > maxDepth {
		return nil, false
	}
	all := withAllOf(n, depth)
	for _, s := range all {
		if enum := s.get("enum").items(); len(enum) > 0 {
			return enum[0].value, true
		}
		for _, choice := range slices.Concat(s.get("anyOf").items(), s.get("oneOf").items()) {
			if v, ok := exampleValue(choice, depth+1); ok {
				return v, true
			}
		}
	}
	types := typesOf(all)
	has := func(name string) bool { return slices.Contains(types, name) }
	switch {
	case has("object") || len(types) == 0:
		return exampleObject(all, depth)
	case has("array"):
		return []any{}, true
	case has("string"):
		return exampleText(all), true
	case has("integer"), has("number"):
		for _, s := range all {
			if low, ok := s.get("minimum").value.(json.Number); ok {
				return low, true
			}
		}
		return json.Number("1"), true
	case has("boolean"):
		return false, true
	}
	return nil, false
}

// typesOf returns the types that the given schemas name, in the order of the schemas.
func typesOf(schemas []node) (types []string) {
	for _, s := range schemas {
		types = append(types, s.get("type").strings()...)
	}
	return types
}

// exampleObject returns an object that has only the members that the given schemas require, each
// with an example value. All of the schemas apply to the object. The second result is false if no
// value was found for one of the members. The argument depth is the nesting depth of the object.
func exampleObject(all []node, depth int) (any, bool) {
	out := map[string]any{}
	for _, s := range all {
		for _, name := range s.get("required").strings() {
			var v any = "x"
			for _, other := range all {
				if p := other.get("properties").get(name); p.exists() {
					var ok bool
					if v, ok = exampleValue(p, depth+1); !ok {
						return nil, false
					}
					break
				}
			}
			out[name] = v
		}
	}
	return out, true
}

// exampleText returns an example of a string to which all of the given schemas apply. It uses the
// first schema that suggests a string by its format, its examples or its default. If none does, the
// result is "x". The string may violate constraints, so callers must validate it.
func exampleText(all []node) string {
	for _, s := range all {
		switch s.get("format").text() {
		case "uuid":
			return "550e8400-e29b-41d4-a716-446655440000"
		case "uri":
			return "https://example.com/x"
		case "date-time":
			return "2026-03-15T10:00:00Z"
		}
		for _, e := range append(s.get("examples").items(), s.get("default")) {
			if e.text() != "" {
				return e.text()
			}
		}
	}
	return "x"
}
