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

// A breach is one broken keyword.
type breach struct {
	at      []string // where in the instance
	places  []place  // where in the document, innermost first, as references were followed
	keyword string
	mark    bool // it is a constant, the kind that tells schemas apart

	// What its text is made of.
	path   string     // the place, as a program would spell it; "" is the whole value
	got    any        // what stands there
	absent string     // the member that is missing there
	seen   string     // what is wrong there, if not that it is got
	want   string     // what is required, in words
	either [][]breach // what each of several schemas finds wrong, of which it had to fit one
}

// A place is a pointer into the document, and how deep in the instance it applies.
type place struct {
	pointer string
	depth   int
}

// breaches takes the error of validating v apart. Where one of several schemas had to
// fit, it finds out which one was meant.
func (s *source) breaches(v any, err error, outer []place) []breach {
	var e *jsonschema.ValidationError
	if !errors.As(err, &e) {
		return nil
	}
	places := append([]place{{fragment(e.SchemaURL), len(e.InstanceLocation)}}, outer...)
	branches := make([][]breach, len(e.Causes))
	for i, cause := range e.Causes {
		branches[i] = s.breaches(v, cause, places)
	}
	b := breach{
		at: e.InstanceLocation, places: places, keyword: strings.Join(e.ErrorKind.KeywordPath(), "/"),
		path: pathOf(v, e.InstanceLocation), got: valueAt(v, e.InstanceLocation),
	}
	switch k := e.ErrorKind.(type) {
	case *kind.OneOf, *kind.AnyOf:
		if meant, ok := meant(branches, len(b.at)); ok {
			return meant
		}
		s.choose(&b, branches)
		return []breach{b}
	case *kind.Required:
		return s.missing(k.Missing, b)
	case *kind.DependentRequired:
		return s.missing(k.Missing, b)
	case *kind.Enum:
		b.mark = len(k.Want) == 1
	case *kind.Const:
		b.mark = true
	case *kind.Not:
		b.keyword = "not"
		b.forbid(s.lookup(places[0].pointer).get("not"))
		return []breach{b}
	case *kind.Contains, *kind.MinContains, *kind.MaxContains:
		b.contain(s.lookup(places[0].pointer).get("contains"), e)
		return []breach{b}
	default:
		if len(e.Causes) > 0 {
			return slices.Concat(branches...)
		}
	}
	b.describe(e)
	return []breach{b}
}

// meant finds the one branch that a value was meant to fit: its type is right and
// its constants are.
func meant(branches [][]breach, depth int) ([]breach, bool) {
	var found []breach
	n := 0
	for _, branch := range branches {
		if !isWrong(branch, depth) {
			found, n = branch, n+1
		}
	}
	return found, n == 1
}

// isWrong reports whether a value cannot have been meant to fit the branch: its type or
// a constant is another.
func isWrong(branch []breach, depth int) bool {
	return slices.ContainsFunc(branch, func(b breach) bool {
		return b.mark && len(b.at) <= depth+1 || b.keyword == "type" && len(b.at) == depth
	})
}

// missing is one breach for each member that is not there, at the place where the
// document speaks of that member.
func (s *source) missing(names []string, b breach) (all []breach) {
	for _, name := range names {
		inside := s.lookup(b.places[0].pointer + "/properties/" + escape(name))
		depth := len(b.at) + 1
		places := []place{{inside.at, depth}}
		if inside.exists() && inside.deref().at != inside.at {
			places = append(places, place{inside.deref().at, depth})
		}
		all = append(all, breach{
			at: append(slices.Clone(b.at), name), places: append(places, b.places...),
			keyword: "required", path: b.path, absent: name, want: expectedOf(inside),
		})
	}
	return all
}

func fragment(schemaURL string) string {
	u, err := url.Parse(schemaURL) // the validator escapes the fragment
	if err != nil {
		return ""
	}
	return u.Fragment
}

func pointer(tokens []string) (p string) {
	for _, t := range tokens {
		p += "/" + escape(t)
	}
	return p
}

// outward calls f with every pointer that covers the breach, innermost first, and
// whether it is the very place; it stops when f says so.
func (b breach) outward(f func(pointer string, here bool) bool) {
	for _, pl := range b.places {
		here := pl.depth >= len(b.at)
		for p := pl.pointer; p != ""; p = p[:strings.LastIndexByte(p, '/')] {
			if f(p, here) {
				return
			}
			here = here && strings.HasSuffix(p, "/schema")
		}
	}
}

// law is the requirement that a frame or reply breaks, "" if the document names
// none.
func (s *source) law(b breach) (id string) {
	b.outward(func(p string, here bool) bool {
		switch law := s.laws[p].(type) {
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

// demands are how the document wants a request refused that has this breach.
func (s *source) demands(b breach) (all []spec.RefusalRequirement) {
	b.outward(func(p string, here bool) bool {
		v, ok := s.errors[p]
		if !ok || isPathItem(p) && b.keyword != "method" {
			return false
		}
		list := node{s, p + "/x-error", v}
		found, inherit := false, false
		for _, d := range demandList(list) {
			if on, _ := d.object()["inherit"].(bool); on {
				inherit = true
			} else if demand, ok := d.demand(b.keyword, here); ok {
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

func demandList(n node) []node {
	if _, ok := n.v.([]any); ok {
		return n.items()
	}
	return []node{n}
}

// demand reads one item of an x-error, for a keyword.
func (n node) demand(keyword string, here bool) (spec.RefusalRequirement, bool) {
	d := spec.RefusalRequirement{Status: n.get("status").strings(), Code: n.get("code").strings(), Text: n.get("text").text()}
	d.InBand, _ = n.get("in-band").v.(bool)
	d.Plain, _ = n.get("plain").v.(bool)
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

// rule is the constraint that is broken.
func (b breach) rule() string {
	if len(b.places) == 0 {
		return b.keyword
	}
	return b.places[0].pointer + "/" + b.keyword
}

// broken says what a breach means: where it is, and in words, in which the whole value
// is called root.
func (b breach) broken(where, root string) spec.Violation {
	return spec.Violation{Location: strings.TrimSpace(where + " " + pointer(b.at)), Pointer: pointer(b.at), Message: b.text(root), SchemaPath: b.rule()}
}

// Laws lists the requirements that the document's x-error and x-denied, and those that
// its x-requirement, x-stream and x-absent name.
func (d *Dialect) Laws() (refused, shaped []string) {
	for _, v := range d.source.errors {
		for _, demand := range demandList(node{d.source, "", v}) {
			refused = append(refused, idsIn(demand.object()["requirement"])...)
		}
	}
	for _, o := range d.operations {
		for _, denial := range o.denied {
			refused = append(refused, denial.demand.Requirement)
		}
	}
	for _, o := range d.operations {
		shaped = append(shaped, o.promised.Status, o.promised.MediaType, o.promised.ContentCoding)
		for _, left := range o.omitted {
			shaped = append(shaped, left.law)
		}
	}
	shaped = slices.DeleteFunc(shaped, func(id string) bool { return id == "" })
	for _, v := range d.source.laws {
		shaped = append(shaped, idsIn(v)...)
	}
	slices.Sort(refused)
	slices.Sort(shaped)
	return slices.Compact(refused), slices.Compact(shaped)
}

func idsIn(v any) (ids []string) {
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
