package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// A byteSize is a number of bytes, as people write it.
type byteSize int64

// Units of sizes, the largest first.
var byteUnits = []struct {
	name  string
	bytes byteSize
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}

// maxByteSize is more than any machine holds, and far from where numbers end.
const maxByteSize = 1 << 50

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
		return errors.New("it is " + byteSizeSyntax)
	}
	*s = byteSize(n) * unit
	return nil
}

// byteSizeSyntax is what a size is, in words.
const byteSizeSyntax = "a number of bytes above 0, such as 65536, 64KiB or 1MiB"

// UnmarshalText reads a size from a file.
func (s *byteSize) UnmarshalText(text []byte) error { return s.Set(string(text)) }

func (s *byteSize) Type() string { return "SIZE" }

func (s *byteSize) String() string {
	for _, u := range byteUnits[:3] {
		if *s > 0 && *s%u.bytes == 0 {
			return fmt.Sprintf("%d%s", *s/u.bytes, u.name)
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// A positiveInt is a number of things above 0.
type positiveInt int

func (c *positiveInt) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return errors.New("it is a number above 0")
	}
	*c = positiveInt(n)
	return nil
}

func (c *positiveInt) Type() string { return "N" }
func (c *positiveInt) String() string {
	if *c == 0 {
		return "" // there is no default
	}
	return strconv.Itoa(int(*c))
}

// A positiveDuration is a time above 0.
type positiveDuration time.Duration

func (s *positiveDuration) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("it is a duration above 0, such as 500ms, 30s or 10m")
	}
	*s = positiveDuration(d)
	return nil
}

func (s *positiveDuration) Type() string { return "DURATION" }

func (s *positiveDuration) value() time.Duration { return time.Duration(*s) }

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

// A enumValue is one of some words.
type enumValue struct {
	value   string
	allowed []string
}

func (c *enumValue) Set(text string) error {
	for _, word := range c.allowed {
		if word == text {
			c.value = text
			return nil
		}
	}
	return errors.New("it is one of " + strings.Join(c.allowed, ", "))
}

func (c *enumValue) Type() string   { return strings.Join(c.allowed, "|") }
func (c *enumValue) String() string { return c.value }

var (
	_ pflag.Value = (*byteSize)(nil)
	_ pflag.Value = (*positiveInt)(nil)
	_ pflag.Value = (*positiveDuration)(nil)
	_ pflag.Value = (*enumValue)(nil)
)
