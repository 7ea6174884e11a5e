package pace

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Clock computes the times at which the events of one stream are due, as offsets from the
// beginning of the stream. The times never decrease. A Clock is not safe for concurrent
// use.
type Clock struct {
	pace   Pace
	gap    float64 // time between two tokens in nanoseconds
	rand   *rand.Rand
	tokens int64         // number of tokens so far
	delay  time.Duration // sum of the arguments of Delay
	last   time.Duration // latest time returned

	recorded []time.Duration // offsets of a recorded stream; nil: computed from pace
	next     int             // index of the next offset in recorded
	speed    float64         // factor for recorded
}

// NewClock returns a clock for a stream with pace p. The clock draws the jitter from r, which may
// be nil if p has neither uniform nor lognormal jitter.
func (p Pace) NewClock(r *rand.Rand) *Clock {
	c := &Clock{pace: p, rand: r}
	if p.Rate > 0 {
		c.gap = float64(time.Second) / p.Rate
	}
	return c
}

// NewRecordedClock returns a clock that repeats the timing of a recorded stream. offsets holds the
// time of each recorded event, token or not, from the beginning of the stream; the clock retains
// the slice. Any further events are due together with the last recorded one. A speed of 2 means
// twice as fast as recorded; a speed that is not positive means 1.
func NewRecordedClock(offsets []time.Duration, speed float64) *Clock {
	if !(speed > 0) {
		speed = 1
	}
	if offsets == nil {
		offsets = []time.Duration{}
	}
	return &Clock{recorded: offsets, speed: speed}
}

// NextToken returns the time at which the next token (delta of a text) is due, as an offset from
// the beginning of the stream. Each call counts as one token.
func (c *Clock) NextToken() time.Duration {
	if c.recorded != nil {
		return c.replay()
	}
	n := c.tokens
	c.tokens++
	if b := int64(c.pace.Burst); b > 1 {
		if n%b != 0 {
			return c.last // same burst as the previous token
		}
	}
	slot := float64(c.pace.First) + float64(n)*c.gap + c.jitter(n)
	return c.advance(addCapped(toDuration(slot), c.delay))
}

// NextEvent returns the time at which the next event is due, if that event is not a token, as an
// offset from the beginning of the stream. If the clock follows a Pace rather than a recording,
// this event is due together with the preceding one.
func (c *Clock) NextEvent() time.Duration {
	if c.recorded != nil {
		return c.replay()
	}
	return c.last
}

// Delay delays all further events by d, in addition to earlier delays. It does nothing if d is not
// positive.
func (c *Clock) Delay(d time.Duration) {
	if d > 0 {
		c.delay = addCapped(c.delay, d)
		c.last = addCapped(c.last, d)
	}
}

// replay returns the time at which the next recorded event is due, scaled by the speed and shifted
// by the delays. After the last recorded event it keeps returning the time of that event.
func (c *Clock) replay() time.Duration {
	if c.next == len(c.recorded) {
		return c.last
	}
	at := toDuration(float64(c.recorded[c.next]) / c.speed)
	c.next++
	return c.advance(addCapped(at, c.delay))
}

// advance returns the later of the given time and the latest time of the clock, and stores the
// result as the latest time. This ensures that times never decrease.
func (c *Clock) advance(at time.Duration) time.Duration {
	c.last = max(c.last, at)
	return c.last
}

// jitter returns the deviation of token n, counted from 0, from its scheduled time in nanoseconds.
// A negative deviation means that the token is due earlier. It does not depend on the deviations of
// other tokens, so that deviations do not accumulate.
func (c *Clock) jitter(n int64) float64 {
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

// toDuration converts ns nanoseconds to a Duration. Negative values become 0, and values too large
// for a Duration become the longest Duration.
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
