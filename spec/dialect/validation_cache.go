package dialect

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// A validationCache caches which values of a variant are valid, so that equal or similar events of
// a long stream are validated only once. It is safe for concurrent use.
//
// Values that differ only in insignificant members share an entry. A member is insignificant if the
// schema restricts only its type and bounds, and no other member depends on it.
type validationCache struct {
	boundedMembers map[string]valueBounds // bounds of the insignificant members, by name
	mu             sync.RWMutex
	entries        map[string][]string // key → ids of the requirements that values with that key exercise
}

// A valueBounds maps keywords to the inclusive bounds that a schema sets for the value of a member.
// The keywords are minimum, maximum, minLength and maxLength.
type valueBounds map[string]int

// Limits of a validationCache, so that it takes little memory: maxCached is the maximum number of
// entries, maxKeyBytes the maximum length of a key in bytes.
const (
	maxCached   = 256
	maxKeyBytes = 1 << 10
)

// simpleKeywords lists the schema keywords that restrict only the type of a value, or nothing at
// all. A member whose schema has no other keywords is insignificant for a validationCache.
var simpleKeywords = []string{
	"type", "description", "title", "default", "example", "examples", "deprecated", "readOnly", "writeOnly",
}

// newValidationCache returns an empty cache for the values of a variant. The argument f is the
// encoding of the variant, and schemas has all schemas that apply to its values as a whole.
func newValidationCache(f *objectEncoding, schemas []node) *validationCache {
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

// collectNames adds every string and every object key in v, a part of a schema, to names. Each of
// them may be the name of a member on which other members depend.
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

// valueBoundsOf returns the bounds for the value of the member f. ok is false if the schemas of the
// member restrict the value by more than its type and bounds.
func valueBoundsOf(f *memberEncoding) (b valueBounds, ok bool) {
	if f.variants != nil || f.object != nil {
		return nil, false
	}
	b = valueBounds{}
	for _, s := range f.schemas {
		for s := range followRefs(s) {
			for key := range s.object() {
				_, isSet := b[key]
				switch n, isNumber := intValue(s.get(key)); {
				case strings.HasPrefix(key, "x-") || key == "$ref" || slices.Contains(simpleKeywords, key):
				case isNumber && !isSet && slices.Contains([]string{"minimum", "maximum", "minLength", "maxLength"}, key):
					b[key] = n
				default: // a bound that is set twice included
					return nil, false
				}
			}
		}
	}
	return b, true
}

// contains reports whether v, a decoded JSON value, is a scalar within the bounds. If there is a
// minimum or a maximum, it returns false for a number with a fraction or an exponent.
func (b valueBounds) contains(v any) bool {
	switch v := v.(type) {
	case json.Number:
		if len(b) == 0 {
			return true
		}
		n, err := strconv.Atoi(string(v))
		return b.contain("minimum", "maximum", n, err == nil)
	case string:
		return len(b) == 0 || b.contain("minLength", "maxLength", utf8.RuneCountInString(v), true)
	case bool, nil:
		return true
	}
	return false
}

// contain reports whether n is within the bounds for the keywords low and high, such as "minLength"
// and "maxLength". If known is false, the number is unknown, and contain returns true only if b has
// neither bound.
func (b valueBounds) contain(low, high string, n int, known bool) bool {
	least, hasLeast := b[low]
	most, hasMost := b[high]
	return known && (!hasLeast || n >= least) && (!hasMost || n <= most) || !hasLeast && !hasMost
}

// keyOf returns the cache key of the value v. ok is false if v cannot be cached: it is not an
// object, one of its members is an object or array, or its key would be longer than maxKeyBytes.
func (m *validationCache) keyOf(v any) (key string, ok bool) {
	object, ok := v.(map[string]any)
	if !ok || len(object) > maxKeyBytes/2 { // a member takes at least two bytes
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

// lookup returns the ids of the requirements that values with the given key exercise, and true. The
// caller must not modify the slice. The second result is false if the cache has no entry for the
// key. It is then unknown whether values with that key are valid.
func (m *validationCache) lookup(key string) ([]string, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	exercised, ok := m.entries[key]
	return exercised, ok
}

// store records that values with the given key are valid and exercise the requirements with the ids
// in exercised. It retains exercised. It does nothing if the cache is full.
func (m *validationCache) store(key string, exercised []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.entries) < maxCached {
		m.entries[key] = exercised
	}
}
