package pace

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Clock tells when the pieces of one stream are due, as offsets from the
// beginning of the stream. What it tells never goes back. It is not safe for
// concurrent use.
type Clock struct {
	pace   Pace
	gap    float64 // between two tokens, in nanoseconds
	rand   *rand.Rand
	tokens int64         // how many were told
	delay  time.Duration // by how much the schedule was moved, in all
	last   time.Duration // what was told last

	recorded []time.Duration // if not nil, all that is told
	next     int
	speed    float64
}

// NewClock starts a clock at the beginning of a stream. All chance comes from r, which
// may be nil if there is no jitter.
func (p Pace) NewClock(r *rand.Rand) *Clock {
	c := &Clock{pace: p, rand: r}
	if p.Rate > 0 {
		c.gap = float64(time.Second) / p.Rate
	}
	return c
}

// NewRecordedClock is a clock that tells the offsets again at which events were recorded,
// tokens and others alike; after the last one everything is due at once. A speed of 2
// is twice as fast; 0 is as recorded.
func NewRecordedClock(offsets []time.Duration, speed float64) *Clock {
	if !(speed > 0) {
		speed = 1
	}
	if offsets == nil {
		offsets = []time.Duration{}
	}
	return &Clock{recorded: offsets, speed: speed}
}

// NextToken is when the next token, a delta, is due.
func (c *Clock) NextToken() time.Duration {
	if c.recorded != nil {
		return c.replay()
	}
	n := c.tokens
	c.tokens++
	if b := int64(c.pace.Burst); b > 1 {
		if n%b != 0 {
			return c.last // together with the one before
		}
	}
	slot := float64(c.pace.First) + float64(n)*c.gap + c.jitter(n)
	return c.advance(addCapped(toDuration(slot), c.delay))
}

// NextEvent is when the next event that is no token is due: with what was before it.
func (c *Clock) NextEvent() time.Duration {
	if c.recorded != nil {
		return c.replay()
	}
	return c.last
}

// Delay makes everything that comes later by d, on top of what the pace says.
func (c *Clock) Delay(d time.Duration) {
	if d > 0 {
		c.delay = addCapped(c.delay, d)
		c.last = addCapped(c.last, d)
	}
}

func (c *Clock) replay() time.Duration {
	if c.next == len(c.recorded) {
		return c.last
	}
	at := toDuration(float64(c.recorded[c.next]) / c.speed)
	c.next++
	return c.advance(addCapped(at, c.delay))
}

func (c *Clock) advance(at time.Duration) time.Duration {
	c.last = max(c.last, at)
	return c.last
}

// jitter is by how much the token of this number misses its time. Its mean is that of
// the kind of jitter whatever came before, so it does not add up.
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

// toDuration is what a number of nanoseconds comes to; a few centuries are the most.
func toDuration(ns float64) time.Duration {
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(max(ns, 0))
}

// addCapped is the sum of what is not negative, or the most there is.
func addCapped(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
