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

	said fields
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
	Whole      Chunk = -2 // all of it
	Characters Chunk = 1
)

func (c Chunk) String() string {
	switch c {
	case 0, Words:
		return "words"
	case Whole:
		return "whole"
	case Characters:
		return "characters"
	}
	return fmt.Sprint(int(c))
}

// What is possible at most. What is beyond is refused.
const (
	mostTime  = 24 * time.Hour // First, Jitter.Fixed
	leastRate = 0.001
	mostRate  = 1_000_000
	mostSigma = 3
	mostBurst = 100_000
	mostChunk = 1 << 20
	mostSpeed = 1_000_000
)

// Check says what is wrong with a pace, and what would be right.
func (p Pace) Check() error {
	switch {
	case p.First < 0 || p.First > mostTime:
		return outside("first", p.First, time.Duration(0), mostTime)
	case p.Rate != 0 && !within(p.Rate, leastRate, mostRate):
		return fmt.Errorf("rate: %v is not possible: 0 (all at once), or from %v to %d tokens a second", p.Rate, leastRate, mostRate)
	case p.Burst < 0 || p.Burst > mostBurst:
		return outside("burst", p.Burst, 0, mostBurst)
	case p.Chunk < Whole || p.Chunk > mostChunk:
		return outside("chunk", int(p.Chunk), 1, mostChunk)
	case p.Speed != 0 && !within(p.Speed, leastRate, mostSpeed):
		return outside("speed", p.Speed, leastRate, float64(mostSpeed))
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
	case j.Fixed < 0 || j.Fixed > mostTime:
		return outside("jitter.fixed", j.Fixed, time.Duration(0), mostTime)
	case !within(j.Uniform, 0, 1):
		return outside("jitter.uniform", j.Uniform, 0, 1.0)
	case !within(j.Lognormal, 0, mostSigma):
		return outside("jitter.lognormal", j.Lognormal, 0, float64(mostSigma))
	}
	return nil
}

// within is false for what is no number at all.
func within(v, from, to float64) bool { return !math.IsNaN(v) && v >= from && v <= to }

func outside[T any](name string, got, from, to T) error {
	return fmt.Errorf("%s: %v is not possible: from %v to %v", name, got, from, to)
}

// Merge is p where over says nothing, and over where it does: p are the defaults.
func (p Pace) Merge(over Pace) Pace {
	if over.First != 0 || over.said&saidFirst != 0 {
		p.First = over.First
	}
	if over.Rate != 0 || over.said&saidRate != 0 {
		p.Rate = over.Rate
	}
	if over.Jitter != (Jitter{}) || over.said&saidJitter != 0 {
		p.Jitter = over.Jitter
	}
	if over.Burst != 0 || over.said&saidBurst != 0 {
		p.Burst = over.Burst
	}
	if over.Chunk != 0 || over.said&saidChunk != 0 {
		p.Chunk = over.Chunk
	}
	if over.Speed != 0 || over.said&saidSpeed != 0 {
		p.Speed = over.Speed
	}
	p.said |= over.said
	return p
}

// fields are those that stood in a script, be it as zero.
type fields uint8

const (
	saidFirst fields = 1 << iota
	saidRate
	saidJitter
	saidBurst
	saidChunk
	saidSpeed
)

// Instant says that everything is due at once.
func (p Pace) Instant() bool { return p.First == 0 && p.Rate == 0 && p.Jitter.Fixed == 0 }
