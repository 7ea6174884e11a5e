package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// A byteSize is the value of a flag that takes a number of bytes, written as 65536, 64KiB or 64kB.
type byteSize int64

// byteUnits lists the units of sizes: first the binary units, then the decimal ones, each from
// large to small.
var byteUnits = []struct {
	name  string
	bytes byteSize
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}

// maxByteSize is the largest valid byteSize: 1 PiB, far below the overflow of int64.
const maxByteSize = 1 << 50

// Set sets s to the size in text, such as 65536, 64KiB or 64kB. It returns an error if text is not
// a size above 0.
func (s *byteSize) Set(text string) error {
	number, unit := text, byteSize(1)
	for _, u := range byteUnits {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || byteSize(n) > maxByteSize/unit {
		return errors.New("must be " + byteSizeSyntax)
	}
	*s = byteSize(n) * unit
	return nil
}

// byteSizeSyntax describes the syntax of sizes in error messages.
const byteSizeSyntax = "a number of bytes above 0 (e.g. 65536, 64KiB, 1MiB)"

// UnmarshalText sets s to a size in a --config file, which has the same syntax as in flags.
func (s *byteSize) UnmarshalText(text []byte) error { return s.Set(string(text)) }

func (s *byteSize) Type() string { return "SIZE" }

// String returns the size as a multiple of the largest binary unit that divides it, such as
// "64KiB", or as a number of bytes without a unit if none does.
func (s *byteSize) String() string {
	for _, u := range byteUnits[:3] {
		if *s > 0 && *s%u.bytes == 0 {
			return fmt.Sprintf("%d%s", *s/u.bytes, u.name)
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// A positiveInt is the value of a flag that takes a whole number above 0. The value 0 means that
// the flag has no default and was not given.
type positiveInt int

// Set sets c to the number in text. It returns an error if text is not a whole number above 0.
func (c *positiveInt) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return errors.New("must be a whole number above 0")
	}
	*c = positiveInt(n)
	return nil
}

func (c *positiveInt) Type() string { return "N" }
func (c *positiveInt) String() string {
	if *c == 0 {
		return "" // no default
	}
	return strconv.Itoa(int(*c))
}

// A positiveDuration is the value of a flag that takes a duration above 0.
type positiveDuration time.Duration

// Set sets s to the duration in text, in the syntax of [time.ParseDuration]. It returns an error if
// the duration is invalid or not above 0.
func (s *positiveDuration) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("must be a duration above 0 (e.g. 500ms, 30s, 10m)")
	}
	*s = positiveDuration(d)
	return nil
}

func (s *positiveDuration) Type() string { return "DURATION" }

func (s *positiveDuration) value() time.Duration { return time.Duration(*s) }

// String returns the duration without zero units at its end, such as "10m" instead of "10m0s".
func (s *positiveDuration) String() string {
	if *s == 0 {
		return "0"
	}
	text := time.Duration(*s).String() // 10m0s, 2h0m0s
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// An enumValue is the value of a flag that takes one of a fixed set of words.
type enumValue struct {
	value   string
	allowed []string
}

// Set sets the value to text, or returns an error that lists the allowed words if text is not one
// of them.
func (c *enumValue) Set(text string) error {
	for _, word := range c.allowed {
		if word == text {
			c.value = text
			return nil
		}
	}
	return errors.New("must be one of " + strings.Join(c.allowed, ", "))
}

func (c *enumValue) Type() string   { return strings.Join(c.allowed, "|") }
func (c *enumValue) String() string { return c.value }

var (
	_ pflag.Value = (*byteSize)(nil)
	_ pflag.Value = (*positiveInt)(nil)
	_ pflag.Value = (*positiveDuration)(nil)
	_ pflag.Value = (*enumValue)(nil)
)
