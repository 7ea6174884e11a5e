package mockserver

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/internal/pace"
)

// overrides holds the settings that the X-Mock headers of a single request specify:
//
//	X-Mock-Seed: 7                          seed of the random choices
//	X-Mock-Fault: abort; event=3, drip      faults, named as in the output of `streamassay list faults`
//	X-Mock-Pace: {first: 300ms, rate: 40}   pace, as in a script
//	X-Mock-Vary: 7                          seed of the variations of the encoding, or "off"
//	X-Mock-Hold: 3                          index of the first event that is held, counting from 0
type overrides struct {
	RuntimeSettings      // the values of the headers; a field is nil if its header is absent
	varyOff         bool // the value of X-Mock-Vary is "off", so the encoding is not varied, whatever the settings are
}

// maxOverrideHeader is the maximum length, in bytes, of the value of an X-Mock header. For a longer
// value, parseOverrides returns an error.
const maxOverrideHeader = 4096

// overrideHeaders maps the name of each X-Mock header to the function that parses its value.
var overrideHeaders = map[string]func(*overrides, string) error{
	seedHeader:     func(o *overrides, text string) error { return parseInto(&o.Seed, text, ParseSeed) },
	"X-Mock-Fault": func(o *overrides, text string) error { return parseInto(&o.Faults, text, fault.Parse) },
	"X-Mock-Pace":  func(o *overrides, text string) error { return parseInto(&o.Pace, text, ParsePace) },
	"X-Mock-Vary": func(o *overrides, text string) error {
		if o.varyOff = text == "off"; o.varyOff {
			return nil
		}
		err := parseInto(&o.Vary, text, ParseSeed)
		if err != nil {
			err = fmt.Errorf("%w; off turns variation off", err)
		}
		return err
	},
	"X-Mock-Hold": func(o *overrides, text string) error { return parseInto(&o.Hold, text, parseEventNumber) },
}

// parseInto calls parse with text, sets *to to a pointer to the result, and returns the error of
// parse. After an error, the caller must not use *to.
func parseInto[T any](to **T, text string, parse func(text string) (T, error)) error {
	v, err := parse(text)
	*to = &v
	return err
}

// parseOverrides returns the settings that the X-Mock headers in h specify. It returns an error if
// an X-Mock header is unknown, repeated or invalid.
func parseOverrides(h http.Header) (o overrides, err error) {
	for name, values := range h {
		if !strings.HasPrefix(name, "X-Mock-") {
			continue
		}
		read, known := overrideHeaders[name]
		switch {
		case !known:
			names := slices.Collect(maps.Keys(overrideHeaders))
			return o, fmt.Errorf("unknown header %.60s%s", name, near.Suggest(name, names))
		case len(values) > 1:
			return o, fmt.Errorf("header %s occurs %d times, want 1", name, len(values))
		case len(values[0]) > maxOverrideHeader:
			return o, fmt.Errorf("header %s has %d bytes, want at most %d", name, len(values[0]), maxOverrideHeader)
		}
		if err = read(&o, values[0]); err != nil {
			return o, fmt.Errorf("%s: %w", name, err)
		}
	}
	return o, nil
}

// ParsePace parses a pace in the YAML form that scripts use, such as "{first: 300ms, rate: 40}". It
// returns an error if text is not valid YAML or does not describe a pace that [pace.Parse] accepts.
func ParsePace(text string) (pace.Pace, error) {
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return pace.Pace{}, fmt.Errorf("invalid pace %.100q (e.g. {first: 300ms, rate: 40})", text)
	}
	return pace.Parse(value)
}

// parseEventNumber parses the index of an event in its stream, counted from 0. It returns an error
// if text is not a non-negative integer.
func parseEventNumber(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("invalid event number %.40q (want an integer, 0 or more)", text)
	}
	return n, nil
}

// ParseSeed parses a seed, which is a decimal integer from 0 to 2^53-1. JSON parsers represent
// these integers exactly. ParseSeed returns an error for any other text.
func ParseSeed(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil {
		return 0, fmt.Errorf("invalid seed %.40q (want an integer from 0 to %d)", text, uint64(1)<<53-1)
	}
	return n, nil
}
