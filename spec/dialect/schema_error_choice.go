package dialect

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// describeChoice sets the fields of b that determine its message. The argument b is the error of a
// value that had to match alternative schemas (anyOf or oneOf), and matches none of them or too
// many. If the value has a wrong discriminating member or a wrong type, the message is about that;
// otherwise, it is about the errors of the alternatives. The argument branches contains the errors
// of each alternative; it is empty if the value matches too many.
func (s *openAPIDocument) describeChoice(b *schemaError, branches [][]schemaError) {
	if len(branches) == 0 {
		b.problem, b.expected = "matches more than one of several forms", "expected exactly one"
		return
	}
	schema := s.lookup(b.documentLocations[0].pointer)
	choices := slices.Concat(schema.get("oneOf").items(), schema.get("anyOf").items())
	if b.describeByMember(choices) || b.describeByType(choices, branches) {
		return
	}
	for _, branch := range branches {
		if len(branch) > 0 && !isUnintendedBranch(branch, len(b.location)) {
			b.alternatives = append(b.alternatives, branch)
		}
	}
	if len(b.alternatives) == 0 {
		b.expected = "expected another value"
	}
}

// unrecognizedFrame returns the error for v, the value of a frame that matches none of the variants
// in frames.
func unrecognizedFrame(frames []*variant, v any) schemaError {
	b := schemaError{got: v, expected: "expected an event of the dialect"}
	var choices []node
	for _, w := range frames {
		if len(w.discriminators) > 0 {
			choices = append(choices, w.node)
		}
	}
	b.describeByMember(choices)
	return b
}

// describeByMember makes b an error about a wrong discriminating member of the alternative schemas
// in choices (see discriminatingMember), and returns true. A member is wrong if its value is none
// of its constants, or if it is missing and all choices require it. If no member is wrong, or if
// the value is not an object, describeByMember returns false and does not change b.
func (b *schemaError) describeByMember(choices []node) bool {
	got, ok := b.got.(map[string]any)
	if !ok || len(choices) == 0 {
		return false
	}
	for _, m := range choices[0].doc.constantMembersOf(choices) {
		v, there := got[m.name]
		switch {
		case !there && !m.required:
		case !there:
			b.missing, b.expected = m.name, "expected "+listValues(m.values)
			return true
		case !slices.ContainsFunc(m.values, func(r any) bool { return equalScalars(r, v) }):
			b.path, b.got, b.expected = joinPath(b.path, m.name), v, "expected "+listValues(m.values)
			return true
		}
	}
	return false
}

// describeByType reports whether the type of the value is wrong for all of the alternative schemas
// in choices. If it is, describeByType makes b an error about the type; otherwise, it does not
// change b. It returns false if choices name no types. The argument branches contains the errors of
// each alternative.
func (b *schemaError) describeByType(choices []node, branches [][]schemaError) bool {
	for _, branch := range branches {
		isWrongType := func(x schemaError) bool { return x.keyword == "type" && len(x.location) == len(b.location) }
		if !slices.ContainsFunc(branch, isWrongType) {
			return false
		}
	}
	var types []string
	for _, choice := range choices {
		types = append(types, typesOf(withAllOf(choice, 0))...)
	}
	if len(types) == 0 {
		return false
	}
	b.expected = "expected " + describeTypes(types)
	return true
}

// A discriminatingMember is an object member that tells several alternative schemas apart: each of
// them restricts the member to its own constants (const or enum).
type discriminatingMember struct {
	name     string
	values   []any // the constants of all alternatives, each once
	required bool  // all alternatives require the member
}

// constantMembersOf returns the discriminating members of the alternative schemas in choices,
// sorted by name. There must be at least one choice. The result is cached and must not be modified.
func (s *openAPIDocument) constantMembersOf(choices []node) (all []discriminatingMember) {
	var pointers []string
	for _, choice := range choices {
		pointers = append(pointers, choice.pointer)
	}
	key := strings.Join(pointers, " ")
	if known, ok := s.constantMembers.Load(key); ok {
		return known.([]discriminatingMember)
	}
	var names []string
	for _, n := range withAllOf(choices[0], 0) {
		names = slices.AppendSeq(names, maps.Keys(n.get("properties").object()))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		m := discriminatingMember{name: name, required: true}
		shared := true
		for _, choice := range choices {
			constants := memberConstants(choice, name)
			m.values, shared = append(m.values, constants...), shared && len(constants) > 0
			m.required = m.required && slices.ContainsFunc(withAllOf(choice, 0), func(part node) bool {
				return slices.Contains(part.get("required").strings(), name)
			})
		}
		if m.values = distinct(m.values); shared {
			all = append(all, m)
		}
	}
	s.constantMembers.Store(key, all)
	return all
}

