package dialect

import "slices"

// applicableSchemas returns the schemas that apply to the value v: the schema n, the schemas in its
// allOf, and, of the alternatives of its oneOf and anyOf, one that v matches, if any. If v matches
// several alternatives, applicableSchemas chooses the first one for which hasDiscriminators returns
// true or, if there is none, the first one. It follows the allOf, oneOf and anyOf of these schemas,
// too. It returns nil if the document has no schema at n.
func (s *openAPIDocument) applicableSchemas(n node, v any) []node {
	n = n.deref()
	if !n.exists() {
		return nil
	}
	list := []node{n}
	for _, part := range n.get("allOf").items() {
		list = append(list, s.applicableSchemas(part, v)...)
	}
	choices := slices.Concat(n.get("oneOf").items(), n.get("anyOf").items())
	choices = slices.DeleteFunc(choices, func(choice node) bool {
		return hasOtherEnumValue(choice.deref(), v) || s.validator(choice.deref().pointer)(v) != nil
	})
	if i := slices.IndexFunc(choices, func(choice node) bool { return hasDiscriminators(choice.deref(), v) }); i >= 0 {
		choices = choices[i:]
	}
	if len(choices) > 0 {
		list = append(list, s.applicableSchemas(choices[0], v)...)
	}
	return list
}

// hasOtherEnumValue reports whether a property of v has a scalar value that its schema in n does
// not allow with enum or const. Such a v does not match n. Calling hasOtherEnumValue is faster than
// validating v.
func hasOtherEnumValue(n node, v any) bool {
	object, _ := v.(map[string]any)
	if len(object) == 0 {
		return false
	}
	for name, property := range n.get("properties").members() {
		got, ok := object[name]
		isGot := func(n node) bool { return equalScalars(n.value, got) }
		enum := property.deref().allowedValues()
		if ok && isScalar(got) && len(enum) > 0 && !slices.ContainsFunc(enum, isGot) {
			return true
		}
	}
	return false
}

// hasDiscriminators reports whether v has all properties for which the schema n allows a single
// value. The values of these properties do not matter.
func hasDiscriminators(n node, v any) bool {
	object, _ := v.(map[string]any)
	for name, property := range n.get("properties").members() {
		if len(property.deref().allowedValues()) == 1 && !has(object, name) {
			return false
		}
	}
	return true
}

// isScalar reports whether v, a decoded JSON value, is neither an object nor an array.
func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
