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

// parse converts text to a value of the parameter's type. It returns an error if text has the wrong
// type, is out of bounds or fails the parameter's own validation. The error does not contain the
// name of the parameter.
func (p Param) parse(text string) (v paramValue, err error) {
	v.text = text
	switch p.Type {
	case "int":
		if v.number, err = strconv.Atoi(text); err != nil {
			return v, fmt.Errorf("must be an integer%s, not %q", p.describeBounds(), text)
		}
		low, high := p.parseInt(p.Min), p.parseInt(p.Max)
		if p.Min != "" && v.number < low || p.Max != "" && v.number > high {
			return v, fmt.Errorf("must be an integer%s, not %d", p.describeBounds(), v.number)
		}
	case "duration":
		if v.duration, err = time.ParseDuration(text); err != nil {
			return v, fmt.Errorf("must be a duration%s, not %q (e.g. 250ms, 2s)", p.describeBounds(), text)
		}
		low, high := p.parseDuration(p.Min), p.parseDuration(p.Max)
		if p.Min != "" && v.duration < low || p.Max != "" && v.duration > high {
			return v, fmt.Errorf("must be a duration%s, not %v", p.describeBounds(), v.duration)
		}
	default:
		return v, p.validateText(text)
	}
	return v, nil
}

// validateText returns an error if text is not a valid value of the parameter, which has the type
// text: if Enum is not empty and does not contain it, if it is too long or not printable, or if
// Validate refuses it.
func (p Param) validateText(text string) error {
	if len(p.Enum) > 0 && !slices.Contains(p.Enum, text) {
		return fmt.Errorf("invalid value %q (want one of %s)", text, strings.Join(p.Enum, ", "))
	}
	if len(text) > maxTextSize {
		return fmt.Errorf("the text has %d bytes, want at most %d", len(text), maxTextSize)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return errors.New("the text contains control characters or invalid UTF-8")
	}
	if p.Validate != nil {
		return p.Validate(text)
	}
	return nil
}

// parseInt returns s, the Min or Max of an int parameter, as an integer. It returns 0 if s is "",
// which means that there is no bound; the caller must check for that.
func (p Param) parseInt(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// parseDuration returns s, the Min or Max of a duration parameter, as a duration. It returns 0 if s
// is "", which means that there is no bound; the caller must check for that.
func (p Param) parseDuration(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return d
}

// describeBounds returns the valid range of the parameter for the middle of an error message, such
// as " from 0 to 10", or "" if the range is unbounded.
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
