// Package pace computes the timing of streamed replies: the delay of the first token, the rate of
// the others, jitter and bursts. Times are offsets from the beginning of the stream rather than
// from the preceding event, so that a late event does not delay the following ones. The package
// itself neither waits nor reads the clock.
package pace

import (
	"fmt"
	"math"
	"time"
)

// A Pace describes the timing of a streamed reply. With the zero value, all events are due
// immediately. A field counts as set if it is not zero, or if [Parse] read an explicit zero; see
// [Pace.Merge].
type Pace struct {
	First  time.Duration // time from the beginning to the first token
	Rate   float64       // tokens per second; 0: no time between tokens
	Jitter Jitter
	Burst  int       // number of tokens sent together; 0 means 1
	Chunk  ChunkSize // how texts are split into tokens
	Speed  float64   // factor for recorded timing: 2 is twice as fast; 0 means 1

	set fieldSet // the fields that Parse read, including those with the value zero
}

// A Jitter describes how far tokens deviate from the times that [Pace.Rate] defines. The deviation
// of a token does not depend on those of earlier tokens, so deviations do not accumulate. Their
// mean is 0, except with Fixed. All tokens of a burst have the same deviation. A token is never due
// before the preceding token. At most one field may be set; with the zero value, tokens do not
// deviate.
type Jitter struct {
	// Fixed is the delay of the second, fourth, sixth, ... token, or of the second, fourth,
	// sixth, ... burst if [Pace.Burst] is greater than 1.
	Fixed time.Duration
	// Uniform is the maximum deviation in either direction, as a fraction of the time between
	// two tokens. Deviations are distributed uniformly.
	Uniform float64
	// Lognormal is the parameter sigma of the lognormal distribution with mean 1. The deviation
	// of a token is a random value of this distribution, minus 1, times the time between two
	// tokens.
	Lognormal float64
}

// A ChunkSize is the unit in which a text is split into tokens: Words, WholeText or, if the value
// is positive, a number of characters (code points) per token. The zero value is equivalent to
// Words.
type ChunkSize int

// Named values of ChunkSize. Every other positive value is a number of characters.
const (
	Words      ChunkSize = -1 // a word with the preceding spaces
	WholeText  ChunkSize = -2 // the complete text
	Characters ChunkSize = 1  // a single character
)

// String returns the chunk size in the form that scripts use: "words", "whole", "characters" or a
// number of characters.
func (c ChunkSize) String() string {
	switch c {
	case 0, Words:
		return "words"
	case WholeText:
		return "whole"
	case Characters:
		return "characters"
	}
	return fmt.Sprint(int(c))
}

// Limits of the fields of a Pace, which keep the computed times finite. Check and Parse reject
// values outside these limits.
const (
	maxDuration = 24 * time.Hour // First, Jitter.Fixed
	minRate     = 0.001          // Rate and Speed, unless they are 0
	maxRate     = 1_000_000      // tokens per second
	maxSigma    = 3              // Jitter.Lognormal
	maxBurst    = 100_000        // tokens
	maxChunk    = 1 << 20        // characters
	maxSpeed    = 1_000_000
)

// Check returns an error if a field of p is out of range, or if more than one field of the jitter
// is set. The error names the first invalid field.
func (p Pace) Check() error {
	switch {
	case p.First < 0 || p.First > maxDuration:
		return rangeError("first", p.First, time.Duration(0), maxDuration)
	case p.Rate != 0 && !inRange(p.Rate, minRate, maxRate):
		return fmt.Errorf("rate: %v is out of range (want 0 or %v to %d deltas per second)", p.Rate, minRate, maxRate)
	case p.Burst < 0 || p.Burst > maxBurst:
		return rangeError("burst", p.Burst, 0, maxBurst)
	case p.Chunk < WholeText || p.Chunk > maxChunk:
		return rangeError("chunk", int(p.Chunk), 1, maxChunk)
	case p.Speed != 0 && !inRange(p.Speed, minRate, maxSpeed):
		return rangeError("speed", p.Speed, minRate, float64(maxSpeed))
	}
	return p.Jitter.check()
}

// check returns an error if more than one field of j is set or if a field is out of range.
func (j Jitter) check() error {
	kinds := 0
	for _, set := range []bool{j.Fixed != 0, j.Uniform != 0, j.Lognormal != 0} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return fmt.Errorf("jitter: got %d kinds, want one of fixed, uniform and lognormal", kinds)
	case j.Fixed < 0 || j.Fixed > maxDuration:
		return rangeError("jitter.fixed", j.Fixed, time.Duration(0), maxDuration)
	case !inRange(j.Uniform, 0, 1):
		return rangeError("jitter.uniform", j.Uniform, 0, 1.0)
	case !inRange(j.Lognormal, 0, maxSigma):
		return rangeError("jitter.lognormal", j.Lognormal, 0, float64(maxSigma))
	}
	return nil
}

// inRange reports whether v lies between the bounds from and to, both included. It returns false if
// v is NaN.
func inRange(v, from, to float64) bool { return !math.IsNaN(v) && v >= from && v <= to }

// rangeError returns an error that states the name of a field, its value got and the range of valid
// values, which includes from and to.
func rangeError[T any](name string, got, from, to T) error {
	return fmt.Errorf("%s: %v is out of range (want %v to %v)", name, got, from, to)
}

// Merge returns a copy of p in which each field that is set in over has its value from over. A
// field is set if it is not zero, or if [Parse] read an explicit zero. The field Jitter is copied
// as a whole.
func (p Pace) Merge(over Pace) Pace {
	to := p.fields()
	for i, f := range over.fields() {
		if over.set.has(i) || !f.value().IsZero() {
			to[i].value().Set(f.value())
		}
	}
	p.set |= over.set
	return p
}

// IsInstant reports whether all events of a reply with pace p are due immediately.
func (p Pace) IsInstant() bool { return p.First == 0 && p.Rate == 0 && p.Jitter.Fixed == 0 }
