package mutation

import (
	"bytes"
	"slices"
	"time"

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
				e = withChange(e, change)
			}
			emit(e)
		}}
	}
}

// changeParts returns the effectFactory of a fault that changes those events of a run for which
// fits returns true, and the parts of these events. It calls change with a copy of each such event,
// and of each part at any depth, and sends the changed copies instead.
func changeParts(fits func(*spec.Event) bool, change func(*spec.Event)) effectFactory {
	return changeEvents(fits, func(e *spec.Event) { changeNested(e, change) })
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
// the frame of the first text delta. The inserted frame is a copy of that frame, except that its
// data is the argument data, a text of one line that need not be JSON.
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

// replaceLast returns the effectFactory of a fault that replaces the last frame of every stream.
// After the other frames were sent, the fault calls send, which writes to w what is sent in place
// of the last frame. The argument last is the last frame, or nil if the stream has none.
func replaceLast(send func(w fault.StreamSink, last []byte) error) effectFactory {
	return func(fault.Args) fault.Effect {
		return fault.Effect{WrapBody: func(w fault.StreamSink) fault.FrameWriter {
			return &lastReplacer{out: w, send: send}
		}}
	}
}

// changeLastFrame returns the effectFactory of a fault that replaces the last frame of every stream
// with change(frame). The function change may modify its argument.
func changeLastFrame(change func(frame []byte) []byte) effectFactory {
	return replaceLast(func(w fault.StreamSink, last []byte) error {
		if last == nil {
			return nil
		}
		return sendNow(w, change(last))
	})
}

// A lastReplacer is the [fault.FrameWriter] of replaceLast. It holds back each frame until the next
// one arrives or the stream ends, because only then does it know whether the frame is the last one.
type lastReplacer struct {
	out  fault.StreamSink
	held []byte                                      // the latest frame; nil before the first one
	send func(w fault.StreamSink, last []byte) error // sends what replaces the last frame
}

// WriteFrame holds back a copy of frame and sends the frame that it held back before, if any. The
// argument n is the index of frame in the stream; if it is negative, frame is a comment, which
// WriteFrame sends immediately. It returns any error from sending.
func (t *lastReplacer) WriteFrame(n int, frame []byte) error {
	if n >= 0 {
		frame, t.held = t.held, bytes.Clone(frame)
	}
	if frame == nil {
		return nil
	}
	return sendNow(t.out, frame)
}

func (t *lastReplacer) Close() error { return t.send(t.out, t.held) }

// sendNow writes data to w and flushes it. It returns any error from doing so.
func sendNow(w fault.StreamSink, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Flush()
}

// sendComments sends comment to w n times, each after a pause. The text comment includes the colon
// and the blank line, as in ": still here\n\n". sendComments returns the first error from waiting
// or sending, for example because the client has left.
func sendComments(w fault.StreamSink, comment string, pause time.Duration, n int) error {
	for range n {
		if err := w.Sleep(pause); err != nil {
			return err
		}
		if err := sendNow(w, []byte(comment)); err != nil {
			return err
		}
	}
	return nil
}

// atEnd returns the effectFactory of a fault that calls finish at the end of each stream that has a
// frame or a comment for which fits returns true. The function fits must not modify its argument.
// The function finish is called after the last frame was sent, and can send more to the client
// through w. When it returns, the server ends the body.
func atEnd(fits func(frame []byte) bool, finish func(w fault.StreamSink) error) effectFactory {
	return func(fault.Args) fault.Effect {
		return fault.Effect{WrapBody: func(w fault.StreamSink) fault.FrameWriter {
			return &atEndWriter{out: w, fits: fits, do: finish}
		}}
	}
}

// An atEndWriter is the [fault.FrameWriter] of atEnd. It sends frames and comments unchanged. If
// fits returned true for any of them, it calls do at the end of the stream.
type atEndWriter struct {
	out   fault.StreamSink
	fits  func(frame []byte) bool
	found bool                           // whether fits has returned true for a frame or comment
	do    func(w fault.StreamSink) error // called at the end of the stream if found is true
}

// WriteFrame sends the frame or comment unchanged and returns any error from doing so. It also sets
// the field found if the function in the field fits returns true for the frame or comment.
func (t *atEndWriter) WriteFrame(_ int, frame []byte) error {
	t.found = t.found || t.fits(frame)
	return sendNow(t.out, frame)
}

func (t *atEndWriter) Close() error {
	if t.found {
		return t.do(t.out)
	}
	return nil
}
