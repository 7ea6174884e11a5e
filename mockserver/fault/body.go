package fault

import (
	"math/rand/v2"
	"sync/atomic"
)

// A wire is a Body that passes on what comes, until a fault strikes.
type wire struct {
	w     Writer
	event int   // before this frame; -1: no
	byte  int64 // after so many bytes; -1: no
	sent  int64
	due   atomic.Bool // the time has come
	done  bool        // it has struck, or will not

	// late: nobody said where, so a stream that is over before is struck at its end.
	late bool
	// strike does the harm: rest is what is not sent yet of the frame that it comes
	// before, or into. It is nil at the end of the stream.
	strike func(rest []byte) error
}

// newWire is where a fault strikes: at its place, or else before one of the first events,
// by chance.
func newWire(w Writer, a Args) *wire {
	c := &wire{w: w, event: a.At.Event, byte: a.At.Byte}
	if !a.At.Set() {
		c.event, c.late = 1+chance(a.Rand, 3), true
	}
	return c
}

// chance is a number below n.
func chance(r *rand.Rand, n int) int {
	if r == nil {
		return 0
	}
	return r.IntN(n)
}

// Frame passes a frame on, or what the fault makes of it.
func (c *wire) Frame(n int, frame []byte) error {
	switch {
	case c.done:
	case c.event >= 0 && n >= c.event, c.due.Load():
		c.done = true
		return c.strike(frame)
	case c.byte >= 0 && c.sent+int64(len(frame)) > c.byte:
		c.done = true
		before := frame[:max(c.byte-c.sent, 0)]
		if err := c.write(before); err != nil {
			return err
		}
		return c.strike(frame[len(before):])
	}
	return c.write(frame)
}

func (c *wire) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	c.sent += int64(len(p))
	_, err := c.w.Write(p)
	return err
}

// Close strikes what was not struck.
func (c *wire) Close() error {
	if c.done || !c.late {
		return nil
	}
	c.done = true
	return c.strike(nil)
}

// each is a Body that does something to every frame, and passes comments on.
type each struct {
	frame func(n int, frame []byte) error
	close func() error // may be nil
}

func (b each) Frame(n int, frame []byte) error { return b.frame(n, frame) }

func (b each) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// since says of each frame in turn, and of comments, whether a place is reached.
func since(at Place) func(n int) bool {
	there := at.Event <= 0
	return func(n int) bool {
		there = there || n >= at.Event
		return there
	}
}

// silent is a body of nothing.
func silent(w Writer) Body {
	return each{frame: func(int, []byte) error { return w.Finish(Clean) }}
}

// cutting ends a stream at its place.
func cutting(how Ending) func(Args) Effect {
	return func(a Args) Effect {
		return Effect{Body: func(w Writer) Body {
			c := newWire(w, a)
			c.strike = func([]byte) error { return w.Finish(how) }
			if a.At.Time >= 0 {
				w.After(a.At.Time, func() { _ = w.Finish(how) })
			}
			return c
		}}
	}
}

// striking does something once, before or in place of a frame.
func striking(a Args, strike func(c *wire, rest []byte) error) Effect {
	return Effect{Body: func(w Writer) Body {
		c := newWire(w, a)
		if a.At.Time >= 0 {
			w.After(a.At.Time, func() { c.due.Store(true) })
		}
		c.strike = func(rest []byte) error { return strike(c, rest) }
		return c
	}}
}
