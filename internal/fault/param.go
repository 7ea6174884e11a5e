package fault

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxTextSize is the maximum length of the value of a text parameter, in bytes.
const maxTextSize = 4096

// parse converts text to a value of the parameter's type. It returns an error if text is not a
// valid value of the parameter. The error does not contain the name of the parameter.
func (p Param) parse(text string) (v paramValue, err error) {
	v.text = text
	if p.Type != "int" && p.Type != "duration" {
		return v, p.validateText(text)
	}
	kind, hint := "an integer", ""
	if p.Type == "duration" {
		kind, hint = "a duration", " (e.g. 250ms, 2s)"
	}
	if v.number, err = p.parseNumber(text); err != nil {
		return v, fmt.Errorf("must be %s%s, not %q%s", kind, p.describeBounds(), text, hint)
	}
	low, noLow := p.parseNumber(p.Min)
	high, noHigh := p.parseNumber(p.Max)
	if noLow == nil && v.number < low || noHigh == nil && v.number > high {
		shown := strconv.FormatInt(v.number, 10)
		if p.Type == "duration" {
			shown = time.Duration(v.number).String()
		}
		return v, fmt.Errorf("must be %s%s, not %s", kind, p.describeBounds(), shown)
	}
	return v, nil
}

// parseNumber parses text as a value of the parameter, whose type is "int" or "duration". Durations
// have the format of [time.ParseDuration], such as "1.5s", and are returned in nanoseconds.
// parseNumber returns an error if text is not a value of the type. It does not check the range.
func (p Param) parseNumber(text string) (int64, error) {
	if p.Type == "duration" {
		d, err := time.ParseDuration(text)
		return int64(d), err
	}
	n, err := strconv.Atoi(text)
	return int64(n), err
}

// validateText returns an error if text is not a valid value of the parameter, whose type is
// "text". A value must have at most maxTextSize bytes and be valid UTF-8 without control
// characters. It must also be in Enum, unless Enum is empty, and be accepted by Validate, unless
// Validate is nil.
func (p Param) validateText(text string) error {
	switch {
	case len(p.Enum) > 0 && !slices.Contains(p.Enum, text):
		return fmt.Errorf("invalid value %q (want one of %s)", text, strings.Join(p.Enum, ", "))
	case len(text) > maxTextSize:
		return fmt.Errorf("the text has %d bytes, want at most %d", len(text), maxTextSize)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("the text contains control characters or invalid UTF-8")
	case p.Validate != nil:
		return p.Validate(text)
	}
	return nil
}

// describeBounds returns the valid range of the parameter for error messages, with a leading space,
// such as " from 0 to 10". It returns "" if p.Min and p.Max are "".
func (p Param) describeBounds() string {
	switch {
	case p.Min != "" && p.Max != "":
		return fmt.Sprintf(" from %s to %s", p.Min, p.Max)
	case p.Min != "":
		return fmt.Sprintf(" of %s or more", p.Min)
	case p.Max != "":
		return fmt.Sprintf(" of at most %s", p.Max)
	}
	return ""
}
