package fault

import (
	"math/rand/v2"
	"sync/atomic"
)

// A triggeredWriter is a FrameWriter that passes frames on and injects a fault once, when
// its trigger fires.
type triggeredWriter struct {
	out         StreamWriter
	beforeFrame int   // number of the frame before which to inject; -1: none
	afterBytes  int64 // number of bytes after which to inject; -1: none
	written     int64
	isDue       atomic.Bool // the time of the trigger has passed
	done        bool        // the fault was injected

	// atEnd makes Close inject the fault if the stream is shorter than beforeFrame. It is
	// set if the position was chosen at random.
	atEnd bool
	// inject injects the fault. rest is the part of the current frame that has not been
	// written, or nil at the end of the stream.
	inject func(rest []byte) error
}

// newTriggeredWriter returns a triggeredWriter for the trigger in a or, if none is set, for
// a random position among the first events. The caller must set its inject function.
func newTriggeredWriter(w StreamWriter, a Args) *triggeredWriter {
	c := &triggeredWriter{out: w, beforeFrame: a.Trigger.Event, afterBytes: a.Trigger.Byte}
	if !a.Trigger.IsSet() {
		c.beforeFrame, c.atEnd = 1+randomBelow(a.Rand, 3), true
	}
	return c
}

// randomBelow returns a random number in [0, n), or 0 if r is nil.
func randomBelow(r *rand.Rand, n int) int {
	if r == nil {
		return 0
	}
	return r.IntN(n)
}

// WriteFrame passes a frame on, unless the trigger fires.
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

// writeBytes writes p and counts its bytes.
func (c *triggeredWriter) writeBytes(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	c.written += int64(len(p))
	_, err := c.out.Write(p)
	return err
}

// Close injects the fault if atEnd is set and the trigger has not fired.
func (c *triggeredWriter) Close() error {
	if c.done || !c.atEnd {
		return nil
	}
	c.done = true
	return c.inject(nil)
}

// frameFuncs is a FrameWriter made of two functions.
type frameFuncs struct {
	frame func(n int, frame []byte) error
	close func() error // may be nil
}

// WriteFrame calls the function frame.
func (b frameFuncs) WriteFrame(n int, frame []byte) error { return b.frame(n, frame) }

// Close calls the function close, if any.
func (b frameFuncs) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// hasReached returns a function that is called with the number of each frame, or -1 for a
// comment, and reports whether the event number of the trigger is reached.
func hasReached(at Trigger) func(n int) bool {
	reached := at.Event <= 0
	return func(n int) bool {
		reached = reached || n >= at.Event
		return reached
	}
}

// emptyBody is a WrapBody function that ends the stream before its first frame.
func emptyBody(w StreamWriter) FrameWriter {
	return frameFuncs{frame: func(int, []byte) error { return w.Finish(Clean) }}
}

// endStreamAt returns an effect constructor for a fault that ends the stream at the trigger.
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

// injectAt returns an effect that calls inject once, when the trigger fires.
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
