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

// UnmarshalYAML reads a pace strictly: what is not known, of another type or out of
// bounds is refused, never bent.
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

// Parse reads a pace from what a script holds: {first: 300ms, rate: 40, jitter:
// {lognormal: 0.3}, burst: 5, chunk: words, speed: 2}.
func Parse(v any) (Pace, error) {
	var p Pace
	m, ok := v.(map[string]any)
	if !ok {
		return p, fmt.Errorf("a pace is an object of %s; this is %s", sortedNames(paceReaders), describe(v))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		read, known := paceReaders[name]
		if !known {
			return p, fmt.Errorf("%s is not part of a pace: known are %s", name, sortedNames(paceReaders))
		}
		if err := read(&p, m[name]); err != nil {
			return p, fmt.Errorf("%s: %w", name, err)
		}
	}
	return p, p.Check()
}

// paceReaders are what a pace has in a script.
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
		return fmt.Errorf("0 is not possible: 1 is as recorded, 2 twice as fast")
	},
}

var jitterReaders = map[string]func(j *Jitter, v any) error{
	"fixed":     func(j *Jitter, v any) error { return readDuration(&j.Fixed, v) },
	"uniform":   func(j *Jitter, v any) error { return readNumber(&j.Uniform, v) },
	"lognormal": func(j *Jitter, v any) error { return readNumber(&j.Lognormal, v) },
}

func (j *Jitter) read(v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("it is an object of one of %s; this is %s", sortedNames(jitterReaders), describe(v))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		read, known := jitterReaders[name]
		if !known {
			return fmt.Errorf("%s is not known: known are %s", name, sortedNames(jitterReaders))
		}
		if err := read(j, m[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

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
			return fmt.Errorf("%s is not possible: words, characters, whole, or a number of characters from 1", describe(v))
		}
		*c = Chunk(n)
	}
	return nil
}

// readDuration reads a duration as Go spells it; 0 needs no unit.
func readDuration(to *time.Duration, v any) error {
	if n, ok := toFloat(v); ok && n == 0 {
		*to = 0
		return nil
	}
	text, ok := v.(string)
	d, err := time.ParseDuration(text)
	if !ok || err != nil {
		return fmt.Errorf("%s is not a duration: 300ms, 1.5s or 2m is", describe(v))
	}
	*to = d
	return nil
}

func readNumber(to *float64, v any) error {
	n, ok := toFloat(v)
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		return fmt.Errorf("%s is not a number", describe(v))
	}
	*to = n
	return nil
}

func readInt(to *int, v any) error {
	n, ok := toFloat(v)
	if !ok || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return fmt.Errorf("%s is not a whole number", describe(v))
	}
	*to = int(n)
	return nil
}

// toFloat is a number as readers of YAML and JSON give it.
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

// describe shows what stood there; of much, the beginning.
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

func sortedNames[T any](m map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
