package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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
		return errors.New("must be a number of bytes above 0 (e.g. 65536, 64KiB, 1MiB)")
	}
	*s = byteSize(n) * unit
	return nil
}

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
	to      *string
	allowed []string
}

// Set sets the value to text, or returns an error that lists the allowed words if text is not one
// of them.
func (c *enumValue) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return errors.New("must be one of " + strings.Join(c.allowed, ", "))
	}
	*c.to = text
	return nil
}

func (c *enumValue) Type() string   { return strings.Join(c.allowed, "|") }
func (c *enumValue) String() string { return *c.to }

// A boundedInt is the value of a flag that takes a whole number from min to max. If zero is not "",
// it is the meaning of the number 0, which is then valid too.
type boundedInt struct {
	to       *int
	min, max int
	zero     string
}

// Set sets the value to the number in text. It returns an error if text is not a valid number.
func (c *boundedInt) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		return errors.New("must be a whole number")
	case c.zero != "" && (n < 0 || int(n) > c.max):
		return fmt.Errorf("must be from %d to %d, or 0 for %s", c.min, c.max, c.zero)
	case c.zero == "" && (int(n) < c.min || int(n) > c.max):
		return fmt.Errorf("must be from %d to %d", c.min, c.max)
	}
	*c.to = int(n)
	return nil
}

func (c *boundedInt) Type() string   { return "N" }
func (c *boundedInt) String() string { return strconv.Itoa(*c.to) }

// A boundedSize is the value of a flag that takes a number of bytes from min to max.
type boundedSize struct {
	to       *int
	min, max byteSize
}

// Set sets the value to the size in text. It returns an error if text is not a valid size.
func (s *boundedSize) Set(text string) error {
	var n byteSize
	if err := n.Set(text); err != nil {
		return err
	}
	if n < s.min || n > s.max {
		return fmt.Errorf("must be from %s to %s", &s.min, &s.max)
	}
	*s.to = int(n)
	return nil
}

func (s *boundedSize) Type() string   { return "SIZE" }
func (s *boundedSize) String() string { return new(byteSize(*s.to)).String() }

// A timeLimit is the value of a flag that takes a duration above 0 and up to [maxTimeout]. A
// duration of 0 means that the flag has no default and was not given.
type timeLimit struct{ to *time.Duration }

// maxTimeout is the largest valid timeLimit.
const maxTimeout = time.Hour

// Set sets the value to the duration in text. It returns an error if text is not a valid duration.
func (l *timeLimit) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxTimeout {
		return fmt.Errorf("must be a duration above 0 and up to %s (e.g. 500ms, 15s)", new(positiveDuration(maxTimeout)))
	}
	*l.to = d
	return nil
}

func (l *timeLimit) Type() string   { return "DURATION" }
func (l *timeLimit) String() string { return new(positiveDuration(*l.to)).String() }
