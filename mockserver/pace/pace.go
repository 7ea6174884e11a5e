// Package pace says when the pieces of a reply are due: the first token after some
// time, the others at a rate, with jitter and in bursts, or as they were recorded.
// It reckons on an absolute schedule and never looks at a clock: what is late does
// not make the rest late. The package does not wait, does not send, and does not know
// what the pieces say.
package pace

import (
	"fmt"
	"math"
	"time"
)

// A Pace is how fast a reply comes. The zero value is at once. A field that is zero
// says nothing, unless it was read from a script in which it stands as zero; see
// [Pace.Merge].
type Pace struct {
	First  time.Duration // how long after the beginning the first token is due
	Rate   float64       // tokens in a second; 0: all at once
	Jitter Jitter
	Burst  int     // so many tokens come together; 0 and 1: each alone
	Chunk  Chunk   // what a token is
	Speed  float64 // of recorded timing: 2 is twice as fast; 0: as recorded

	set fieldSet
}

// A Jitter is by how much tokens miss the times that the rate gives them. It never
// adds up: the rate stays what it is. At most one field is set.
type Jitter struct {
	Fixed     time.Duration // every other token is late by this, without chance
	Uniform   float64       // early or late by up to this part of the time between two tokens
	Lognormal float64       // the times between tokens scatter with this sigma: mostly a little early, sometimes very late
}

// A Chunk is what a text is cut into: so many characters, or one of the constants.
type Chunk int

// The chunks that are not numbers. The zero value is as Words.
const (
	Words      Chunk = -1 // a word with the spaces before it
	WholeText  Chunk = -2 // all of it
	Characters Chunk = 1
)

func (c Chunk) String() string {
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

// What is possible at most. What is beyond is refused.
const (
	maxDuration = 24 * time.Hour // First, Jitter.Fixed
	minRate     = 0.001
	maxRate     = 1_000_000
	maxSigma    = 3
	maxBurst    = 100_000
	maxChunk    = 1 << 20
	maxSpeed    = 1_000_000
)

// Check says what is wrong with a pace, and what would be right.
func (p Pace) Check() error {
	switch {
	case p.First < 0 || p.First > maxDuration:
		return rangeError("first", p.First, time.Duration(0), maxDuration)
	case p.Rate != 0 && !inRange(p.Rate, minRate, maxRate):
		return fmt.Errorf("rate: %v is not possible: 0 (all at once), or from %v to %d tokens a second", p.Rate, minRate, maxRate)
	case p.Burst < 0 || p.Burst > maxBurst:
		return rangeError("burst", p.Burst, 0, maxBurst)
	case p.Chunk < WholeText || p.Chunk > maxChunk:
		return rangeError("chunk", int(p.Chunk), 1, maxChunk)
	case p.Speed != 0 && !inRange(p.Speed, minRate, maxSpeed):
		return rangeError("speed", p.Speed, minRate, float64(maxSpeed))
	}
	return p.Jitter.check()
}

func (j Jitter) check() error {
	kinds := 0
	for _, set := range []bool{j.Fixed != 0, j.Uniform != 0, j.Lognormal != 0} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return fmt.Errorf("jitter: there are %d kinds of it, and one is possible: fixed, uniform or lognormal", kinds)
	case j.Fixed < 0 || j.Fixed > maxDuration:
		return rangeError("jitter.fixed", j.Fixed, time.Duration(0), maxDuration)
	case !inRange(j.Uniform, 0, 1):
		return rangeError("jitter.uniform", j.Uniform, 0, 1.0)
	case !inRange(j.Lognormal, 0, maxSigma):
		return rangeError("jitter.lognormal", j.Lognormal, 0, float64(maxSigma))
	}
	return nil
}

// inRange is false for what is no number at all.
func inRange(v, from, to float64) bool { return !math.IsNaN(v) && v >= from && v <= to }

func rangeError[T any](name string, got, from, to T) error {
	return fmt.Errorf("%s: %v is not possible: from %v to %v", name, got, from, to)
}

// Merge is p where over says nothing, and over where it does: p are the defaults.
func (p Pace) Merge(over Pace) Pace {
	if over.First != 0 || over.set&setFirst != 0 {
		p.First = over.First
	}
	if over.Rate != 0 || over.set&setRate != 0 {
		p.Rate = over.Rate
	}
	if over.Jitter != (Jitter{}) || over.set&setJitter != 0 {
		p.Jitter = over.Jitter
	}
	if over.Burst != 0 || over.set&setBurst != 0 {
		p.Burst = over.Burst
	}
	if over.Chunk != 0 || over.set&setChunk != 0 {
		p.Chunk = over.Chunk
	}
	if over.Speed != 0 || over.set&setSpeed != 0 {
		p.Speed = over.Speed
	}
	p.set |= over.set
	return p
}

// fieldSet are those that stood in a script, be it as zero.
type fieldSet uint8

const (
	setFirst fieldSet = 1 << iota
	setRate
	setJitter
	setBurst
	setChunk
	setSpeed
)

// IsInstant says that everything is due at once.
func (p Pace) IsInstant() bool { return p.First == 0 && p.Rate == 0 && p.Jitter.Fixed == 0 }
