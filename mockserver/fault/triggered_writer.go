package fault

import (
	"math/rand/v2"
	"sync/atomic"
)

// A triggeredWriter is a Body that passes on what comes, until a fault strikes.
type triggeredWriter struct {
	out         StreamWriter
	beforeFrame int   // before this frame; -1: no
	afterBytes  int64 // after so many bytes; -1: no
	written     int64
	isDue       atomic.Bool // the time has come
	done        bool        // it has struck, or will not

	// late: nobody said where, so a stream that is over before is struck at its end.
	atEnd bool
	// strike does the harm: rest is what is not sent yet of the frame that it comes
	// before, or into. It is nil at the end of the stream.
	inject func(rest []byte) error
}

// newTriggeredWriter is where a fault strikes: at its place, or else before one of the first events,
// by chance.
func newTriggeredWriter(w StreamWriter, a Args) *triggeredWriter {
	c := &triggeredWriter{out: w, beforeFrame: a.Trigger.Event, afterBytes: a.Trigger.Byte}
	if !a.Trigger.IsSet() {
		c.beforeFrame, c.atEnd = 1+randomBelow(a.Rand, 3), true
	}
	return c
}

// randomBelow is a number below n.
func randomBelow(r *rand.Rand, n int) int {
	if r == nil {
		return 0
	}
	return r.IntN(n)
}

// WriteFrame passes a frame on, or what the fault makes of it.
func (c *triggeredWriter) WriteFrame(n int, frame []byte) error {
	switch {
	case c.done:
	case c.beforeFrame >= 0 && n >= c.beforeFrame, c.isDue.Load():
		c.done = true
		return c.inject(frame)
	case c.afterBytes >= 0 && c.written+int64(len(frame)) > c.afterBytes:
		c.done = true
		before := frame[:max(c.afterBytes-c.written, 0)]
		if err := c.writeBytes(before); err != nil {
			return err
		}
		return c.inject(frame[len(before):])
	}
	return c.writeBytes(frame)
}

func (c *triggeredWriter) writeBytes(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	c.written += int64(len(p))
	_, err := c.out.Write(p)
	return err
}

// Close strikes what was not struck.
func (c *triggeredWriter) Close() error {
	if c.done || !c.atEnd {
		return nil
	}
	c.done = true
	return c.inject(nil)
}

// frameFuncs is a Body that does something to every frame, and passes comments on.
type frameFuncs struct {
	frame func(n int, frame []byte) error
	close func() error // may be nil
}

func (b frameFuncs) WriteFrame(n int, frame []byte) error { return b.frame(n, frame) }

func (b frameFuncs) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// hasReached says of each frame in turn, and of comments, whether a place is reached.
func hasReached(at Trigger) func(n int) bool {
	reached := at.Event <= 0
	return func(n int) bool {
		reached = reached || n >= at.Event
		return reached
	}
}

// emptyBody is a body of nothing.
func emptyBody(w StreamWriter) FrameWriter {
	return frameFuncs{frame: func(int, []byte) error { return w.Finish(Clean) }}
}

// endStreamAt ends a stream at its place.
func endStreamAt(how StreamEnd) func(Args) Effect {
	return func(a Args) Effect {
		return Effect{WrapBody: func(w StreamWriter) FrameWriter {
			c := newTriggeredWriter(w, a)
			c.inject = func([]byte) error { return w.Finish(how) }
			if a.Trigger.Time >= 0 {
				w.After(a.Trigger.Time, func() { _ = w.Finish(how) })
			}
			return c
		}}
	}
}

// injectAt does something once, before or in place of a frame.
func injectAt(a Args, inject func(c *triggeredWriter, rest []byte) error) Effect {
	return Effect{WrapBody: func(w StreamWriter) FrameWriter {
		c := newTriggeredWriter(w, a)
		if a.Trigger.Time >= 0 {
			w.After(a.Trigger.Time, func() { c.isDue.Store(true) })
		}
		c.inject = func(rest []byte) error { return inject(c, rest) }
		return c
	}}
}
