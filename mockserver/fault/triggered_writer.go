package fault

import (
	"math/rand/v2"
	"sync/atomic"
)

// A triggeredWriter is a FrameWriter that passes frames on unchanged, except that it calls its
// inject function once, at the position that the trigger names.
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

// newTriggeredWriter returns a triggeredWriter that writes to w. The fault occurs at the trigger
// in a or, if none is set, before the second, third or fourth frame, chosen at random. The caller
// must set the inject function, and isDue when the time of a time trigger has passed.
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

// WriteFrame writes frame, or calls inject if the position of the fault is reached. It returns the
// first error of either.
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

// writeBytes writes p and adds its length to the bytes written, by which a byte trigger is
// determined.
func (c *triggeredWriter) writeBytes(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	c.written += int64(len(p))
	_, err := c.out.Write(p)
	return err
}

// Close calls inject with nil if the stream was too short for a position that was chosen at
// random, so that the fault occurs nevertheless.
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

// WriteFrame returns the result of the function frame.
func (b frameFuncs) WriteFrame(n int, frame []byte) error { return b.frame(n, frame) }

// Close returns the result of the function close, or nil if there is none.
func (b frameFuncs) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// hasReached returns a function that must be called with the number of each frame, or with -1 for
// a comment. It reports whether the event number of the trigger has been reached; without an event
// number it always reports true.
func hasReached(at Trigger) func(n int) bool {
	reached := at.Event <= 0
	return func(n int) bool {
		reached = reached || n >= at.Event
		return reached
	}
}

// emptyBody is an [Effect.WrapBody] function that ends the stream correctly in place of its first
// frame, so that the body is empty.
func emptyBody(w StreamWriter) FrameWriter {
	return frameFuncs{frame: func(int, []byte) error { return w.Finish(Clean) }}
}

// endStreamAt returns a value for [Fault.NewEffect]: the effect ends the stream in the given way
// at the trigger.
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

// injectAt returns an effect that calls inject once, at the trigger. rest is the part of the
// current frame that has not been written, which inject must write; it is nil at the end of the
// stream.
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
