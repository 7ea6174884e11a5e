package fault

import (
	"sync/atomic"
)

// A triggeredWriter is a FrameWriter that writes frames unchanged, except at one position in the
// stream, where it calls inject.
type triggeredWriter struct {
	StreamSink
	beforeFrame int         // number of the frame before which to inject; -1: none
	afterBytes  int64       // number of bytes after which to inject; -1: none
	written     int64       // number of bytes written so far
	isDue       atomic.Bool // the time of the trigger has passed
	done        bool        // the fault was injected

	// atEnd makes Close inject the fault if the stream is shorter than beforeFrame. It is
	// set if the position was chosen at random.
	atEnd bool
	// inject injects the fault and calls Args.Applied if it changes the stream. rest is the part
	// of the current frame that has not been written, or nil at the end of the stream.
	inject func(c *triggeredWriter, rest []byte) error
}

// newTriggeredWriter returns a triggeredWriter that writes to w and calls inject once, when the
// trigger a.Trigger occurs; see triggeredWriter.inject. If the stream ends before that, inject is
// not called. If the trigger is a time, the caller must set the field isDue of the writer when that
// time has passed.
//
// If a sets no trigger, inject is called before the second, third or fourth frame, chosen at
// random, or at the end of the stream if it has fewer frames.
func newTriggeredWriter(
	w StreamSink, a Args, inject func(c *triggeredWriter, rest []byte) error,
) *triggeredWriter {
	c := &triggeredWriter{
		StreamSink: w, beforeFrame: a.Trigger.Event, afterBytes: a.Trigger.Byte, inject: inject,
	}
	if !a.Trigger.IsSet() {
		c.beforeFrame, c.atEnd = 1+a.Rand.IntN(3), true
	}
	return c
}

// WriteFrame writes frame, whose index in the stream is n, counted from 0; for a comment, n is -1.
// If the fault is to be injected before or inside frame, WriteFrame writes only the bytes before
// that position and calls inject with the remaining bytes. It returns the first error from writing
// or from inject.
func (c *triggeredWriter) WriteFrame(n int, frame []byte) error {
	switch {
	case c.done:
	case c.beforeFrame >= 0 && n >= c.beforeFrame, c.isDue.Load():
		return c.fire(frame)
	case c.afterBytes >= 0 && c.written+int64(len(frame)) > c.afterBytes:
		before := frame[:max(c.afterBytes-c.written, 0)]
		if err := c.writeBytes(before); err != nil {
			return err
		}
		return c.fire(frame[len(before):])
	}
	return c.writeBytes(frame)
}

// fire calls inject and returns its error. It also marks the fault as injected, so that it is
// injected only once. The argument rest is the part of the current frame that has not been written.
func (c *triggeredWriter) fire(rest []byte) error {
	c.done = true
	return c.inject(c, rest)
}

// writeBytes writes p to the underlying writer and returns its error. It counts the bytes in
// c.written.
func (c *triggeredWriter) writeBytes(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	c.written += int64(len(p))
	_, err := c.Write(p)
	return err
}

// Close injects the fault if its position was chosen at random and the stream was too short for it,
// and returns the error from inject. Otherwise it does nothing and returns nil.
func (c *triggeredWriter) Close() error {
	if c.done || !c.atEnd {
		return nil
	}
	return c.fire(nil)
}

// injectAt returns an effect that calls inject once, at a.Trigger or, if no trigger is set, at a
// random position; see newTriggeredWriter. The function inject receives the writer c and rest, the
// part of the current frame that has not been written, or nil at the end of the stream. It has to
// write rest to c if the client is to receive it, and to call a.Applied if it changes the stream.
func injectAt(a Args, inject func(c *triggeredWriter, rest []byte) error) Effect {
	return Effect{WrapBody: func(w StreamSink) FrameWriter {
		c := newTriggeredWriter(w, a, inject)
		if a.Trigger.Time >= 0 {
			w.After(a.Trigger.Time, func() { c.isDue.Store(true) })
		}
		return c
	}}
}
