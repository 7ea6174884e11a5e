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

// mostText bounds what a text may be set to.
const mostText = 4096

// parse reads what a parameter is set to. What is out of bounds is refused.
func (p Param) parse(text string) (v value, err error) {
	v.text = text
	switch p.Type {
	case "int":
		if v.n, err = strconv.Atoi(text); err != nil {
			return v, fmt.Errorf("%q is no whole number%s", text, p.bounds())
		}
		if low, high := p.number(p.Min), p.number(p.Max); p.Min != "" && v.n < low || p.Max != "" && v.n > high {
			return v, fmt.Errorf("%d is out of bounds%s", v.n, p.bounds())
		}
	case "duration":
		if v.span, err = time.ParseDuration(text); err != nil {
			return v, fmt.Errorf("%q is no span of time, such as 250ms or 2s%s", text, p.bounds())
		}
		if low, high := p.span(p.Min), p.span(p.Max); p.Min != "" && v.span < low || p.Max != "" && v.span > high {
			return v, fmt.Errorf("%v is out of bounds%s", v.span, p.bounds())
		}
	default:
		return v, p.fits(text)
	}
	return v, nil
}

// fits checks a text.
func (p Param) fits(text string) error {
	if len(p.One) > 0 && !slices.Contains(p.One, text) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(p.One, ", "))
	}
	if len(text) > mostText {
		return fmt.Errorf("it has %d bytes: at most %d are taken", len(text), mostText)
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return errors.New("it has characters that cannot be printed")
	}
	if p.Check != nil {
		return p.Check(text)
	}
	return nil
}

func (p Param) number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func (p Param) span(s string) time.Duration {
	d, _ := time.ParseDuration(s)
	return d
}

// bounds says what would be right.
func (p Param) bounds() string {
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
