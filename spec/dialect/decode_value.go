package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// decode returns the JSON value that data contains, with numbers as json.Number. It ignores a
// leading byte order mark (RFC 8259 section 8.1). It returns an error if data is not valid UTF-8,
// is not JSON, or contains anything but white space after the value.
func decode(data []byte) (any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if len(data) == 0 {
			return nil, errors.New("not JSON: it is empty")
		}
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, fmt.Errorf("not JSON: it ends too early, after %d bytes", len(data))
		}
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("not JSON: text follows the first JSON value")
	}
	return v, nil
}

// decodeFrameValue returns the JSON value in the data of item, a frame of the stream of o. If the
// value is an object without the member o.eventField, and that member may be sent only as SSE event
// field, it is added to the object. The error is that of decode.
func (o *Operation) decodeFrameValue(item sse.Item) (any, error) {
	v, err := decode(item.Data)
	if object, ok := v.(map[string]any); ok && o.eventSuffices && item.Event != "" {
		if _, stated := object[o.eventField]; !stated {
			object[o.eventField] = item.Event
		}
	}
	return v, err
}

// A decodeMode states what [variant.decode] sets in an event besides its kind, slots and parts.
type decodeMode int

const (
	contentsOnly     decodeMode = iota // nothing
	withRequirements                   // Exercised; the value is not validated, since it already was
	withViolations                     // Exercised and Violations; the value is validated
)

// decode sets the kind, slots and parts of e from the JSON value v, which must match the variant.
// It also sets the fields that the mode requires. If the variant has no x-kind, the kind is
// [spec.Unrecognized]. A slot is unchanged if v has no value of an allowed type for it. If several
// items of a list have values for the same slot, the slot holds their concatenation; for the slot
// "text", the values are also appended to e.Texts.
func (w *variant) decode(e *spec.Event, v any, mode decodeMode) {
	e.Kind = w.kind
	if e.Kind == "" {
		e.Kind = spec.Unrecognized
	}
	for _, site := range w.slots {
		for _, found := range valuesAt(v, site.path) {
			if !fitsTypes(site.types, found) {
				continue
			}
			to := slotField(e, site.slot)
			switch text := site.slotText(found); {
			case slices.Contains(site.path, "*"):
				if *to += text; site.slot == "text" {
					e.Texts = append(e.Texts, text)
				}
			case text != "":
				*to = text
			}
		}
	}
	e.Parts = w.decodeParts(v, mode)
	switch mode {
	case contentsOnly:
		return
	case withRequirements:
		e.Exercised = append(e.Exercised, w.exercisedRequirements(v, nil)...)
	case withViolations:
		w.checkSchema(e, v)
	}
	for _, part := range e.Parts {
		if isSeparate(part) {
			continue
		}
		for _, id := range part.Exercised {
			violated := func(b spec.Violation) bool { return b.Requirement == id }
			if !slices.Contains(e.Exercised, id) && !slices.ContainsFunc(e.Violations, violated) {
				e.Exercised = append(e.Exercised, id)
			}
		}
	}
}

// checkSchema validates v against the schema of the variant. It appends the violations to
// e.Violations, and the ids of the requirements that v exercises to e.Exercised. It keeps the
// results for valid values in w.cache.
func (w *variant) checkSchema(e *spec.Event, v any) {
	key, cacheable := w.cache.keyOf(v)
	if cacheable {
		if exercised, ok := w.cache.lookup(key); ok {
			e.Exercised = append(e.Exercised, exercised...)
			return
		}
	}
	root := responseBodyName
	if e.Frame >= 0 {
		root = eventName
	}
	for _, b := range w.node.doc.schemaErrors(v, w.validate(v), nil) {
		if b.keyword == "enum" && len(b.documentLocations) > 0 {
			if own := w.node.doc.lookup(b.documentLocations[0].pointer).constants(); len(own) > 0 {
				siblings := w.siblingConstants(v, b.location)
				if slices.ContainsFunc(siblings, func(r any) bool { return equalScalars(r, b.got) }) {
					siblings = nil // they allow the value, so another member is wrong for them
				}
				b.expected = "expected " + listValues(distinct(slices.Concat(siblings, own)))
			}
		}
		violation := b.violation("", root)
		if violation.Requirement = w.node.doc.requirementOf(b); violation.Requirement == "" {
			violation.Requirement = w.defaultRequirement
		}
		e.Violations = append(e.Violations, violation)
	}
	exercised := w.exercisedRequirements(v, e.Violations)
	if e.Exercised = append(e.Exercised, exercised...); cacheable && len(e.Violations) == 0 {
		w.cache.store(key, exercised)
	}
}

// decodeParts returns the parts of v (see nestedVariantLocation) as events. The Frame of a part is
// separateFrame if the part is to become an event of its own, otherwise -1. Unless mode is
// contentsOnly, the field Exercised of the parts is set. Their field Violations is always empty,
// because v is validated as a whole. The result is empty, but not nil, if v has an array for parts
// without any.
func (w *variant) decodeParts(v any, mode decodeMode) (parts []spec.Event) {
	typeOf := func(string) string { return w.textAt("type", v) }
	for site, item := range w.partValues(v) {
		matched := matchVariantIn(site.variants, item, typeOf)
		if matched != nil && (matched.kind != "" || !site.onlyWithKind) {
			parts = append(parts, spec.Event{Frame: -1})
			part := &parts[len(parts)-1]
			if site.separate {
				part.Frame = separateFrame
			}
			matched.decode(part, item, mode)
			part.Violations = nil
		}
	}
	if parts == nil && w.hasEmptyParts(v) {
		parts = []spec.Event{}
	}
	return parts
}

// hasEmptyParts reports whether v has an empty array at a location of parts.
func (w *variant) hasEmptyParts(v any) bool {
	for _, site := range w.parts {
		for _, found := range valuesAt(v, site.path) {
			if list, ok := found.([]any); ok && len(list) == 0 {
				return true
			}
		}
	}
	return false
}

// partValues yields the values in v that may be parts (see nestedVariantLocation), each with its
// location.
func (w *variant) partValues(v any) iter.Seq2[nestedVariantLocation, any] {
	return func(yield func(nestedVariantLocation, any) bool) {
		for _, site := range w.parts {
			for _, found := range valuesAt(v, site.path) {
				list, ok := found.([]any)
				if !ok && found != nil {
					list = []any{found}
				}
				for _, item := range list {
					if !yield(site, item) {
						return
					}
				}
			}
		}
	}
}

// exercisedRequirements returns the ids of the requirements of the variant that the value v
// exercises and does not violate. Each id occurs once. The argument violations must contain all
// violations of v.
func (w *variant) exercisedRequirements(v any, violations []spec.Violation) (ids []string) {
	for _, at := range w.requirements {
		violated := func(b spec.Violation) bool { return b.Requirement == at.id }
		if slices.Contains(ids, at.id) || slices.ContainsFunc(violations, violated) {
			continue
		}
		if at.isExercised(v) {
			ids = append(ids, at.id)
		}
	}
	return ids
}

// isExercised reports whether v exercises the requirement l (see [locatedRequirement]). The
// argument v is a value of the variant as a whole, not only its member at l.path.
func (l locatedRequirement) isExercised(v any) bool {
	if l.matchesForm != nil {
		return slices.ContainsFunc(valuesAt(v, l.path), func(v any) bool { return l.matchesForm(v) == nil })
	}
	if len(l.path) == 0 {
		return true
	}
	if l.required {
		return firstAt(v, l.path[:len(l.path)-1]) != nil
	}
	return slices.ContainsFunc(valuesAt(v, l.path), func(v any) bool { return v != nil })
}
