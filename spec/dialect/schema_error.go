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

// A schemaError is one broken keyword.
type schemaError struct {
	location        []string        // where in the instance
	documentPlaces  []documentPlace // where in the document, innermost first, as references were followed
	keyword         string
	isDiscriminator bool // it is a constant, the kind that tells schemas apart

	// What its text is made of.
	path         string          // the place, as a program would spell it; "" is the whole value
	got          any             // what stands there
	missing      string          // the member that is missing there
	problem      string          // what is wrong there, if not that it is got
	expected     string          // what is required, in words
	alternatives [][]schemaError // what each of several schemas finds wrong, of which it had to fit one
}

// A documentPlace is a pointer into the document, and how deep in the instance it applies.
type documentPlace struct {
	pointer string
	depth   int
}

// schemaErrors takes the error of validating v apart. Where one of several schemas had to
// fit, it finds out which one was meant.
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

// intendedBranch finds the one branch that a value was meant to fit: its type is right and
// its constants are.
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

// isUnintendedBranch reports whether a value cannot have been meant to fit the branch: its type or
// a constant is another.
func isUnintendedBranch(branch []schemaError, depth int) bool {
	return slices.ContainsFunc(branch, func(b schemaError) bool {
		return b.isDiscriminator && len(b.location) <= depth+1 || b.keyword == "type" && len(b.location) == depth
	})
}

// missingMembers is one breach for each member that is not there, at the place where the
// document speaks of that member.
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

func urlFragment(schemaURL string) string {
	u, err := url.Parse(schemaURL) // the validator escapes the fragment
	if err != nil {
		return ""
	}
	return u.Fragment
}

func jsonPointer(tokens []string) (p string) {
	for _, t := range tokens {
		p += "/" + escape(t)
	}
	return p
}

// walkOutward calls f with every pointer that covers the breach, innermost first, and
// whether it is the very place; it stops when f says so.
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

// requirementOf is the requirement that a frame or reply breaks, "" if the document names
// none.
func (s *document) requirementOf(b schemaError) (id string) {
	b.walkOutward(func(p string, here bool) bool {
		switch law := s.requirements[p].(type) {
		case string:
			id = law
		case map[string]any:
			if here {
				id, _ = law[b.keyword].(string)
			}
		}
		return id != ""
	})
	return id
}

// refusalsFor are how the document wants a request refused that has this breach.
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

// isPathItem: what stands there is for methods that the path does not have.
func isPathItem(pointer string) bool {
	rest, ok := strings.CutPrefix(pointer, "/paths/")
	return ok && !strings.Contains(rest, "/")
}

func refusalList(n node) []node {
	if _, ok := n.value.([]any); ok {
		return n.items()
	}
	return []node{n}
}

// refusal reads one item of an x-error, for a keyword.
func (n node) refusal(keyword string, here bool) (spec.RefusalRequirement, bool) {
	d := spec.RefusalRequirement{Status: n.get("status").strings(), Code: n.get("code").strings(), Text: n.get("text").text()}
	d.InBand, _ = n.get("in-band").value.(bool)
	d.Plain, _ = n.get("plain").value.(bool)
	d.Comment = n.get("comment").text()
	switch law := n.get("requirement"); {
	case law.object() != nil:
		d.Requirement = law.get(keyword).text()
		return d, here && d.Requirement != ""
	default:
		d.Requirement = law.text()
	}
	return d, true
}

// schemaPath is the constraint that is broken.
func (b schemaError) schemaPath() string {
	if len(b.documentPlaces) == 0 {
		return b.keyword
	}
	return b.documentPlaces[0].pointer + "/" + b.keyword
}

// violation says what a breach means: where it is, and in words, in which the whole value
// is called root.
func (b schemaError) violation(part, root string) spec.Violation {
	return spec.Violation{Location: strings.TrimSpace(part + " " + jsonPointer(b.location)), Pointer: jsonPointer(b.location), Message: b.text(root), SchemaPath: b.schemaPath()}
}

// RequirementIDs lists the requirements that the document's x-error and x-denied, and those that
// its x-requirement, x-stream and x-absent name.
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
