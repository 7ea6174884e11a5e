package fault

import (
	"bytes"
	"compress/gzip"

	"github.com/streamassay/streamassay/internal/sse"
)

// wrapBody returns a value for [Fault.NewEffect]. The effect has only an [Effect.WrapBody]
// function. This function calls wrap with the arguments of the fault and the writer for the body,
// and returns the result of wrap.
func wrapBody(wrap func(a Args, w StreamSink) FrameWriter) func(Args) Effect {
	return func(a Args) Effect {
		return Effect{WrapBody: func(w StreamSink) FrameWriter { return wrap(a, w) }}
	}
}

// frameWriterFuncs is a FrameWriter whose methods WriteFrame and Close call the functions frame and
// close.
type frameWriterFuncs struct {
	frame func(n int, frame []byte) error
	close func() error // may be nil
}

// WriteFrame calls b.frame with its arguments and returns the error.
func (b frameWriterFuncs) WriteFrame(n int, frame []byte) error { return b.frame(n, frame) }

// Close calls b.close and returns its error. If b.close is nil, it returns nil.
func (b frameWriterFuncs) Close() error {
	if b.close == nil {
		return nil
	}
	return b.close()
}

// writeFrames returns a function for frameWriterFuncs.frame that writes each frame to w unchanged,
// and returns any error from w.
func writeFrames(w StreamSink) func(n int, frame []byte) error {
	return func(_ int, frame []byte) error {
		_, err := w.Write(frame)
		return err
	}
}

// editStream returns a value for [Fault.NewEffect]. For each stream, the effect calls begin, which
// returns an edit function. The effect calls that function with each frame and each comment of the
// stream, and sends the result in its place. If the result is empty, nothing is sent. The argument
// n is the index of the frame, counted from 0, or -1 for a comment.
func editStream(begin func(a Args) func(n int, frame []byte) []byte) func(Args) Effect {
	return wrapBody(func(a Args, w StreamSink) FrameWriter {
		edit := begin(a)
		return frameWriterFuncs{frame: func(n int, frame []byte) error {
			out := edit(n, frame)
			if !bytes.Equal(out, frame) {
				a.Applied()
			}
			if len(out) == 0 {
				return nil
			}
			_, err := w.Write(out)
			return err
		}}
	})
}

// replaceComments returns a value for [Fault.NewEffect]. The effect replaces each comment of the
// stream with comment, a text such as ": still here\n\n" that includes the colon and the blank
// line. If comment is "", the comments of the stream are omitted.
func replaceComments(comment string) func(Args) Effect {
	return editStream(func(Args) func(int, []byte) []byte {
		return func(n int, frame []byte) []byte {
			if n < 0 {
				return []byte(comment)
			}
			return frame
		}
	})
}

// addMember is the argument of editStream for the told-differently fault. It returns an edit
// function that adds the member "toldBefore" to the data of the event at the trigger or, if no
// trigger is set, of every event. The function does not change comments, or events whose data is
// not a JSON object.
func addMember(a Args) func(n int, frame []byte) []byte {
	return func(n int, frame []byte) []byte {
		data, _ := sse.FindField(frame, "data")
		m := decodeMembers(data.Value)
		if m == nil || a.Trigger.Event >= 0 && n != a.Trigger.Event {
			return frame
		}
		m["toldBefore"] = []byte("true")
		return replaceData(frame, data, encodeMembers(m))
	}
}

// insertGarbage is a value for [Fault.NewEffect]. The effect inserts a frame whose data consists of
// random bytes that are not valid UTF-8; the fault's parameter "bytes" is the number of these
// bytes. The frame is inserted at the trigger or, if no trigger is set, at a random position; see
// injectAt.
func insertGarbage(a Args) Effect {
	noise := make([]byte, a.Ints["bytes"])
	for i := range noise {
		// Continuation bytes: neither a line end nor the start of a UTF-8 character.
		noise[i] = byte(0x80 + a.Rand.IntN(0x40))
	}
	return injectAt(a, func(c *triggeredWriter, rest []byte) error {
		a.Applied()
		frame, _ := sse.Append(nil, sse.Frame{Data: noise}) // data never fails
		if err := c.writeBytes(frame); err != nil {
			return err
		}
		return c.writeBytes(rest)
	})
}

// padEvent is a value for [Fault.NewEffect]. The effect inserts spaces before the data of one
// event, so that its frame has as many bytes as the fault's parameter "bytes" states. It does not
// change a frame that has as many bytes already, or that has no data. The event is the one at the
// trigger or, if no trigger is set, a random one; see newTriggeredWriter.
func padEvent(a Args) Effect {
	return injectAt(a, func(c *triggeredWriter, rest []byte) error {
		data, ok := sse.FindField(rest, "data")
		if !ok || len(rest) >= a.Ints["bytes"] {
			return c.writeBytes(rest)
		}
		a.Applied()
		if err := c.writeBytes(rest[:data.ValueStart]); err != nil {
			return err
		}
		pad := bytes.Repeat([]byte(" "), 64<<10)
		for left := a.Ints["bytes"] - len(rest); left > 0; left -= len(pad) {
			if err := c.writeBytes(pad[:min(left, len(pad))]); err != nil {
				return err
			}
		}
		return c.writeBytes(rest[data.ValueStart:])
	})
}

// compress is a value for [Fault.NewEffect]. The effect compresses the stream with gzip and sets
// Content-Encoding. It flushes the compressor after each frame, so that the client can decode each
// event as soon as it arrives. If OnHead is not called, because the head was sent before the fault
// was known, the stream is not changed: without Content-Encoding, no client could decode it.
func compress(a Args) Effect {
	isAnnounced := false // Content-Encoding is set
	return Effect{
		OnHead: func(h *ResponseHead) {
			a.Applied()
			h.Header.Set("Content-Encoding", "gzip")
			isAnnounced = true
		},
		WrapBody: func(w StreamSink) FrameWriter {
			if !isAnnounced {
				return frameWriterFuncs{frame: writeFrames(w)}
			}
			z := gzip.NewWriter(w)
			return frameWriterFuncs{close: z.Close, frame: func(_ int, frame []byte) error {
				if _, err := z.Write(frame); err != nil {
					return err
				}
				return z.Flush()
			}}
		},
	}
}
