package dialect

import (
	"cmp"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A DefectKind is a way in which a value violates its schema.
type DefectKind string

// The kinds of defects of a value.
const (
	MissingMember DefectKind = "missing" // a required member is absent
	WrongType     DefectKind = "type"    // a value has a type that the schema does not allow
	WrongValue    DefectKind = "value"   // a value is not in the enumeration
)

// A PossibleDefect is a defect with which a frame or reply violates one requirement of the document
// (x-requirement) and nothing else.
type PossibleDefect struct {
	Requirement string // id of the requirement
	Kind        DefectKind
	Locations   []string // where the defect can occur: sorted JSON pointers with "*" for each array index
}

// Refusals returns the requirements on the refusals of requests that violate the document
// (x-error), sorted by their ids. A requirement that occurs several times in the document occurs as
// often in the result. The Level of the requirements is not set.
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
	slices.SortStableFunc(all, func(a, b spec.RefusalRequirement) int {
		return strings.Compare(a.Requirement, b.Requirement)
	})
	return all
}

// ResponseDefects returns the defects that frames and successful replies of the dialect can have,
// sorted by requirement and kind. It finds them by modifying examples, which it makes from the
// schemas of the frames and replies.
func (d *Dialect) ResponseDefects() (all []PossibleDefect) {
	type defect struct {
		requirement string
		kind        DefectKind
	}
	locations := map[defect][]string{}
	for _, variants := range d.successVariants() {
		for _, w := range variants {
			for item := range w.maxItems() {
				v := w.example(item, 0)
				if matchVariant(variants, v) != w || w.validate(v) != nil {
					continue
				}
				for _, kind := range []DefectKind{MissingMember, WrongType, WrongValue} {
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
	slices.SortFunc(all, func(a, b PossibleDefect) int {
		return cmp.Or(cmp.Compare(a.Requirement, b.Requirement), cmp.Compare(a.Kind, b.Kind))
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

// Apply introduces the defect into a copy of data, at the first location where that is possible,
// and returns the copy, as compact JSON, and true. The argument data is the data of a frame or the
// body of a reply to a request for o. For a reply, status is its status code; for a frame, status
// is 0. If data cannot have the defect, Apply returns data unchanged and false.
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

// A defectiveValue is a frame or reply that violates one requirement.
type defectiveValue struct {
	value       any
	requirement string
	location    string // of the violation: a JSON pointer with "*" for each array index
}

// defects returns an iterator over copies of v, each of which has one defect of the given kind. v
// must be a valid value of one of the variants; otherwise the iterator yields nothing.
func (s *document) defects(variants []*variant, v any, kind DefectKind) iter.Seq[defectiveValue] {
	return func(yield func(defectiveValue) bool) {
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

// defectOf returns v as a defective value, with the requirement and the location of its only
// violation. ok is false if v does not match any of the variants, or if it does not have exactly
// one violation.
func (s *document) defectOf(variants []*variant, v any) (f defectiveValue, ok bool) {
	w := matchVariant(variants, v)
	if w == nil {
		return f, false
	}
	errs := s.schemaErrors(v, w.validate(v), nil)
	if len(errs) != 1 {
		return f, false
	}
	f = defectiveValue{value: v, requirement: cmp.Or(s.requirementOf(errs[0]), w.defaultRequirement)}
	for _, token := range errs[0].location {
		if _, err := strconv.Atoi(token); err == nil {
			token = "*"
		}
		f.location += "/" + escape(token)
	}
	return f, true
}

// A valueEdit describes a replacement of the value at one location in a frame or reply. The values
// are tried in order until one of them causes exactly one violation.
type valueEdit struct {
	at     []string // member names and array indexes
	values []any    // removed{} for a member to remove
}

// edits returns the edits that may give v, or a value inside v, a defect of the given kind. An edit
// may add a member that v lacks. n is the schema of v, at is the location of v in the frame or
// reply, and depth is its nesting depth. edits returns nil if depth exceeds maxDepth.
func (s *document) edits(n node, v any, at []string, kind DefectKind, depth int) (all []valueEdit) {
	if depth > maxDepth {
		return nil
	}
	object, _ := v.(map[string]any)
	list, _ := v.([]any)
	inside := func(token string) []string { return append(slices.Clone(at), token) }
	for _, n := range s.applicableSchemas(n, v) {
		for _, name := range n.get("required").strings() {
			if _, ok := object[name]; ok && kind == MissingMember {
				all = append(all, valueEdit{inside(name), []any{removed{}}})
			}
		}
		for name, property := range n.get("properties").members() {
			if object != nil {
				all = append(all, valueEdit{inside(name), wrongValuesFor(property, kind)})
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
// of the given kind. For [WrongType], these are the values whose type n does not name. For
// [WrongValue], these are the values of a type that n names, provided that n has an enumeration.
// For [MissingMember], there are none.
func wrongValuesFor(n node, kind DefectKind) []any {
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

// maxItems returns the number of examples to make of the variant, which is at least 1. The examples
// that [variant.example] returns for the items from 0 to maxItems-1 cover all variants of the parts
// of a value and, for each of them, all variants of the parts inside that part. They may lack
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

// example returns a value of the variant in which every slot that the reference server can write
// has a value. A member for parts has a single part, and the argument item selects the variant of
// that part: if there are n variants, the part is the result of calling example for the variant
// with index item%n, with item/n as its item. The value may violate the schema.
func (w *variant) example(item, depth int) any {
	if slices.Contains(w.node.get("type").strings(), "string") {
		return exampleText([]node{w.node})
	}
	return w.layout.example(item, depth)
}

// example returns an object with the layout f, as described at [variant.example].
func (f *objectLayout) example(item, depth int) map[string]any {
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

// exampleValue returns a value that all schemas of the member allow, or "x" if it does not find
// one.
func (m *objectField) exampleValue() any {
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
func (m *objectField) allows(v any) bool {
	return !slices.ContainsFunc(m.schemas, func(n node) bool { return n.doc.validator(n.pointer)(v) != nil })
}