// memberConstants returns the constants that the schema n and the schemas of its allOf allow for
// the member with the given name. It returns nil if they do not restrict the member to constants.
func memberConstants(n node, name string) (all []any) {
	for _, part := range withAllOf(n, 0) {
		all = append(all, part.get("properties").get(name).constants()...)
	}
	return all
}

// constants returns the values of the keywords enum and const of the schema n. It does not follow
// allOf.
func (n node) constants() (all []any) {
	for _, item := range n.get("enum").items() {
		all = append(all, item.value)
	}
	if c := n.get("const"); c.exists() {
		all = append(all, c.value)
	}
	return all
}

// distinct returns the values without those scalars that equal an earlier value. It keeps their
// order.
func distinct(values []any) (all []any) {
	for _, v := range values {
		if !slices.ContainsFunc(all, func(one any) bool { return equalScalars(one, v) }) {
			all = append(all, v)
		}
	}
	return all
}

// joinPath returns the path expression for a member of the object at path, such as
// "messages[0].role" for the path "messages[0]" and the name "role". The path "" is the whole
// value.
func joinPath(path, name string) string {
	if !isBareWord(name) {
		return path + "[" + displayValue(name) + "]"
	}
	return strings.TrimPrefix(path+"."+name, ".")
}

// expectedText returns the constants that the schema member allows, as a phrase such as "expected
// user or assistant". It returns "" if the schema does not restrict values to constants. The
// argument member is the schema of a missing member.
func expectedText(member node) string {
	var values []any
	for _, n := range withAllOf(member, 0) {
		values = append(values, n.constants()...)
	}
	if len(values) == 0 {
		return ""
	}
	return "expected " + listValues(distinct(values))
}

// describeForbidden sets b.expected and, if necessary, b.problem. The argument not is the schema
// under a keyword "not", and b is the error of a value that matches this schema.
func (b *schemaError) describeForbidden(not node) {
	names, values := not.get("required").strings(), not.get("enum").items()
	switch {
	case len(names) > 0:
		b.problem, b.expected = "has "+quoteNames(names), "it must not be there"
	case len(values) > 0:
		var all []any
		for _, item := range values {
			all = append(all, item.value)
		}
		b.expected = "expected anything but " + listValues(all)
	case len(not.object()) == 0:
		b.expected = "it must not be there"
	case len(not.get("type").strings()) > 0:
		b.expected = "expected a value of another type"
	default:
		b.expected = "the document does not allow it"
	}
}

// describeContains sets b.keyword, b.problem and b.expected. The argument b is the error of an
// array with too few or too many items that match the schema under the keyword "contains". The
// other arguments are this schema and the validator's error.
func (b *schemaError) describeContains(schema node, e *jsonschema.ValidationError) {
	conditions := ""
	if what := describeConditions(schema, "", 0); len(what) > 0 {
		conditions = " with " + strings.Join(what, " and ")
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Contains:
		b.keyword, b.problem, b.expected = "contains", "has no item"+conditions, "expected at least 1"
	case *kind.MinContains:
		b.keyword, b.expected = "minContains", "expected at least "+strconv.Itoa(k.Want)
		if b.problem = "has " + pluralize(len(k.Got), "item") + conditions; len(k.Got) == 0 {
			b.problem = "has no item" + conditions
		}
	case *kind.MaxContains:
		b.keyword, b.expected = "maxContains", "expected at most "+strconv.Itoa(k.Want)
		b.problem = "has " + pluralize(len(k.Got), "item") + conditions
	}
}

// describeConditions returns the conditions that the schema n sets for the members of an object. A
// condition is the path of a member with the values that are allowed for it, such as "role user",
// or only the path of a required member, such as "data.output". The argument path is the path of
// the object, or "" for the whole value, and depth is its nesting depth. The result is nil if depth
// exceeds maxDepth.
func describeConditions(n node, path string, depth int) (all []string) {
	if depth > maxDepth {
		return nil
	}
	required := n.get("required").strings()
	for name, member := range n.get("properties").members() {
		inside := joinPath(path, name)
		if values := memberConstants(n, name); len(values) > 0 {
			all = append(all, inside+" "+listValues(values))
			required = slices.DeleteFunc(required, func(r string) bool { return r == name })
		} else if more := describeConditions(member, inside, depth+1); len(more) > 0 {
			all = append(all, more...)
			required = slices.DeleteFunc(required, func(r string) bool { return r == name })
		}
	}
	for _, name := range required {
		all = append(all, joinPath(path, name))
	}
	return all
}
