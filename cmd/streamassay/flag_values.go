package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// A typedFlagValue is a [pflag.Value] that stores the value of a flag in a variable of type T.
type typedFlagValue[T any] struct {
	to     *T                           // the variable; its value before Set is called is the default of the flag
	name   string                       // name of the type in help texts, such as "SIZE"
	parse  func(text string) (T, error) // converts the value of the flag; errors say what a value must be
	format func(T) string               // converts the variable to text for the help; returns "" if there is no default
}

// Set parses text and stores the result in the variable. If text is invalid, Set returns an error
// and leaves the variable unchanged.
func (v *typedFlagValue[T]) Set(text string) error {
	x, err := v.parse(text)
	if err == nil {
		*v.to = x
	}
	return err
}

func (v *typedFlagValue[T]) Type() string   { return v.name }
func (v *typedFlagValue[T]) String() string { return v.format(*v.to) }

// sizeValue returns a [pflag.Value] that stores a number of bytes above 0 in *to. The flag accepts
// numbers such as 65536, 64KiB or 64kB. The initial value of *to is the default of the flag; 0
// means that there is no default.
func sizeValue[T int | int64](to *T) pflag.Value { return boundedSize(to, 1, maxSize) }

// boundedSize is like sizeValue, but accepts only numbers of bytes from min to max, both inclusive.
func boundedSize[T int | int64](to *T, min, max int64) pflag.Value {
	return &typedFlagValue[T]{to, "SIZE", func(text string) (T, error) {
		n, err := parseSize(text)
		if err == nil && (n < min || n > max) {
			err = fmt.Errorf("must be from %s to %s", formatSize(min), formatSize(max))
		}
		return T(n), err
	}, func(n T) string { return formatSize(int64(n)) }}
}

// byteUnits lists the units in which a size can be given, and the number of bytes of each. The
// first three are the binary units, from large to small. The last one is "B", since all names end
// with it.
var byteUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}}

// maxSize is the largest size, in bytes, that parseSize accepts: 1 PiB, well within the range of
// int64.
const maxSize = 1 << 50

// parseSize returns the number of bytes that text stands for, such as 65536 for "64KiB". It returns
// an error if text is not a size from 1 to [maxSize].
func parseSize(text string) (int64, error) {
	number, unit := text, int64(1)
	for _, u := range byteUnits {
		if n, ok := strings.CutSuffix(text, u.name); ok {
			number, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > maxSize/unit {
		return 0, errors.New("must be a whole number of bytes above 0, optionally with KiB, MiB, GiB, kB, MB or GB " +
			"(e.g. 65536, 64KiB, 10MB)")
	}
	return n * unit, nil
}

// formatSize returns n, a number of bytes, as a multiple of the largest binary unit that divides n,
// such as "64KiB". If no binary unit divides n, the result is a number of bytes, such as "1000B".
// If n is 0, which stands for a flag without a default, the result is "".
func formatSize(n int64) string {
	if n == 0 {
		return ""
	}
	for _, u := range byteUnits[:3] {
		if n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}

// countValue returns a [pflag.Value] that stores a whole number above 0 in *to. The initial value
// of *to is the default of the flag; 0 means that there is no default.
func countValue(to *int) pflag.Value {
	return &typedFlagValue[int]{to, "N", func(text string) (int, error) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			err = errors.New("must be a whole number above 0")
		}
		return int(n), err
	}, func(n int) string { return strings.TrimPrefix(strconv.Itoa(n), "0") }}
}

// boundedInt returns a [pflag.Value] that stores a whole number from min to max, both inclusive, in
// *to. The initial value of *to is the default of the flag.
func boundedInt(to *int, min, max int) pflag.Value {
	return describedInt(to, min, max, fmt.Sprintf("from %d to %d", min, max))
}

// describedInt is like boundedInt, but its error messages describe the valid numbers with the text
// valid, such as "from 1 to 9".
func describedInt(to *int, min, max int, valid string) pflag.Value {
	return &typedFlagValue[int]{to, "N", func(text string) (int, error) {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return 0, errors.New("must be a whole number " + valid)
		}
		if int(n) < min || int(n) > max {
			return 0, errors.New("must be " + valid)
		}
		return int(n), nil
	}, strconv.Itoa}
}

// durationValue returns a [pflag.Value] that stores a duration above 0 in *to. If max is not 0, the
// duration must not exceed max. The initial value of *to is the default of the flag; 0 means that
// there is no default.
func durationValue(to *time.Duration, max time.Duration) pflag.Value {
	syntax := "must be a duration above 0 (e.g. 500ms, 30s, 10m)"
	if max > 0 {
		syntax = fmt.Sprintf("must be a duration above 0 and up to %s (e.g. 500ms, 15s)", formatDuration(max))
	}
	return &typedFlagValue[time.Duration]{to, "DURATION", func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if _, notNumber := strconv.Atoi(text); notNumber == nil && text != "0" {
			err = fmt.Errorf("has no unit (want e.g. %ss)", text)
		} else if err != nil || d <= 0 || max > 0 && d > max {
			err = errors.New(syntax)
		}
		return d, err
	}, formatDuration}
}

// formatDuration returns d as text without zero units at the end, such as "10m" instead of "10m0s".
// If d is 0, the result is "".
func formatDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	text := d.String() // 10m0s, 2h0m0s
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// wordValue returns a [pflag.Value] that stores one of the given words in *to. The initial value of
// *to is the default of the flag.
func wordValue(to *string, words ...string) pflag.Value {
	return &typedFlagValue[string]{to, strings.Join(words, "|"), func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", errors.New("must be one of " + strings.Join(words, ", "))
		}
		return text, nil
	}, func(word string) string { return word }}
}

// An assignmentsValue is the value of a repeatable flag that takes NAME=VALUE and sets the entry
// NAME of a map to VALUE. VALUE may contain any characters; white space around NAME is removed.
type assignmentsValue struct {
	to     *map[string]string // the map; Set creates it if it is nil
	syntax string             // what a value must be, for errors, such as "SCENARIO=TEXT"
	given  map[string]bool    // true for each NAME that was set with Set
}

// Set sets the entry NAME of the map to VALUE, where text is NAME=VALUE. It returns an error if
// text contains no "=", if NAME is empty, or if an earlier call set the same entry.
func (v *assignmentsValue) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	switch {
	case !ok || name == "":
		return errors.New("must be " + v.syntax)
	case v.given[name]:
		return fmt.Errorf("%q is given twice", name)
	case *v.to == nil:
		*v.to = map[string]string{}
	}
	if v.given == nil {
		v.given = map[string]bool{}
	}
	v.given[name], (*v.to)[name] = true, value
	return nil
}

// Type returns the name of the type in messages of package pflag.
func (v *assignmentsValue) Type() string { return "assignment" }

// String returns "", because the flag has no default that its help should show.
func (v *assignmentsValue) String() string { return "" }
