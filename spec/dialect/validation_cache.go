package dialect

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A validationCache remembers which values of a word were found to fit its schema, so that a
// stream of a million deltas is not validated a million times. Two values are the
// same to it if they differ only in members of which the schema says nothing but
// their type and bounds, and which nothing else in the word depends on.
type validationCache struct {
	boundedMembers map[string]valueBounds // members by whose value nothing can be told
	mu             sync.RWMutex
	entries        map[string][]string // what a value looks like → what it upholds
}

// valueBounds are all that a schema says of the value of a member.
type valueBounds struct {
	minimum, maximum     *int
	minLength, maxLength *int // lengths of strings, in characters
}

// maxCached bounds what a memo keeps; maxKeyBytes what it is worth to look up.
const (
	maxCached   = 256
	maxKeyBytes = 1 << 10
)

// simpleKeywords say nothing about a value beyond its type, or nothing at all.
var simpleKeywords = []string{"type", "description", "title", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"}

// newValidationCache looks for the members that can be left out of the comparison.
func newValidationCache(f *objectLayout, schemas []node) *validationCache {
	m := &validationCache{boundedMembers: map[string]valueBounds{}, entries: map[string][]string{}}
	dependent := map[string]bool{}
	for _, s := range schemas {
		for key, v := range s.deref().object() {
			if !slices.Contains([]string{"properties", "allOf", "required", "type"}, key) && !strings.HasPrefix(key, "x-") {
				collectNames(v, dependent)
			}
		}
	}
	for _, field := range f.fields {
		if b, ok := valueBoundsOf(field); ok && !dependent[field.name] {
			m.boundedMembers[field.name] = b
		}
	}
	return m
}

// collectNames notes every name in a part of a schema that may make one member depend
// on another.
func collectNames(v any, names map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			names[k] = true
			collectNames(member, names)
		}
	case []any:
		for _, member := range v {
			collectNames(member, names)
		}
	case string:
		names[v] = true
	}
}

// valueBoundsOf is what the schemas of a member say of its value, if that is little.
func valueBoundsOf(f *objectField) (b valueBounds, ok bool) {
	if f.variants != nil || f.object != nil {
		return b, false
	}
	for _, s := range f.schemas {
		for s := range followRefs(s) {
			for key := range s.object() {
				switch n, isNumber := intValue(s.get(key)); {
				case strings.HasPrefix(key, "x-") || key == "$ref" || slices.Contains(simpleKeywords, key):
				case isNumber && key == "minimum":
					b.minimum = &n
				case isNumber && key == "maximum":
					b.maximum = &n
				case isNumber && key == "minLength":
					b.minLength = &n
				case isNumber && key == "maxLength":
					b.maxLength = &n
				default:
					return b, false
				}
			}
		}
	}
	return b, true
}

// followRefs is a node and what it refers to, one after the other.
func followRefs(n node) func(func(node) bool) {
	return func(yield func(node) bool) {
		for range 32 {
			if !yield(n) {
				return
			}
			ref, ok := n.object()["$ref"].(string)
			if !ok || !strings.HasPrefix(ref, "#/") {
				return
			}
			n = n.doc.lookup(ref[1:])
		}
	}
}

// contains says whether a value keeps to the bounds; a value that cannot be told is
// not.
func (b valueBounds) contains(v any) bool {
	switch v := v.(type) {
	case json.Number:
		n, err := strconv.Atoi(string(v))
		if b.minimum == nil && b.maximum == nil {
			return true
		}
		return err == nil && (b.minimum == nil || n >= *b.minimum) && (b.maximum == nil || n <= *b.maximum)
	case string:
		if b.minLength == nil && b.maxLength == nil {
			return true
		}
		n := utf8.RuneCountInString(v)
		return (b.minLength == nil || n >= *b.minLength) && (b.maxLength == nil || n <= *b.maxLength)
	case bool, nil:
		return true
	}
	return false
}

// keyOf is what a value looks like; ok is false where that is not worth asking.
func (m *validationCache) keyOf(v any) (keyOf string, ok bool) {
	object, ok := v.(map[string]any)
	if !ok {
		return "", false
	}
	names := make([]string, 0, 16)
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	b := make([]byte, 0, 256)
	for _, name := range names {
		b = append(append(b, name...), 0)
		v := object[name]
		if bounds, free := m.boundedMembers[name]; free && bounds.contains(v) {
			b = append(append(b, jsonType(v)...), 1)
			continue
		}
		switch v := v.(type) {
		case string:
			b = strconv.AppendQuote(b, v)
		case json.Number:
			b = append(append(b, '#'), v...)
		case bool:
			b = strconv.AppendBool(b, v)
		case nil:
			b = append(b, "null"...)
		default:
			return "", false // not worth it
		}
		b = append(b, 1)
		if len(b) > maxKeyBytes {
			return "", false
		}
	}
	return string(b), true
}

// lookup says whether such a value was found to fit, and what it upholds.
func (m *validationCache) lookup(key string) ([]string, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	upheld, ok := m.entries[key]
	return upheld, ok
}

func (m *validationCache) store(key string, upheld []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.entries) < maxCached {
		m.entries[key] = upheld
	}
}
