package dialect

import (
	"errors"
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/streamassay/streamassay/spec"
)

// A schemaError describes how a value violates one keyword of a schema. It contains what is needed
// to find the violated requirements and to write a message.
type schemaError struct {
	location          []string           // location in the validated value
	documentLocations []documentLocation // places in the document that apply to location, innermost first
	keyword           string             // the violated keyword, such as "minLength"
	isDiscriminator   bool               // the keyword requires or forbids a constant, which may distinguish schemas

	// The following fields determine the message, which has the form "PATH PROBLEM: EXPECTED", such
	// as `"messages" has 3 items: expected at most 2`.
	path         string          // the location as a path expression; "" for the validated value as a whole
	got          any             // the value at the location
	missing      string          // the name of a missing member; "" if the error is not about one
	problem      string          // such as "has 3 items"; "" for "is" followed by the value got
	expected     string          // such as "expected at most 2" or "it must not be there"; may be ""
	alternatives [][]schemaError // the errors of each of several schemas, one of which had to match
}

// A documentLocation is a place in the document, such as a schema, that applies to a validated
// value or to a part of it.
type documentLocation struct {
	pointer string // JSON pointer to the place

	// depth is the nesting depth of the part in the value: 0 for the value as a whole, 1 for one of
	// its members or items, and so on. It is -1 for what contains the value, such as the request.
	depth int
}

// schemaErrors returns the schema errors in err as a flat list. The argument err is the result of
// validating v: a *jsonschema.ValidationError, or nil, for which the list is empty. The argument
// outer lists the objects of the document that use the schema, innermost first, such as a parameter
// and its operation. They may have an x-requirement or x-error, which state the violated
// requirement and how the request is refused.
//
// If v matches none of several alternatives, but was evidently meant to match a certain one, the
// list contains the errors of that alternative. Otherwise, a failed choice of alternatives leads to
// a single error.
func (s *openAPIDocument) schemaErrors(v any, err error, outer []documentLocation) []schemaError {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return nil
	}
	_, fragment, _ := strings.Cut(e.SchemaURL, "#") // escaped by the validator
	pointer, _ := url.PathUnescape(fragment)
	places := append([]documentLocation{{pointer, len(e.InstanceLocation)}}, outer...)
	branches := make([][]schemaError, len(e.Causes))
	for i, cause := range e.Causes {
		branches[i] = s.schemaErrors(v, cause, places)
	}
	b := schemaError{
		location: e.InstanceLocation, documentLocations: places, keyword: strings.Join(e.ErrorKind.KeywordPath(), "/"),
		path: displayPath(v, e.InstanceLocation), got: valueAt(v, e.InstanceLocation),
	}
	switch k := e.ErrorKind.(type) {
	case *kind.OneOf, *kind.AnyOf:
		if meant, ok := intendedBranch(branches, len(b.location)); ok {
			return meant
		}
		s.describeChoice(&b, branches)
		return []schemaError{b}
	case *kind.Required:
		return s.missingMembers(k.Missing, b)
	case *kind.DependentRequired:
		return s.missingMembers(k.Missing, b)
	case *kind.Enum:
		b.isDiscriminator = len(k.Want) == 1
	case *kind.Const:
		b.isDiscriminator = true
	case *kind.Not:
		b.keyword = "not"
		forbidden := s.lookup(places[0].pointer).get("not")
		b.isDiscriminator = len(forbidden.constants()) > 0
		b.describeForbidden(forbidden)
		return []schemaError{b}
	case *kind.Type: // null may be a type only so that it has a requirement of its own
		isNotNull := func(n node) bool { return n.get("not").get("type").text() == "null" }
		if slices.ContainsFunc(withAllOf(s.lookup(places[0].pointer), 0), isNotNull) {
			k.Want = slices.DeleteFunc(slices.Clone(k.Want), func(t string) bool { return t == "null" })
		}
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		b.describeContains(s.lookup(places[0].pointer).get("contains"), e)
		return []schemaError{b}
	default:
		if len(e.Causes) > 0 {
			return withoutConsequences(slices.Concat(branches...))
		}
	}
	b.describe(e)
	return []schemaError{b}
}

// withoutConsequences returns the errors in list, which are about one value, without those of a
// choice (anyOf or oneOf) that repeat another error. An error of a choice is removed if the list
// also has an error about the type of the same value, or about the same missing member. The result
// reuses the memory of list.
func withoutConsequences(list []schemaError) []schemaError {
	return slices.DeleteFunc(list, func(choice schemaError) bool {
		if choice.keyword != "anyOf" && choice.keyword != "oneOf" {
			return false
		}
		missing := append(slices.Clone(choice.location), choice.missing)
		return slices.ContainsFunc(list, func(b schemaError) bool {
			return b.keyword == "type" && slices.Equal(b.location, choice.location) ||
				b.keyword == "required" && choice.missing != "" && slices.Equal(b.location, missing)
		})
	})
}

// intendedBranch returns the errors of the alternative that a value was evidently meant to match:
// the only one for which isUnintendedBranch returns false. The second result is false if there is
// no such alternative or more than one. The argument branches contains the errors of each
// alternative, and depth is the depth of the value in the validated value.
func intendedBranch(branches [][]schemaError, depth int) ([]schemaError, bool) {
	var found []schemaError
	n := 0
	for _, branch := range branches {
		if !isUnintendedBranch(branch, depth) {
			found, n = branch, n+1
		}
	}
	return found, n == 1
}

// isUnintendedBranch reports whether a value was evidently not meant to match an alternative,
// because it contradicts the type or a constant of the alternative. The argument branch contains
// the errors of the alternative, and depth is the depth of the value in the validated value.
func isUnintendedBranch(branch []schemaError, depth int) bool {
	return slices.ContainsFunc(branch, func(b schemaError) bool {
		return b.isDiscriminator && len(b.location) <= depth+1 || b.keyword == "type" && len(b.location) == depth
	})
}

