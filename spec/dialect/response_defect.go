package dialect

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A SchemaDefectKind is a way in which a value violates its schema.
type SchemaDefectKind string

// The kinds of defects of a value.
const (
	MissingMember SchemaDefectKind = "missing" // a required member is absent
	WrongType     SchemaDefectKind = "type"    // a value has a type that the schema does not allow
	WrongValue    SchemaDefectKind = "value"   // a value is not in the enumeration
)

// A PossibleDefect is a kind of defect that can make a frame or reply violate one requirement of
// the document (x-requirement) and no other constraint.
type PossibleDefect struct {
	Requirement string // id of the requirement
	Kind        SchemaDefectKind
	Locations   []string // sorted JSON pointers to the places where it can occur, with "*" for array indexes
}

// Refusals returns the requirements on refusals of invalid requests (x-error), sorted by id. If the
// document names a requirement several times, the result contains it as often. The Level of the
// requirements is not set.
func (d *Dialect) Refusals() (all []spec.RefusalRequirement) {
	for _, at := range slices.Sorted(maps.Keys(d.document.refusals)) {
		for _, entry := range refusalList(node{d.document, at + "/x-error", d.document.refusals[at]}) {
			for _, id := range requirementIDs(entry.get("requirement").value) {
				refusal, _ := entry.refusal("", true)
				refusal.Requirement = id
				all = append(all, refusal)
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Requirement < all[j].Requirement })
	return all
}

// ResponseDefects returns the defects that frames and successful replies of the dialect can have,
// sorted by requirement and kind. It finds them by modifying example values, which it makes from
// the schemas.
func (d *Dialect) ResponseDefects() (all []PossibleDefect) {
	type defect struct {
		requirement string
		kind        SchemaDefectKind
	}
	locations := map[defect][]string{}
	for _, variants := range d.successVariants() {
		for _, w := range variants {
			for item := range w.maxItems() {
				v := w.example(item, 0)
				if matchVariant(variants, v) != w || w.validate(v) != nil {
					continue
				}
				for _, kind := range []SchemaDefectKind{MissingMember, WrongType, WrongValue} {
					for f := range d.document.defects(variants, v, kind) {
						key := defect{f.requirement, kind}
						locations[key] = append(locations[key], f.location)
					}
				}
			}
		}
	}
	for x, at := range locations {
		slices.Sort(at)
		all = append(all, PossibleDefect{x.requirement, x.kind, slices.Compact(at)})
	}
	// Not slices.SortFunc, which adds 10 kB to the program for each large type that it sorts.
	sort.Slice(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		return a.Requirement < b.Requirement || a.Requirement == b.Requirement && a.Kind < b.Kind
	})
	return all
}

// successVariants returns one list of variants for the frames of each operation, and one for each
// successful JSON reply of each operation.
func (d *Dialect) successVariants() (lists [][]*variant) {
	for _, o := range d.operations {
		lists = append(lists, o.frameVariants)
		for _, status := range slices.Sorted(maps.Keys(o.responses)) {
			if r := o.responses[status]; strings.HasPrefix(status, "2") && isJSON(r.mediaType) {
				lists = append(lists, r.variants)
			}
		}
	}
	return lists
}

// Apply returns a copy of data with the defect, as compact JSON, and true. The argument data is the
// data of a frame, or the body of a reply to a request for o. For a reply, status is its status
// code; for a frame, status is 0. If the defect is possible at several locations, Apply uses the
// first one. If it is not possible, Apply returns data unchanged and false.
func (x PossibleDefect) Apply(o *Operation, status int, data []byte) ([]byte, bool) {
	variants := o.frameVariants
	if status != 0 {
		content, _ := o.responseFor(status)
		variants = content.variants
	}
	v, err := decode(data)
	if err != nil {
		return data, false
	}
	for f := range o.node.doc.defects(variants, v, x.Kind) {
		if f.requirement == x.Requirement {
			return []byte(compactJSON(f.value)), true
		}
	}
	return data, false
}

