package pace

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Schedule computes the times at which the events of one stream are due, as offsets from the
// beginning of the stream. The times never decrease. A Schedule is not safe for concurrent use.
type Schedule struct {
	pace   Pace
	gap    float64       // time between two tokens, in nanoseconds
	rand   *rand.Rand    // source of the jitter; may be nil if the pace needs none
	tokens int64         // number of tokens so far
	delay  time.Duration // sum of the arguments of Delay
	last   time.Duration // latest time returned
}

// NewClock returns a schedule for a stream with pace p. The source of the jitter is r, which may be
// nil if p has neither uniform nor lognormal jitter.
func (p Pace) NewClock(r *rand.Rand) *Schedule {
	c := &Schedule{pace: p, rand: r}
	if p.Rate > 0 {
		c.gap = float64(time.Second) / p.Rate
	}
	return c
}

// NextToken returns the time at which the next token (delta of a text) is due, as an offset from
// the beginning of the stream. Each call counts as one token.
func (c *Schedule) NextToken() time.Duration {
	n := c.tokens
	c.tokens++
	if b := int64(c.pace.Burst); b > 1 && n%b != 0 {
		return c.last // same burst as the previous token
	}
	slot := float64(c.pace.First) + float64(n)*c.gap + c.jitter(n)
	c.last = max(c.last, addCapped(toDuration(slot), c.delay))
	return c.last
}

// NextEvent returns the time at which the next event that is not a token is due, as an offset from
// the beginning of the stream. That is the time of the preceding event, or 0 for the first event,
// plus the delays added with [Schedule.Delay] since then. NextEvent does not change c.
func (c *Schedule) NextEvent() time.Duration {
	return c.last
}

// Delay delays all further events by d, in addition to earlier delays. It does nothing if d is not
// positive.
func (c *Schedule) Delay(d time.Duration) {
	if d > 0 {
		c.delay = addCapped(c.delay, d)
		c.last = addCapped(c.last, d)
	}
}

// jitter returns the deviation of token n from its scheduled time, in nanoseconds. Tokens are
// counted from 0. The deviation is negative if the token is due earlier. It does not depend on the
// deviations of other tokens, so deviations do not accumulate.
func (c *Schedule) jitter(n int64) float64 {
	j := c.pace.Jitter
	switch {
	case j.Fixed > 0:
		if b := int64(max(c.pace.Burst, 1)); n/b%2 == 1 {
			return float64(j.Fixed)
		}
	case j.Uniform > 0 && c.gap > 0:
		return c.gap * j.Uniform * (2*c.rand.Float64() - 1)
	case j.Lognormal > 0 && c.gap > 0:
		s := j.Lognormal
		return c.gap * (math.Exp(s*c.rand.NormFloat64()-s*s/2) - 1)
	}
	return 0
}

// toDuration returns ns, a number of nanoseconds, as a Duration. It returns 0 for negative numbers
// and the longest Duration for numbers that are too large.
func toDuration(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(max(ns, 0))
}

// addCapped returns a+b, or the longest Duration if the sum overflows. Neither a nor b may be
// negative.
func addCapped(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
