package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// decode reads one JSON value and nothing after it. A leading byte order mark is
// let pass (RFC 8259 section 8.1), numbers keep their digits.
func decode(data []byte) (any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("not JSON: it ends too early")
		}
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("not JSON: something follows the value")
	}
	return v, nil
}

// A validateFunc says where what was heard of v breaks the word's schema, and what it
// upholds.
type validateFunc func(w *variant, s *document, e *spec.Event, v any)

// decode fills e with what v means, and says where v breaks the word's schema.
func (w *variant) decode(s *document, e *spec.Event, v any) {
	w.decodeWith(s, e, v, (*variant).checkSchema)
}

// skipValidation is the judging of what was validated as a whole before.
func (w *variant) skipValidation(_ *document, e *spec.Event, v any) {
	e.Exercised = append(e.Exercised, w.exercisedRequirements(v, nil)...)
}

// decodeWith fills e with what v means; how says what that breaks.
func (w *variant) decodeWith(s *document, e *spec.Event, v any, validate validateFunc) {
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
				*to += text
			case text != "":
				*to = text
			}
		}
	}
	e.Parts = append(e.Parts, w.decodeParts(s, v, validate)...)
	validate(w, s, e, v)
	for _, part := range e.Parts {
		for _, id := range part.Exercised {
			if !slices.Contains(e.Exercised, id) && !slices.ContainsFunc(e.Violations, func(b spec.Violation) bool { return b.Requirement == id }) {
				e.Exercised = append(e.Exercised, id)
			}
		}
	}
}

// checkSchema says where v breaks the word's schema, and which requirements it upholds.
func (w *variant) checkSchema(s *document, e *spec.Event, v any) {
	key, cacheable := w.cache.keyOf(v)
	if cacheable {
		if upheld, ok := w.cache.lookup(key); ok {
			e.Exercised = append(e.Exercised, upheld...)
			return
		}
	}
	root := responseBodyName
	if e.Frame >= 0 {
		root = eventName
	}
	for _, b := range s.schemaErrors(v, w.validate(v), nil) {
		violation := b.violation("", root)
		if violation.Requirement = s.requirementOf(b); violation.Requirement == "" {
			violation.Requirement = w.defaultRequirement
		}
		e.Violations = append(e.Violations, violation)
	}
	upheld := w.exercisedRequirements(v, e.Violations)
	if e.Exercised = append(e.Exercised, upheld...); cacheable && len(e.Violations) == 0 {
		w.cache.store(key, upheld)
	}
}

func (w *variant) decodeParts(s *document, v any, validate validateFunc) (parts []spec.Event) {
	for _, site := range w.parts {
		for _, found := range valuesAt(v, site.path) {
			list, ok := found.([]any)
			if !ok && found != nil {
				list = []any{found}
			}
			for _, item := range list {
				if matched := matchVariant(site.variants, item); matched != nil && (matched.kind != "" || !site.onlyWithKind) {
					part := spec.Event{Frame: -1}
					matched.decodeWith(s, &part, item, validate)
					part.Violations = nil // the whole was validated, with its parts in it
					parts = append(parts, part)
				}
			}
		}
	}
	return parts
}

// exercisedRequirements are the requirements that v exercises and does not break.
func (w *variant) exercisedRequirements(v any, broken []spec.Violation) (ids []string) {
	for _, law := range w.requirements {
		if slices.Contains(ids, law.id) || slices.ContainsFunc(broken, func(b spec.Violation) bool { return b.Requirement == law.id }) {
			continue
		}
		if law.isExercised(v) {
			ids = append(ids, law.id)
		}
	}
	return ids
}

func (l requirementLocation) isExercised(v any) bool {
	if l.matchesForm != nil {
		return slices.ContainsFunc(valuesAt(v, l.path), func(v any) bool { return l.matchesForm(v) == nil })
	}
	if len(l.path) == 0 {
		return true
	}
	if l.required {
		v := memberAt(v, l.path[:len(l.path)-1])
		return v != nil
	}
	return slices.ContainsFunc(valuesAt(v, l.path), func(v any) bool { return v != nil })
}
