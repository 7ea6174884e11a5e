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

// A judging says where what was heard of v breaks the word's schema, and what it
// upholds.
type judging func(w *word, s *source, e *spec.Event, v any)

// hear fills e with what v means, and says where v breaks the word's schema.
func (w *word) hear(s *source, e *spec.Event, v any) { w.read(s, e, v, (*word).judge) }

// trust is the judging of what was validated as a whole before.
func (w *word) trust(_ *source, e *spec.Event, v any) {
	e.Exercised = append(e.Exercised, w.upheld(v, nil)...)
}

// read fills e with what v means; how says what that breaks.
func (w *word) read(s *source, e *spec.Event, v any, how judging) {
	e.Kind = w.kind
	if e.Kind == "" {
		e.Kind = spec.Unrecognized
	}
	for _, site := range w.slots {
		for _, found := range all(v, site.path) {
			if !fits(site.types, found) {
				continue
			}
			to := slotOf(e, site.slot)
			switch text := site.carry(found); {
			case slices.Contains(site.path, "*"):
				*to += text
			case text != "":
				*to = text
			}
		}
	}
	e.Parts = append(e.Parts, w.readParts(s, v, how)...)
	how(w, s, e, v)
	for _, part := range e.Parts {
		for _, id := range part.Exercised {
			if !slices.Contains(e.Exercised, id) && !slices.ContainsFunc(e.Violations, func(b spec.Violation) bool { return b.Requirement == id }) {
				e.Exercised = append(e.Exercised, id)
			}
		}
	}
}

// judge says where v breaks the word's schema, and which requirements it upholds.
func (w *word) judge(s *source, e *spec.Event, v any) {
	key, worth := w.memo.key(v)
	if worth {
		if upheld, ok := w.memo.fits(key); ok {
			e.Exercised = append(e.Exercised, upheld...)
			return
		}
	}
	root := theReply
	if e.Frame >= 0 {
		root = theEvent
	}
	for _, b := range s.breaches(v, w.validate(v), nil) {
		broken := b.broken("", root)
		if broken.Requirement = s.law(b); broken.Requirement == "" {
			broken.Requirement = w.law
		}
		e.Violations = append(e.Violations, broken)
	}
	upheld := w.upheld(v, e.Violations)
	if e.Exercised = append(e.Exercised, upheld...); worth && len(e.Violations) == 0 {
		w.memo.remember(key, upheld)
	}
}

func (w *word) readParts(s *source, v any, how judging) (parts []spec.Event) {
	for _, site := range w.parts {
		for _, found := range all(v, site.path) {
			list, ok := found.([]any)
			if !ok && found != nil {
				list = []any{found}
			}
			for _, item := range list {
				if word := choose(site.words, item); word != nil && (word.kind != "" || !site.named) {
					part := spec.Event{Frame: -1}
					word.read(s, &part, item, how)
					part.Violations = nil // the whole was validated, with its parts in it
					parts = append(parts, part)
				}
			}
		}
	}
	return parts
}

// upheld are the requirements that v exercises and does not break.
func (w *word) upheld(v any, broken []spec.Violation) (ids []string) {
	for _, law := range w.laws {
		if slices.Contains(ids, law.id) || slices.ContainsFunc(broken, func(b spec.Violation) bool { return b.Requirement == law.id }) {
			continue
		}
		if law.exercised(v) {
			ids = append(ids, law.id)
		}
	}
	return ids
}

func (l lawSite) exercised(v any) bool {
	if l.form != nil {
		return slices.ContainsFunc(all(v, l.path), func(v any) bool { return l.form(v) == nil })
	}
	if len(l.path) == 0 {
		return true
	}
	if l.required {
		v := at(v, l.path[:len(l.path)-1])
		return v != nil
	}
	return slices.ContainsFunc(all(v, l.path), func(v any) bool { return v != nil })
}
