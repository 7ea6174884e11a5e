package dialect

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A memo remembers which values of a word were found to fit its schema, so that a
// stream of a million deltas is not validated a million times. Two values are the
// same to it if they differ only in members of which the schema says nothing but
// their type and bounds, and which nothing else in the word depends on.
type memo struct {
	free  map[string]bounds // members by whose value nothing can be told
	mu    sync.RWMutex
	known map[string][]string // what a value looks like → what it upholds
}

// bounds are all that a schema says of the value of a member.
type bounds struct {
	low, high     *int
	short, longer *int // lengths of strings, in characters
}

// mostKnown bounds what a memo keeps; longestKey what it is worth to look up.
const (
	mostKnown  = 256
	longestKey = 1 << 10
)

// plainKeywords say nothing about a value beyond its type, or nothing at all.
var plainKeywords = []string{"type", "description", "title", "default", "example", "examples", "deprecated", "readOnly", "writeOnly"}

// memoOf looks for the members that can be left out of the comparison.
func memoOf(f *form, schemas []node) *memo {
	m := &memo{free: map[string]bounds{}, known: map[string][]string{}}
	entangled := map[string]bool{}
	for _, s := range schemas {
		for key, v := range s.deref().object() {
			if !slices.Contains([]string{"properties", "allOf", "required", "type"}, key) && !strings.HasPrefix(key, "x-") {
				mention(v, entangled)
			}
		}
	}
	for _, field := range f.fields {
		if b, ok := boundsOf(field); ok && !entangled[field.name] {
			m.free[field.name] = b
		}
	}
	return m
}

// mention notes every name in a part of a schema that may make one member depend
// on another.
func mention(v any, names map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			names[k] = true
			mention(member, names)
		}
	case []any:
		for _, member := range v {
			mention(member, names)
		}
	case string:
		names[v] = true
	}
}

// boundsOf is what the schemas of a member say of its value, if that is little.
func boundsOf(f *field) (b bounds, ok bool) {
	if f.parts != nil || f.inner != nil {
		return b, false
	}
	for _, s := range f.schemas {
		for s := range chain(s) {
			for key := range s.object() {
				switch n, isNumber := integer(s.get(key)); {
				case strings.HasPrefix(key, "x-") || key == "$ref" || slices.Contains(plainKeywords, key):
				case isNumber && key == "minimum":
					b.low = &n
				case isNumber && key == "maximum":
					b.high = &n
				case isNumber && key == "minLength":
					b.short = &n
				case isNumber && key == "maxLength":
					b.longer = &n
				default:
					return b, false
				}
			}
		}
	}
	return b, true
}

// chain is a node and what it refers to, one after the other.
func chain(n node) func(func(node) bool) {
	return func(yield func(node) bool) {
		for range 32 {
			if !yield(n) {
				return
			}
			ref, ok := n.object()["$ref"].(string)
			if !ok || !strings.HasPrefix(ref, "#/") {
				return
			}
			n = n.s.lookup(ref[1:])
		}
	}
}

// within says whether a value keeps to the bounds; a value that cannot be told is
// not.
func (b bounds) within(v any) bool {
	switch v := v.(type) {
	case json.Number:
		n, err := strconv.Atoi(string(v))
		if b.low == nil && b.high == nil {
			return true
		}
		return err == nil && (b.low == nil || n >= *b.low) && (b.high == nil || n <= *b.high)
	case string:
		if b.short == nil && b.longer == nil {
			return true
		}
		n := utf8.RuneCountInString(v)
		return (b.short == nil || n >= *b.short) && (b.longer == nil || n <= *b.longer)
	case bool, nil:
		return true
	}
	return false
}

// key is what a value looks like; ok is false where that is not worth asking.
func (m *memo) key(v any) (key string, ok bool) {
	object, ok := v.(map[string]any)
	if !ok || len(object) > longestKey/2 { // a member takes two bytes at the least
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
		if bounds, free := m.free[name]; free && bounds.within(v) {
			b = append(append(b, kindOf(v)...), 1)
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
		if len(b) > longestKey {
			return "", false
		}
	}
	return string(b), true
}

// fits says whether such a value was found to fit, and what it upholds.
func (m *memo) fits(key string) ([]string, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	upheld, ok := m.known[key]
	return upheld, ok
}

func (m *memo) remember(key string, upheld []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) < mostKnown {
		m.known[key] = upheld
	}
}
