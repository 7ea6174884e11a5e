package mutation

import (
	"bytes"
	"slices"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// changeEvents returns the effectFactory of a fault that changes those events of a run for which
// fits returns true. It calls change with a copy of each such event and sends the changed copy in
// place of the event. The copy shares its Parts with the event, so change must not modify the
// elements of Parts.
func changeEvents(fits func(*spec.Event) bool, change func(*spec.Event)) effectFactory {
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

// changeFrames returns the effectFactory of a fault that replaces each frame of a stream with
// change(frame). The argument frame ends with a blank line and does not have its id line yet. The
// function change may modify it.
func changeFrames(change func(frame []byte) []byte) effectFactory {
	return func(fault.Args) fault.Effect {
		return fault.Effect{OnFrame: func(frame []byte, emit func([]byte)) { emit(change(bytes.Clone(frame))) }}
	}
}

// insertFrame returns the effectFactory of a fault that inserts a frame into each stream, before
// the frame of the first text delta. The inserted frame is a copy of that frame with the given data
// in place of its own.
func insertFrame(data string) effectFactory {
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

// A lastFrameEditor is a [fault.FrameWriter] that changes the last frame of a stream. It holds back
// each frame until the next one arrives or the stream ends, because only then does it know whether
// the frame is the last one.
type lastFrameEditor struct {
	out     fault.StreamWriter        // receives the stream
	held    []byte                    // the latest frame; nil before the first one
	change  func(frame []byte) []byte // returns the replacement of the last frame; may modify its argument
	onClose func() error              // called after the last frame was sent; may be nil
}

// WriteFrame holds back a copy of frame and sends the frame that it held back before, if any. The
// argument n is the index of the frame in the stream. If n is negative, frame is a comment, and
// WriteFrame sends it at once. It returns any error from sending.
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

// Close sends what change returns for the last frame, if there was a frame, and then calls onClose,
// unless it is nil. Close returns the first error, and does not call onClose after an error.
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

// changeLastFrame returns the effectFactory of a fault that replaces the last frame of every stream
// with change(frame). The function change may modify its argument.
func changeLastFrame(change func(frame []byte) []byte) effectFactory {
	return func(fault.Args) fault.Effect {
		return fault.Effect{WrapBody: func(w fault.StreamWriter) fault.FrameWriter {
			return &lastFrameEditor{out: w, change: change}
		}}
	}
}

// changeComments returns a middleware that replaces each comment in a stream with change(comment).
// The argument and the result of change are the bytes of the whole comment, including its colon and
// its line ends. If the result is nil, the comment is left out. The function change may modify its
// argument.
func changeComments(change func(comment []byte) []byte) middleware {
	return editStreams(func(parsedRequest) streamEdit {
		return streamEdit{comment: func(comment []byte) []byte { return change(comment) }}
	})
}
