package pace

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
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

// MarshalJSON implements json.Marshaler. The result is an object with the fields of p that are set,
// in the form that [Parse] accepts.
func (p Pace) MarshalJSON() ([]byte, error) {
	object := map[string]any{}
	for _, f := range []struct {
		name  string
		isSet bool
		value any
	}{
		{"first", p.First != 0 || p.set&setFirst != 0, p.First.String()},
		{"rate", p.Rate != 0 || p.set&setRate != 0, p.Rate},
		{"jitter", p.Jitter != Jitter{} || p.set&setJitter != 0, p.Jitter},
		{"burst", p.Burst != 0 || p.set&setBurst != 0, p.Burst},
		{"chunk", p.Chunk != 0 || p.set&setChunk != 0, p.Chunk},
		{"speed", p.Speed != 0 || p.set&setSpeed != 0, p.Speed},
	} {
		if f.isSet {
			object[f.name] = f.value
		}
	}
	return json.Marshal(object)
}

// IsZero reports whether no field of p is set.
func (p Pace) IsZero() bool { return p == Pace{} }

// MarshalJSON implements json.Marshaler. The result is an object with the fields of j that are not
// zero.
func (j Jitter) MarshalJSON() ([]byte, error) {
	object := map[string]any{}
	if j.Fixed != 0 {
		object["fixed"] = j.Fixed.String()
	}
	if j.Uniform != 0 {
		object["uniform"] = j.Uniform
	}
	if j.Lognormal != 0 {
		object["lognormal"] = j.Lognormal
	}
	return json.Marshal(object)
}

// MarshalJSON implements json.Marshaler. The result is a JSON number if c is a number of characters
// greater than 1, and otherwise the name that String returns.
func (c ChunkSize) MarshalJSON() ([]byte, error) {
	if c > 1 {
		return json.Marshal(int(c))
	}
	return json.Marshal(c.String())
}

// Parse returns the pace given by a decoded YAML or JSON value such as {first: 300ms, rate:
// 40, jitter: {lognormal: 0.3}, burst: 5, chunk: words, speed: 2}. It returns an error for
// unknown fields, wrong types and values out of range.
func Parse(v any) (Pace, error) {
	var p Pace
	m, ok := v.(map[string]any)
	if !ok {
		return p, fmt.Errorf("invalid pace: got %s, want an object such as {first: 300ms, rate: 40}, with any of %s",
			describe(v), sortedNames(paceReaders))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		read, known := paceReaders[name]
		if !known {
			return p, fmt.Errorf("unknown field %s of a pace (want %s)", name, sortedNames(paceReaders))
		}
		if err := read(&p, m[name]); err != nil {
			return p, fmt.Errorf("%s: %w", name, err)
		}
	}
	return p, p.Check()
}

// paceReaders maps the name of each field of a pace to the function that parses its decoded value v
// and stores it in p. The function returns an error if v has the wrong type or is not a value that
// the field can have. [Pace.Check] checks the range of numbers.
var paceReaders = map[string]func(p *Pace, v any) error{
	"first":  func(p *Pace, v any) error { p.set |= setFirst; return readDuration(&p.First, v) },
	"rate":   func(p *Pace, v any) error { p.set |= setRate; return readNumber(&p.Rate, v) },
	"jitter": func(p *Pace, v any) error { p.set |= setJitter; return p.Jitter.read(v) },
	"burst":  func(p *Pace, v any) error { p.set |= setBurst; return readInt(&p.Burst, v) },
	"chunk":  func(p *Pace, v any) error { p.set |= setChunk; return p.Chunk.read(v) },
	"speed": func(p *Pace, v any) error {
		p.set |= setSpeed
		if err := readNumber(&p.Speed, v); err != nil || p.Speed != 0 {
			return err
		}
		return fmt.Errorf("invalid speed 0 (1: as recorded, 2: twice as fast)")
	},
}

// jitterReaders maps the name of each field of a jitter to the function that parses its decoded
// value v and stores it in j. The function returns an error if v has the wrong type.
var jitterReaders = map[string]func(j *Jitter, v any) error{
	"fixed":     func(j *Jitter, v any) error { return readDuration(&j.Fixed, v) },
	"uniform":   func(j *Jitter, v any) error { return readNumber(&j.Uniform, v) },
	"lognormal": func(j *Jitter, v any) error { return readNumber(&j.Lognormal, v) },
}

// read sets the fields of j from v, a decoded YAML or JSON object. It returns an error if v is not
// an object, or if a field is unknown or has the wrong type. It does not check whether values are
// in range; Check does.
func (j *Jitter) read(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("got %s, want an object with one of %s", describe(v), sortedNames(jitterReaders))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		read, known := jitterReaders[name]
		if !known {
			return fmt.Errorf("unknown field %s (want %s)", name, sortedNames(jitterReaders))
		}
		if err := read(j, m[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
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

// readDuration stores the decoded value v in *to. The value must be the number 0 or a string in the
// syntax of time.ParseDuration; otherwise readDuration returns an error and leaves *to unchanged.
func readDuration(to *time.Duration, v any) error {
	if n, ok := toFloat(v); ok && n == 0 {
		*to = 0
		return nil
	}
	text, ok := v.(string)
	d, err := time.ParseDuration(text)
	if !ok || err != nil {
		return fmt.Errorf("got %s, want a duration (e.g. 300ms, 1.5s, 2m)", describe(v))
	}
	*to = d
	return nil
}

// readNumber stores the decoded value v in *to. If v is not a finite number, it returns an error
// and leaves *to unchanged.
func readNumber(to *float64, v any) error {
	n, ok := toFloat(v)
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		return fmt.Errorf("got %s, want a number", describe(v))
	}
	*to = n
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
// object", "a list", or the value itself, cut off if it is long.
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

// sortedNames returns the keys of m in alphabetical order, joined by commas.
func sortedNames[T any](m map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
