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

// maxTextSize bounds what a text may be set to.
const maxTextSize = 4096

// parse reads what a parameter is set to. What is out of bounds is refused.
func (p Param) parse(text string) (v paramValue, err error) {
	v.text = text
	switch p.Type {
	case "int":
		if v.number, err = strconv.Atoi(text); err != nil {
			return v, fmt.Errorf("%q is no whole number%s", text, p.describeBounds())
		}
		if low, high := p.parseInt(p.Min), p.parseInt(p.Max); p.Min != "" && v.number < low || p.Max != "" && v.number > high {
			return v, fmt.Errorf("%d is out of bounds%s", v.number, p.describeBounds())
		}
	case "duration":
		if v.duration, err = time.ParseDuration(text); err != nil {
			return v, fmt.Errorf("%q is no span of time, such as 250ms or 2s%s", text, p.describeBounds())
		}
		if low, high := p.parseDuration(p.Min), p.parseDuration(p.Max); p.Min != "" && v.duration < low || p.Max != "" && v.duration > high {
			return v, fmt.Errorf("%v is out of bounds%s", v.duration, p.describeBounds())
		}
	default:
		return v, p.validateText(text)
	}
	return v, nil
}

// validateText checks a text.
func (p Param) validateText(text string) error {
	if len(p.Enum) > 0 && !slices.Contains(p.Enum, text) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(p.Enum, ", "))
	}
	if len(text) > maxTextSize {
		return fmt.Errorf("it has %d bytes: at most %d are taken", len(text), maxTextSize)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return errors.New("it has characters that cannot be printed")
	}
	if p.Validate != nil {
		return p.Validate(text)
	}
	return nil
}

func (p Param) parseInt(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func (p Param) parseDuration(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return d
}

// describeBounds says what would be right.
func (p Param) describeBounds() string {
	switch {
	case p.Min != "" && p.Max != "":
		return fmt.Sprintf(": from %s to %s is right", p.Min, p.Max)
	case p.Min != "":
		return fmt.Sprintf(": %s or more is right", p.Min)
	case p.Max != "":
		return fmt.Sprintf(": at most %s is right", p.Max)
	}
	return ""
}
