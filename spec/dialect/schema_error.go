package dialect

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/streamassay/streamassay/spec"
)

// A schemaError is one violated keyword of a schema.
type schemaError struct {
	location        []string        // location in the validated value
	documentPlaces  []documentPlace // places in the document that cover it, innermost first
	keyword         string
	isDiscriminator bool // the keyword is a constant, which may tell schemas apart

	// The following make up its text.
	path         string          // the location as a path expression; "" is the value itself
	got          any             // the value at the location
	missing      string          // the name of a missing member
	problem      string          // predicate that says what is wrong, if not "is GOT"
	expected     string          // what is required: "expected …"
	alternatives [][]schemaError // the errors of each of several schemas, one of which had to match
}

// A documentPlace is a pointer into the document, and the depth in the value at which its
// schema applies.
type documentPlace struct {
	pointer string
	depth   int
}

// schemaErrors flattens err, the result of validating v. outer lists the places around the
// schema. If one of several alternatives had to match, it returns the errors of the one that
// was evidently intended.
func (s *document) schemaErrors(v any, err error, outer []documentPlace) []schemaError {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return nil
	}
	places := append([]documentPlace{{urlFragment(e.SchemaURL), len(e.InstanceLocation)}}, outer...)
	branches := make([][]schemaError, len(e.Causes))
	for i, cause := range e.Causes {
		branches[i] = s.schemaErrors(v, cause, places)
	}
	b := schemaError{
		location: e.InstanceLocation, documentPlaces: places, keyword: strings.Join(e.ErrorKind.KeywordPath(), "/"),
		path: displayPath(v, e.InstanceLocation), got: valueAtLocation(v, e.InstanceLocation),
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
		b.describeForbidden(s.lookup(places[0].pointer).get("not"))
		return []schemaError{b}
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		b.describeContains(s.lookup(places[0].pointer).get("contains"), e)
		return []schemaError{b}
	default:
		if len(e.Causes) > 0 {
			return slices.Concat(branches...)
		}
	}
	b.describe(e)
	return []schemaError{b}
}

// intendedBranch returns the errors of the only alternative that v can have been intended to
// match, with matching type and constants. ok is false unless there is exactly one.
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

// isUnintendedBranch reports whether the type or a constant of an alternative differs, so
// that the value was not intended to match it.
func isUnintendedBranch(branch []schemaError, depth int) bool {
	return slices.ContainsFunc(branch, func(b schemaError) bool {
		return b.isDiscriminator && len(b.location) <= depth+1 || b.keyword == "type" && len(b.location) == depth
	})
}

// missingMembers returns one error for each missing member, located at the schema of that
// member.
func (s *document) missingMembers(names []string, b schemaError) (all []schemaError) {
	for _, name := range names {
		inside := s.lookup(b.documentPlaces[0].pointer + "/properties/" + escape(name))
		depth := len(b.location) + 1
		places := []documentPlace{{inside.pointer, depth}}
		if inside.exists() && inside.deref().pointer != inside.pointer {
			places = append(places, documentPlace{inside.deref().pointer, depth})
		}
		all = append(all, schemaError{
			location: append(slices.Clone(b.location), name), documentPlaces: append(places, b.documentPlaces...),
			keyword: "required", path: b.path, missing: name, expected: expectedText(inside),
		})
	}
	return all
}

// urlFragment returns the fragment of a URL, decoded.
func urlFragment(schemaURL string) string {
	u, err := url.Parse(schemaURL) // the validator returns it escaped
	if err != nil {
		return ""
	}
	return u.Fragment
}

// jsonPointer returns the JSON pointer for a list of tokens (RFC 6901).
func jsonPointer(tokens []string) (p string) {
	for _, t := range tokens {
		p += "/" + escape(t)
	}
	return p
}

// walkOutward calls f with every pointer that covers the error, innermost first, until f
// returns true. here is whether the pointer is for exactly the location of the error.
func (b schemaError) walkOutward(f func(pointer string, here bool) bool) {
	for _, place := range b.documentPlaces {
		here := place.depth >= len(b.location)
		for p := place.pointer; p != ""; p = p[:strings.LastIndexByte(p, '/')] {
			if f(p, here) {
				return
			}
			here = here && strings.HasSuffix(p, "/schema")
		}
	}
}

