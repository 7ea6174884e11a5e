package pace

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// UnmarshalYAML implements the InterfaceUnmarshaler interface of goccy/go-yaml. It sets p to the
// pace that [Parse] returns for the decoded value. If unmarshal or [Parse] fails, it returns the
// error and leaves p unchanged.
func (p *Pace) UnmarshalYAML(unmarshal func(any) error) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	read, err := Parse(v)
	if err != nil {
		return err
	}
	*p = read
	return nil
}

// A namedField is one field of a [Pace] or a [Jitter], with the name that it has in scripts.
type namedField struct {
	name string // such as "rate"
	at   any    // pointer to the field
}

// value returns the field as a [reflect.Value] that can be read and set.
func (f namedField) value() reflect.Value { return reflect.ValueOf(f.at).Elem() }

// fields returns the fields of p in alphabetical order of their names.
func (p *Pace) fields() []namedField {
	return []namedField{
		{"burst", &p.Burst}, {"chunk", &p.Chunk}, {"first", &p.First},
		{"jitter", &p.Jitter}, {"rate", &p.Rate}, {"speed", &p.Speed},
	}
}

// fields returns the fields of j in alphabetical order of their names.
func (j *Jitter) fields() []namedField {
	return []namedField{{"fixed", &j.Fixed}, {"lognormal", &j.Lognormal}, {"uniform", &j.Uniform}}
}

// A fieldSet records which fields were present in a parsed value, so that Merge can distinguish an
// explicit zero from an absent field. Bit i stands for the field with index i in the list that
// Pace.fields or Jitter.fields returns.
type fieldSet uint8

// has reports whether the field with index i was present.
func (s fieldSet) has(i int) bool { return s&(1<<i) != 0 }

// MarshalJSON implements json.Marshaler. The result is an object with the fields of p that are set,
// in the form that [Parse] accepts.
func (p Pace) MarshalJSON() ([]byte, error) { return marshalFields(p.fields(), p.set) }

// MarshalJSON implements json.Marshaler. The result is an object with the fields of j that are not
// zero.
func (j Jitter) MarshalJSON() ([]byte, error) { return marshalFields(j.fields(), 0) }

// marshalFields returns a JSON object with the fields that are not zero, and those whose indexes
// are in set. Durations are written as strings such as "300ms".
func marshalFields(fields []namedField, set fieldSet) ([]byte, error) {
	object := map[string]any{}
	for i, f := range fields {
		if f.value().IsZero() && !set.has(i) {
			continue
		}
		object[f.name] = f.value().Interface()
		if d, ok := f.at.(*time.Duration); ok {
			object[f.name] = d.String()
		}
	}
	return json.Marshal(object)
}

// IsZero reports whether no field of p is set. A field is set if it is not zero, or if [Parse] read
// an explicit zero.
func (p Pace) IsZero() bool { return p == Pace{} }

// MarshalJSON implements json.Marshaler. The result is a JSON number if c is a number of characters
// greater than 1, and otherwise the name that String returns.
func (c ChunkSize) MarshalJSON() ([]byte, error) {
	if c > 1 {
		return json.Marshal(int(c))
	}
	return json.Marshal(c.String())
}

// Parse returns the pace that v describes. The value v is decoded YAML or JSON, such as {first:
// 300ms, rate: 40, jitter: {lognormal: 0.3}, burst: 5, chunk: words, speed: 2}. Parse returns an
// error for unknown fields, wrong types and values out of range.
func Parse(v any) (Pace, error) {
	var p Pace
	m, ok := v.(map[string]any)
	if !ok {
		return p, fmt.Errorf("invalid pace: got %s, want an object such as {first: 300ms, rate: 40}, with any of %s",
			describe(v), joinNames(p.fields()))
	}
	set, err := readFields(p.fields(), m, " of a pace")
	if err != nil {
		return p, err
	}
	if _, given := m["speed"]; given && p.Speed == 0 {
		return p, fmt.Errorf("speed: invalid speed 0 (1: as recorded, 2: twice as fast)")
	}
	p.set = set
	return p, p.Check()
}

// readFields sets fields from m, a decoded YAML or JSON object whose members have the names of
// fields. It returns the set of the fields for which m has a member. It returns an error if a
// member is unknown or has the wrong type. The argument owner ends the error text for an unknown
// member, such as " of a pace" in "unknown field x of a pace". readFields does not check whether
// values are in range; [Pace.Check] does.
func readFields(fields []namedField, m map[string]any, owner string) (set fieldSet, err error) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		i := slices.IndexFunc(fields, func(f namedField) bool { return f.name == name })
		if i < 0 {
			return set, fmt.Errorf("unknown field %s%s (want %s)", name, owner, joinNames(fields))
		}
		if err := fields[i].read(m[name]); err != nil {
			return set, fmt.Errorf("%s: %w", name, err)
		}
		set |= 1 << i
	}
	return set, nil
}

// read sets the field from v, a decoded YAML or JSON value. A duration is a string such as "300ms"
// or the number 0. read returns an error if v is not a value that the field can have, but does not
// check whether v is in range.
func (f namedField) read(v any) error {
	number, isNumber := toFloat(v)
	switch to := f.at.(type) {
	case *time.Duration:
		text, _ := v.(string)
		d, err := time.ParseDuration(text)
		if err != nil && !(isNumber && number == 0) {
			return fmt.Errorf("got %s, want a duration (e.g. 300ms, 1.5s, 2m)", describe(v))
		}
		*to = d
	case *float64:
		if !isNumber || math.IsNaN(number) || math.IsInf(number, 0) {
			return fmt.Errorf("got %s, want a number", describe(v))
		}
		*to = number
	case *int:
		return readInt(to, v)
	case *ChunkSize:
		return to.read(v)
	case *Jitter:
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("got %s, want an object with one of %s", describe(v), joinNames(to.fields()))
		}
		_, err := readFields(to.fields(), m, "")
		return err
	}
	return nil
}

// read sets c from v, a decoded YAML or JSON value: the string "words", "characters" or "whole", or
// a positive number of characters. It returns an error for any other value.
func (c *ChunkSize) read(v any) error {
	switch v {
	case "words":
		*c = Words
	case "characters":
		*c = Characters
	case "whole":
		*c = WholeText
	default:
		var n int
		if err := readInt(&n, v); err != nil || n < 1 {
			return fmt.Errorf("got %s, want words, characters, whole or a number of characters", describe(v))
		}
		*c = ChunkSize(n)
	}
	return nil
}

// readInt stores the decoded value v in *to. If v is not an integer, or its absolute value exceeds
// math.MaxInt32, it returns an error and leaves *to unchanged.
func readInt(to *int, v any) error {
	n, ok := toFloat(v)
	if !ok || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return fmt.Errorf("got %s, want an integer", describe(v))
	}
	*to = int(n)
	return nil
}

// toFloat returns v as a float64, and true, if v is a number of any type that YAML and JSON
// decoders produce. Otherwise it returns 0 and false.
func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case json.Number:
		n, err := v.Float64()
		return n, err == nil
	}
	return 0, false
}

// describe returns a short description of a decoded value for error messages: "nothing", "an
// object", "a list", or at most the first 60 characters of the value.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("%.60q", v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	text := fmt.Sprint(v)
	return text[:min(len(text), 60)]
}

// joinNames returns the names of fields, separated by a comma and a space.
func joinNames(fields []namedField) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
