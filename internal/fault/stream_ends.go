package fault

import (
	"bytes"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/sse"
)

// endStreamAt returns a value for [Fault.NewEffect]. The effect ends the stream at the trigger or,
// if no trigger is set, at a random position; see newTriggeredWriter. The argument how is the way
// in which the stream ends.
func endStreamAt(how StreamEnd) func(Args) Effect {
	return wrapBody(func(a Args, w StreamSink) FrameWriter {
		if a.Trigger.Time >= 0 {
			w.After(a.Trigger.Time, func() {
				a.Applied()
				_ = w.Finish(how)
			})
		}
		return newTriggeredWriter(w, a, func(_ *triggeredWriter, rest []byte) error {
			if how != Clean || rest != nil { // a whole stream ends cleanly anyway
				a.Applied()
			}
			return w.Finish(how)
		})
	})
}

// atStreamEnd returns a value for [Fault.NewEffect]. The effect sends the frames of the stream
// unchanged. After the last one, it calls f with the arguments of the fault and the writer for the
// body. The Close method of the effect's FrameWriter returns the error from f.
func atStreamEnd(f func(a Args, w StreamSink) error) func(Args) Effect {
	return wrapBody(func(a Args, w StreamSink) FrameWriter {
		return frameWriterFuncs{frame: writeFrames(w), close: func() error { return f(a, w) }}
	})
}

// truncateFrame returns a value for [Fault.NewEffect]. The effect sends only the beginning of one
// frame and then closes the connection. The frame is the one at the trigger or, if no trigger is
// set, a random one; see newTriggeredWriter. The function part receives the frame and returns the
// beginning of it that is sent. If the trigger is a number of bytes, the stream is cut after that
// number of bytes instead, and part is not called.
func truncateFrame(part func(frame []byte) []byte) func(Args) Effect {
	return func(a Args) Effect {
		return injectAt(a, func(c *triggeredWriter, frame []byte) error {
			a.Applied()
			if frame != nil && a.Trigger.Byte < 0 {
				if err := c.writeBytes(part(frame)); err != nil {
					return err
				}
			}
			return c.Finish(Torn)
		})
	}
}

// cutInsideData returns the beginning of frame, which it cuts halfway between the start of the data
// line and the end of the frame.
func cutInsideData(frame []byte) []byte {
	data, _ := sse.FindField(frame, "data")
	return frame[:data.Start+(len(frame)-data.Start)/2]
}

// cutInsideCharacter returns the beginning of frame, cut after the first byte of the first
// multibyte character. If frame has no such character, it is cut before the last quotation mark
// instead, or at offset 0 if there is none, and the first two bytes of a three-byte character are
// appended.
func cutInsideCharacter(frame []byte) []byte {
	for i := 0; i < len(frame); {
		_, size := utf8.DecodeRune(frame[i:])
		if size > 1 {
			return frame[:i+1]
		}
		i += size
	}
	text := max(bytes.LastIndexByte(frame, '"'), 0)
	return append(bytes.Clone(frame[:text]), "\u20ac"[:2]...)
}

// stall is a value for [Fault.NewEffect]. The effect pauses the stream at the trigger or, if no
// trigger is set, at a random position; see newTriggeredWriter. The fault's parameter "for" is the
// length of the pause. If it is 0, the pause never ends: the connection stays open until the client
// closes it.
func stall(a Args) Effect {
	pause := a.Durations["for"]
	if pause == 0 {
		return endStreamAt(Stall)(a)
	}
	return injectAt(a, func(c *triggeredWriter, rest []byte) error {
		a.Applied()
		if err := c.Flush(); err != nil {
			return err
		}
		if err := c.Sleep(pause); err != nil {
			return err
		}
		return c.writeBytes(rest)
	})
}
