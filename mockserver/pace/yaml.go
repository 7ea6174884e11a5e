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

// UnmarshalYAML implements the unmarshaler interface of goccy/go-yaml by [Parse].
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

// Parse returns the pace given by a decoded YAML or JSON value such as {first: 300ms, rate:
// 40, jitter: {lognormal: 0.3}, burst: 5, chunk: words, speed: 2}. It returns an error for
// unknown fields, wrong types and values out of range.
func Parse(v any) (Pace, error) {
	var p Pace
	m, ok := v.(map[string]any)
	if !ok {
		return p, fmt.Errorf("invalid pace: got %s, want an object with %s", describe(v), sortedNames(paceReaders))
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

// paceReaders maps the fields of a pace to their parsers.
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

// jitterReaders maps the fields of a jitter to their parsers.
var jitterReaders = map[string]func(j *Jitter, v any) error{
	"fixed":     func(j *Jitter, v any) error { return readDuration(&j.Fixed, v) },
	"uniform":   func(j *Jitter, v any) error { return readNumber(&j.Uniform, v) },
	"lognormal": func(j *Jitter, v any) error { return readNumber(&j.Lognormal, v) },
}

// read sets j to the decoded value v.
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

// read sets c to the decoded value v.
func (c *Chunk) read(v any) error {
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
		*c = Chunk(n)
	}
	return nil
}

// readDuration sets *to to a duration in the syntax of time.ParseDuration. The number 0 is
// also accepted.
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

// readNumber sets *to to a finite number.
func readNumber(to *float64, v any) error {
	n, ok := toFloat(v)
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		return fmt.Errorf("got %s, want a number", describe(v))
	}
	*to = n
	return nil
}

// readInt sets *to to an integer.
func readInt(to *int, v any) error {
	n, ok := toFloat(v)
	if !ok || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return fmt.Errorf("got %s, want an integer", describe(v))
	}
	*to = int(n)
	return nil
}

// toFloat returns a number of any type that YAML and JSON decoders return, or reports false.
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

// describe returns a short description of a decoded value for error messages.
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

// sortedNames returns the sorted keys of m, separated by commas.
func sortedNames[T any](m map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
