package mutation

import (
	"bytes"
	"slices"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// changeEvents returns a fault that changes each event for which fits returns true: it applies
// change to a copy of the event and sends the copy instead.
func changeEvents(fits func(*spec.Event) bool, change func(*spec.Event)) newEffect {
	return func(fault.Args) fault.Effect {
		return fault.Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if fits(e) {
				other := *e
				change(&other)
				e = &other
			}
			emit(e)
		}}
	}
}

// changeFrames returns a fault that sends change(frame) in place of each frame of a run. The function
// change may modify its argument.
func changeFrames(change func(frame []byte) []byte) newEffect {
	return func(fault.Args) fault.Effect {
		return fault.Effect{OnFrame: func(frame []byte, emit func([]byte)) { emit(change(bytes.Clone(frame))) }}
	}
}

// insertFrame returns a fault that inserts a frame with the given data before the first text delta
// of each run.
func insertFrame(data string) newEffect {
	return func(fault.Args) fault.Effect {
		now, done := false, false
		return fault.Effect{
			OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
				now = e.Kind == spec.MessageDelta // this event is encoded before the next one arrives
				emit(e)
			},
			OnFrame: func(frame []byte, emit func([]byte)) {
				if line, ok := sse.FindField(frame, "data"); ok && now && !done {
					done = true
					emit(slices.Concat(frame[:line.ValueStart], []byte(data), frame[line.ValueEnd():]))
				}
				emit(frame)
			},
		}
	}
}

// A lastFrameEditor holds back the latest frame of a stream until the next one arrives, so that it
// can edit the last frame when the stream ends.
type lastFrameEditor struct {
	out     fault.StreamWriter
	held    []byte
	change  func(frame []byte) []byte // returns what is sent in place of the last frame
	onClose func() error              // called after the whole stream was sent; may be nil
}

// WriteFrame sends the frame that was held back and holds back the new one. A comment, for which n
// is negative, is sent at once. WriteFrame returns any error from sending.
func (t *lastFrameEditor) WriteFrame(n int, frame []byte) error {
	if n >= 0 {
		frame, t.held = t.held, bytes.Clone(frame)
	}
	if frame == nil {
		return nil
	}
	if _, err := t.out.Write(frame); err != nil {
		return err
	}
	return t.out.Flush()
}

// Close sends the last frame as t.change returns it. Then it calls onClose, unless that is nil. It
// returns the first error.
func (t *lastFrameEditor) Close() error {
	if t.held != nil {
		if _, err := t.out.Write(t.change(t.held)); err != nil {
			return err
		}
	}
	if err := t.out.Flush(); err != nil {
		return err
	}
	if t.onClose == nil {
		return nil
	}
	return t.onClose()
}

// changeLastFrame returns a fault that sends change(frame) in place of the last frame of every
// stream.
func changeLastFrame(change func(frame []byte) []byte) newEffect {
	return func(fault.Args) fault.Effect {
		return fault.Effect{WrapBody: func(w fault.StreamWriter) fault.FrameWriter {
			return &lastFrameEditor{out: w, change: change}
		}}
	}
}

// changeComments returns a middleware that replaces each comment of a stream with the result of
// change. Both the argument and the result are the bytes of the whole comment with its colon and
// line end. If the result is nil, the comment is omitted.
func changeComments(change func(comment []byte) []byte) middleware {
	return editStreams(func(parsedRequest) streamEdit {
		return streamEdit{comment: func(comment []byte) [][]byte { return [][]byte{change(comment)} }}
	})
}