// requirementOf returns the id of the requirement that a frame or reply with this error
// violates, or "".
func (s *document) requirementOf(b schemaError) (id string) {
	b.walkOutward(func(p string, here bool) bool {
		switch requirement := s.requirements[p].(type) {
		case string:
			id = requirement
		case map[string]any:
			if here {
				id, _ = requirement[b.keyword].(string)
			}
		}
		return id != ""
	})
	return id
}

// refusalsFor returns how a request with this error must be refused.
func (s *document) refusalsFor(b schemaError) (all []spec.RefusalRequirement) {
	b.walkOutward(func(p string, here bool) bool {
		v, ok := s.refusals[p]
		if !ok || isPathItem(p) && b.keyword != "method" {
			return false
		}
		list := node{s, p + "/x-error", v}
		found, inherit := false, false
		for _, d := range refusalList(list) {
			if on, _ := d.object()["inherit"].(bool); on {
				inherit = true
			} else if demand, ok := d.refusal(b.keyword, here); ok {
				all, found = append(all, demand), true
			}
		}
		return found && !inherit
	})
	return all
}

// isPathItem reports whether a pointer is for a path item, whose x-error applies only to
// undocumented methods.
func isPathItem(pointer string) bool {
	rest, ok := strings.CutPrefix(pointer, "/paths/")
	return ok && !strings.Contains(rest, "/")
}

// refusalList returns the items of an x-error or x-denied, which may be one or a list.
func refusalList(n node) []node {
	if _, ok := n.value.([]any); ok {
		return n.items()
	}
	return []node{n}
}

// refusal returns one item of an x-error as it applies to a violated keyword. ok is false if
// it does not.
func (n node) refusal(keyword string, here bool) (spec.RefusalRequirement, bool) {
	d := spec.RefusalRequirement{
		Status: n.get("status").strings(), Code: n.get("code").strings(), Text: n.get("text").text(),
	}
	d.InBand, _ = n.get("in-band").value.(bool)
	d.Plain, _ = n.get("plain").value.(bool)
	d.Comment = n.get("comment").text()
	switch requirement := n.get("requirement"); {
	case requirement.object() != nil:
		d.Requirement = requirement.get(keyword).text()
		return d, here && d.Requirement != ""
	default:
		d.Requirement = requirement.text()
	}
	return d, true
}

// schemaPath returns the pointer to the violated keyword.
func (b schemaError) schemaPath() string {
	if len(b.documentPlaces) == 0 {
		return b.keyword
	}
	return b.documentPlaces[0].pointer + "/" + b.keyword
}

// violation returns the error as a violation. part is the part of the request ("" for
// responses); root is the name of the whole value in the message.
func (b schemaError) violation(part, root string) spec.Violation {
	return spec.Violation{
		Location: strings.TrimSpace(part + " " + jsonPointer(b.location)), Pointer: jsonPointer(b.location),
		Message: b.text(root), SchemaPath: b.schemaPath(),
	}
}

// RequirementIDs returns the ids of the requirements that the document's x-error and x-denied
// name (refused), and of those that its x-requirement, x-stream and x-absent name (enforced),
// both sorted.
func (d *Dialect) RequirementIDs() (refused, enforced []string) {
	for _, v := range d.document.refusals {
		for _, demand := range refusalList(node{d.document, "", v}) {
			refused = append(refused, requirementIDs(demand.object()["requirement"])...)
		}
	}
	for _, o := range d.operations {
		for _, rule := range o.denials {
			refused = append(refused, rule.refusal.Requirement)
		}
	}
	for _, o := range d.operations {
		enforced = append(enforced, o.promised.Status, o.promised.MediaType, o.promised.ContentCoding)
		for _, omission := range o.omissions {
			enforced = append(enforced, omission.requirement)
		}
	}
	enforced = slices.DeleteFunc(enforced, func(id string) bool { return id == "" })
	for _, v := range d.document.requirements {
		enforced = append(enforced, requirementIDs(v)...)
	}
	slices.Sort(refused)
	slices.Sort(enforced)
	return slices.Compact(refused), slices.Compact(enforced)
}

// requirementIDs returns the ids of an x-requirement, which is one id or a map of them.
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
