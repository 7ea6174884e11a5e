package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// A size is a number of bytes, as people write it.
type size int64

// Units of sizes, the largest first.
var units = []struct {
	name  string
	bytes size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}

// mostSize is more than any machine holds, and far from where numbers end.
const mostSize = 1 << 50

func (s *size) Set(text string) error {
	number, unit := text, size(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || size(n) > mostSize/unit {
		return errors.New("it is " + sizeForm)
	}
	*s = size(n) * unit
	return nil
}

// sizeForm is what a size is, in words.
const sizeForm = "a number of bytes above 0, such as 65536, 64KiB or 1MiB"

// UnmarshalText reads a size from a file.
func (s *size) UnmarshalText(text []byte) error { return s.Set(string(text)) }

func (s *size) Type() string { return "SIZE" }

func (s *size) String() string {
	for _, u := range units[:3] {
		if *s > 0 && *s%u.bytes == 0 {
			return fmt.Sprintf("%d%s", *s/u.bytes, u.name)
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// A count is a number of things above 0.
type count int

func (c *count) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return errors.New("it is a number above 0")
	}
	*c = count(n)
	return nil
}

func (c *count) Type() string { return "N" }
func (c *count) String() string {
	if *c == 0 {
		return "" // there is no default
	}
	return strconv.Itoa(int(*c))
}

// A span is a time above 0.
type span time.Duration

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("it is a duration above 0, such as 500ms, 30s or 10m")
	}
	*s = span(d)
	return nil
}

func (s *span) Type() string { return "DURATION" }

func (s *span) duration() time.Duration { return time.Duration(*s) }

func (s *span) String() string {
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

// A choice is one of some words.
type choice struct {
	value string
	of    []string
}

func (c *choice) Set(text string) error {
	for _, word := range c.of {
		if word == text {
			c.value = text
			return nil
		}
	}
	return errors.New("it is one of " + strings.Join(c.of, ", "))
}

func (c *choice) Type() string   { return strings.Join(c.of, "|") }
func (c *choice) String() string { return c.value }

var (
	_ pflag.Value = (*size)(nil)
	_ pflag.Value = (*count)(nil)
	_ pflag.Value = (*span)(nil)
	_ pflag.Value = (*choice)(nil)
)