// missingMembers returns one error for each of the given names of missing members. The argument b
// is the error of the object that lacks them. The documentLocations of each result begin with the
// schema of the missing member.
func (s *openAPIDocument) missingMembers(names []string, b schemaError) (all []schemaError) {
	for _, name := range names {
		inside := s.lookup(b.documentLocations[0].pointer + "/properties/" + escape(name))
		depth := len(b.location) + 1
		places := []documentLocation{{inside.pointer, depth}}
		if inside.exists() && inside.deref().pointer != inside.pointer {
			places = append(places, documentLocation{inside.deref().pointer, depth})
		}
		all = append(all, schemaError{
			location: append(slices.Clone(b.location), name), documentLocations: append(places, b.documentLocations...),
			keyword: "required", path: b.path, missing: name, expected: expectedText(inside),
		})
	}
	return all
}

// jsonPointer returns the JSON pointer (RFC 6901) that consists of the given tokens, which it
// escapes.
func jsonPointer(tokens []string) (p string) {
	for _, t := range tokens {
		p += "/" + escape(t)
	}
	return p
}

// outward returns an iterator over the JSON pointers at which the document may have an extension
// that applies to the error, such as x-error, innermost first. These are the pointers in
// b.documentLocations, each followed by the pointers to the values around it in the document. The
// second value is true if an extension at the pointer applies to the location of the error alone,
// and false if it applies to a larger part of the validated value.
func (b schemaError) outward() iter.Seq2[string, bool] {
	return func(yield func(pointer string, here bool) bool) {
		for _, place := range b.documentLocations {
			here := place.depth >= len(b.location)
			for p := place.pointer; p != ""; p = p[:strings.LastIndexByte(p, '/')] {
				if !yield(p, here) {
					return
				}
				here = here && strings.HasSuffix(p, "/schema")
			}
		}
	}
}

// requirementOf returns the id of the requirement that a frame or reply with the error b violates,
// or "" if the document names none.
func (s *openAPIDocument) requirementOf(b schemaError) (id string) {
	for p, here := range b.outward() {
		switch requirement := s.requirements[p].(type) {
		case string:
			id = requirement
		case map[string]any:
			if here {
				id, _ = requirement[b.keyword].(string)
			}
		}
		if id != "" {
			break
		}
	}
	return id
}

// refusalsFor returns the requirements on the refusal of a request with the error b, without their
// levels. It returns nil if the document does not specify a refusal.
func (s *openAPIDocument) refusalsFor(b schemaError) (all []spec.RefusalRequirement) {
	for p, here := range b.outward() {
		v, ok := s.refusals[p]
		name, inPaths := strings.CutPrefix(p, "/paths/")
		isPathItem := inPaths && !strings.Contains(name, "/") // its x-error applies only to undocumented methods
		if !ok || isPathItem && b.keyword != "method" {
			continue
		}
		found, inherit := false, false
		for _, d := range refusalList(node{s, p + "/x-error", v}) {
			if d.object()["inherit"] == true {
				inherit = true
			} else if demand, ok := d.refusal(b.keyword, here); ok {
				all, found = append(all, demand), true
			}
		}
		if found && !inherit {
			break
		}
	}
	return all
}

// refusalList returns the entries of n, which states how a request is refused. The argument n is
// the value of an x-error, or of one reason in an x-denied. If n is not a list, it is the only
// entry.
func refusalList(n node) []node {
	if _, ok := n.value.([]any); ok {
		return n.items()
	}
	return []node{n}
}

// refusal returns the refusal requirement that n, an entry of an x-error or x-denied, states. The
// requirement has no level. The second result reports whether the entry applies to a violation of
// keyword. An entry whose member "requirement" maps keywords to requirement ids applies only if the
// map contains keyword and the document has the entry at the violated schema itself, as the
// argument here states, and not at an enclosing one (see outward). Every other entry applies.
func (n node) refusal(keyword string, here bool) (spec.RefusalRequirement, bool) {
	requirement := n.get("requirement")
	d := spec.RefusalRequirement{
		Requirement: requirement.text(), Status: n.get("status").strings(), Code: n.get("code").strings(),
		Text: n.get("text").text(), Comment: n.get("comment").text(),
		InBand: n.get("in-band").value == true, Accept: n.get("accept").value == true, Plain: n.get("plain").value == true,
	}
	if requirement.object() != nil {
		d.Requirement = requirement.get(keyword).text()
		return d, here && d.Requirement != ""
	}
	return d, true
}

// schemaPath returns the JSON pointer to the violated keyword in the document, or only the keyword
// if b has no documentLocations.
func (b schemaError) schemaPath() string {
	if len(b.documentLocations) == 0 {
		return b.keyword
	}
	return b.documentLocations[0].pointer + "/" + b.keyword
}

// violation returns b as a violation without a requirement or refusals. The argument part is the
// part of the request, such as "body", or "" for frames and replies. The argument root is the noun
// phrase for the whole value in messages, such as "the request body".
func (b schemaError) violation(part, root string) spec.Violation {
	return spec.Violation{
		Location: strings.TrimSpace(part + " " + jsonPointer(b.location)), Pointer: jsonPointer(b.location),
		Message: b.text(root), SchemaPath: b.schemaPath(),
	}
}

// requirementIDs returns the ids in v, the value of an x-requirement. This value is one id or a map
// from keywords to ids. The ids are in no particular order.
func requirementIDs(v any) (ids []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case map[string]any:
		for _, id := range v {
			if id, ok := id.(string); ok {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