// A defectiveResponse is a frame or reply that violates one requirement.
type defectiveResponse struct {
	value       any    // the frame or reply
	requirement string // id of the violated requirement
	location    string // JSON pointer to the violation, with "*" for array indexes
}

// defects returns an iterator over copies of v, each of which has one defect of the given kind. If
// v is not a valid value of one of the variants, the iterator yields nothing.
func (s *openAPIDocument) defects(variants []*variant, v any, kind SchemaDefectKind) iter.Seq[defectiveResponse] {
	return func(yield func(defectiveResponse) bool) {
		w := matchVariant(variants, v)
		if w == nil || w.validate(v) != nil {
			return
		}
		for _, e := range s.edits(w.node, v, nil, kind, 0) {
			for _, value := range e.values {
				if f, ok := s.defectOf(variants, replaceAt(v, e.at, value)); ok {
					if !yield(f) {
						return
					}
					break
				}
			}
		}
	}
}

// defectOf returns v, a frame or reply with exactly one violation, together with the requirement
// and the location of the violation. ok is false if v matches none of the variants, if it has no
// violation or several, or if the requirement depends on the type of the message to which v
// belongs.
func (s *openAPIDocument) defectOf(variants []*variant, v any) (f defectiveResponse, ok bool) {
	w := matchVariant(variants, v)
	if w == nil {
		return f, false
	}
	f, ok = s.violationOf(w, v)
	for _, other := range variants {
		if other == w {
			break
		}
		if len(other.messageTypes) == 0 || !other.matches(v, func(string) string { return other.messageTypes[0] }) {
			continue
		}
		if o, valid := s.violationOf(other, v); !valid || o.requirement != f.requirement {
			return f, false
		}
	}
	return f, ok
}

// violationOf returns v, a value of the variant w, together with the requirement and the location
// of its violation. ok is false unless v has exactly one violation.
func (s *openAPIDocument) violationOf(w *variant, v any) (f defectiveResponse, ok bool) {
	errs := s.schemaErrors(v, w.validate(v), nil)
	if len(errs) != 1 {
		return f, false
	}
	f = defectiveResponse{value: v, requirement: cmp.Or(s.requirementOf(errs[0]), w.defaultRequirement)}
	for _, token := range errs[0].location {
		if _, err := strconv.Atoi(token); err == nil {
			token = "*"
		}
		f.location += "/" + escape(token)
	}
	return f, true
}

// A responseValueEdit describes how to replace or remove the value at one location in a frame or
// reply.
type responseValueEdit struct {
	at []string // location of the value: member names and array indexes

	// values has the replacements to try until one of them causes exactly one violation. The value
	// omittedValue{} removes the member.
	values []any
}

// edits returns edits that may give v, or a value inside v, a defect of the given kind. Some of
// them add members that v lacks. The argument n is the schema of v, at is the location of v in the
// frame or reply, and depth is its nesting depth. edits returns nil if depth exceeds maxDepth.
func (s *openAPIDocument) edits(
	n node, v any, at []string, kind SchemaDefectKind, depth int,
) (all []responseValueEdit) {
	if depth > maxDepth {
		return nil
	}
	object, _ := v.(map[string]any)
	list, _ := v.([]any)
	inside := func(token string) []string { return append(slices.Clone(at), token) }
	for _, n := range s.applicableSchemas(n, v) {
		for _, name := range n.get("required").strings() {
			if _, ok := object[name]; ok && kind == MissingMember {
				all = append(all, responseValueEdit{inside(name), []any{omittedValue{}}})
			}
		}
		for name, property := range n.get("properties").members() {
			if object != nil {
				all = append(all, responseValueEdit{inside(name), wrongValuesFor(property, kind)})
			}
			if member, ok := object[name]; ok {
				all = append(all, s.edits(property, member, inside(name), kind, depth+1)...)
			}
		}
		for i, item := range list {
			all = append(all, s.edits(n.get("items"), item, inside(strconv.Itoa(i)), kind, depth+1)...)
		}
	}
	return all
}

