package dialect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// choose describes a value that fits none of several schemas, where none of them is
// clearly meant: by the member that tells them apart, by their types, or by what each
// of those finds wrong that it may have been meant to fit.
func (s *source) choose(b *breach, branches [][]breach) {
	schema := s.lookup(b.places[0].pointer)
	choices := slices.Concat(schema.get("oneOf").items(), schema.get("anyOf").items())
	if b.byMember(choices) || b.byType(choices, branches) {
		return
	}
	for _, branch := range branches {
		if len(branch) > 0 && !isWrong(branch, len(b.at)) {
			b.either = append(b.either, branch)
		}
	}
	if len(b.either) == 0 {
		b.want = "expected another value"
	}
}

// unrecognised is what is wrong with a frame that is none of a dialect's.
func unrecognised(frames []*word, v any) breach {
	b := breach{got: v, want: "expected an event of the dialect"}
	var choices []node
	for _, w := range frames {
		if len(w.marks) > 0 {
			choices = append(choices, w.node)
		}
	}
	b.byMember(choices)
	return b
}

// byMember describes an object by a member that has constants in all of the choices.
func (b *breach) byMember(choices []node) bool {
	got, ok := b.got.(map[string]any)
	if !ok || len(choices) == 0 {
		return false
	}
	for _, name := range sharedConstants(choices) {
		var right []any
		for _, choice := range choices {
			right = append(right, constantsIn(choice, name)...)
		}
		right = distinct(right)
		v, there := got[name]
		switch {
		case !there && slices.ContainsFunc(choices, func(n node) bool { return !requires(n, name) }):
		case !there:
			b.absent, b.want = name, "expected "+oneOf(right)
			return true
		case !slices.ContainsFunc(right, func(r any) bool { return same(r, v) }):
			b.path, b.got, b.want = joinPath(b.path, name), v, "expected "+oneOf(right)
			return true
		}
	}
	return false
}

// byType describes a value whose type is wrong in all of the choices.
func (b *breach) byType(choices []node, branches [][]breach) bool {
	for _, branch := range branches {
		if !slices.ContainsFunc(branch, func(x breach) bool { return x.keyword == "type" && len(x.at) == len(b.at) }) {
			return false
		}
	}
	var types []string
	for _, choice := range choices {
		for _, n := range madeOf(choice, 0) {
			types = append(types, n.get("type").strings()...)
		}
	}
	b.want = "expected " + typesOf(types)
	return len(types) > 0
}

// sharedConstants are the members that have constants in all of the choices, by name.
func sharedConstants(choices []node) (names []string) {
	for _, n := range madeOf(choices[0], 0) {
		more, _ := n.get("properties").members()
		names = append(names, more...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		return slices.ContainsFunc(choices, func(n node) bool { return len(constantsIn(n, name)) == 0 })
	})
}

// constantsIn are the values that a schema lets a member have, nil if any.
func constantsIn(n node, name string) (all []any) {
	for _, part := range madeOf(n, 0) {
		member := part.get("properties").get(name)
		for _, item := range member.get("enum").items() {
			all = append(all, item.v)
		}
		if c := member.get("const"); c.exists() {
			all = append(all, c.v)
		}
	}
	return all
}

// requires reports whether a schema wants a member to be there.
func requires(n node, name string) bool {
	return slices.ContainsFunc(madeOf(n, 0), func(part node) bool { return slices.Contains(part.get("required").strings(), name) })
}

func distinct(values []any) (all []any) {
	for _, v := range values {
		if !slices.ContainsFunc(all, func(one any) bool { return same(one, v) }) {
			all = append(all, v)
		}
	}
	return all
}

func joinPath(path, name string) string {
	if !isWord(name) {
		return path + "[" + shown(name) + "]"
	}
	return strings.TrimPrefix(path+"."+name, ".")
}

// expectedOf says what a member that is missing would be right as, "" where the schema
// says nothing short.
func expectedOf(member node) string {
	var values []any
	for _, n := range madeOf(member, 0) {
		for _, item := range n.get("enum").items() {
			values = append(values, item.v)
		}
		if c := n.get("const"); c.exists() {
			values = append(values, c.v)
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "expected " + oneOf(distinct(values))
}

// forbid describes a value that fits what it must not fit.
func (b *breach) forbid(not node) {
	names, values := not.get("required").strings(), not.get("enum").items()
	switch {
	case len(names) > 0:
		b.seen, b.want = "has "+quotedNames(names), "it must not be there"
	case len(values) > 0:
		var all []any
		for _, item := range values {
			all = append(all, item.v)
		}
		b.want = "expected anything but " + oneOf(all)
	case len(not.object()) == 0:
		b.want = "it must not be there"
	default:
		b.want = "the document excludes it"
	}
}

// contain describes an array that has too few or too many items of one sort.
func (b *breach) contain(sort node, e *jsonschema.ValidationError) {
	items := "item"
	if what := conditions(sort, "", 0); len(what) > 0 {
		items += " with " + strings.Join(what, " and ")
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Contains:
		b.keyword, b.seen, b.want = "contains", "has no "+items, "expected at least 1"
	case *kind.MinContains:
		b.keyword, b.seen, b.want = "minContains", "has "+strconv.Itoa(len(k.Got))+" "+plural(items, len(k.Got)), "expected at least "+strconv.Itoa(k.Want)
		if len(k.Got) == 0 {
			b.seen = "has no " + items
		}
	case *kind.MaxContains:
		b.keyword, b.seen, b.want = "maxContains", "has "+strconv.Itoa(len(k.Got))+" "+plural(items, len(k.Got)), "expected at most "+strconv.Itoa(k.Want)
	}
}

func plural(items string, n int) string {
	if n == 1 {
		return items
	}
	return "items" + strings.TrimPrefix(items, "item")
}

// conditions says in words what a schema asks of an object: role user, data.output.
func conditions(n node, path string, depth int) (all []string) {
	if depth > deepest {
		return nil
	}
	required := n.get("required").strings()
	names, members := n.get("properties").members()
	for i, name := range names {
		inside := joinPath(path, name)
		if values := constantsIn(n, name); len(values) > 0 {
			all = append(all, inside+" "+oneOf(values))
			required = slices.DeleteFunc(required, func(r string) bool { return r == name })
		} else if more := conditions(members[i], inside, depth+1); len(more) > 0 {
			all = append(all, more...)
			required = slices.DeleteFunc(required, func(r string) bool { return r == name })
		}
	}
	for _, name := range required {
		all = append(all, joinPath(path, name))
	}
	return all
}