// wrongValues are values of different types. For almost any schema, at least one of them violates
// it.
var wrongValues = []any{json.Number("7"), "alien", true, false, []any{}, map[string]any{}}

// wrongValuesFor returns those of wrongValues that may give a property with the schema n a defect
// of the given kind:
//   - for [WrongType], the values whose type n does not name
//   - for [WrongValue], the values whose type n names, if n has an enumeration
//   - for [MissingMember], none
func wrongValuesFor(n node, kind SchemaDefectKind) []any {
	types := typesOf(withAllOf(n, 0))
	return slices.DeleteFunc(slices.Clone(wrongValues), func(v any) bool {
		switch fits := len(types) > 0 && fitsTypes(types, v); kind {
		case WrongType:
			return fits
		case WrongValue:
			return !fits || !n.get("enum").exists()
		}
		return true
	})
}

// maxItems returns the number of examples to make of the variant, which is at least 1. For a result
// n, the examples that [variant.example] returns for the items 0 to n-1 together contain all
// variants of the parts, and all variants of the parts of these parts. They need not contain all
// variants of parts that are nested more deeply.
func (w *variant) maxItems() int {
	n := 1
	for _, part := range w.parts {
		most := 1 // variants of a part inside this part
		for _, outer := range part.variants {
			for _, inner := range outer.parts {
				most = max(most, len(inner.variants))
			}
		}
		n = max(n, len(part.variants)*most)
	}
	return n
}

// example returns an example value of the variant. It need not be valid. Each slot that the
// reference server can write has a value, and each member for parts has one part. The argument
// item, counted from 0, selects the variants of the parts: in a member with n variants, the part
// has the variant with the index item%n, and item/n selects the variants of the parts inside that
// part. The argument depth is the nesting depth of the value.
func (w *variant) example(item, depth int) any {
	if slices.Contains(w.node.get("type").strings(), "string") {
		return exampleText([]node{w.node})
	}
	return w.encoding.example(item, depth)
}

// example returns an example of an object with the encoding f. The arguments are as in
// [variant.example]. If depth exceeds maxDepth, the object is empty.
func (f *objectEncoding) example(item, depth int) map[string]any {
	out := map[string]any{}
	if depth > maxDepth {
		return out
	}
	for _, m := range f.fields {
		switch {
		case m.variants != nil:
			out[m.name] = m.variants[item%len(m.variants)].example(item/len(m.variants), depth+1)
			if m.isList {
				out[m.name] = []any{out[m.name]}
			}
		case m.hasFixedValue && m.allows(m.fixedValue):
			out[m.name] = m.fixedValue
		case m.slotPointer != nil:
			out[m.name] = m.exampleValue()
		case m.object != nil:
			out[m.name] = m.object.example(item, depth+1)
		case m.required:
			out[m.name] = m.emptyValue()
		}
	}
	return out
}

// exampleValue returns a value that all schemas of the member allow, or "x" if it finds none.
func (m *memberEncoding) exampleValue() any {
	samples := []any{
		"1", json.Number("1"), "2026-03-15", "2026-03-15T10:00:00Z", exampleText(m.schemas), true, map[string]any{}, []any{},
	}
	for _, n := range m.schemas {
		if v, ok := exampleValue(n, 0); ok {
			samples = append(samples, v)
		}
	}
	if i := slices.IndexFunc(samples, m.allows); i >= 0 {
		return samples[i]
	}
	return "x"
}

// allows reports whether all schemas of the member allow the value v.
func (m *memberEncoding) allows(v any) bool {
	return !slices.ContainsFunc(m.schemas, func(n node) bool { return n.doc.validator(n.pointer)(v) != nil })
}
