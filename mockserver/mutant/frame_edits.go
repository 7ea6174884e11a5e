package mutant

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// changeEvents changes all events of a run that fit.
func changeEvents(fits func(*spec.Event) bool, change func(*spec.Event)) func(fault.Args) fault.Effect {
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

// frameDataBounds is where the data of a frame stands, as our servers spell it: on one line.
func frameDataBounds(frame []byte) (from, to int, ok bool) {
	from = bytes.Index(frame, []byte("data: "))
	if from < 0 {
		return 0, 0, false
	}
	from += len("data: ")
	n := bytes.IndexByte(frame[from:], '\n')
	if n < 0 {
		return 0, 0, false
	}
	return from, from + n, true
}

// changeFrames changes all frames of a run.
func changeFrames(change func(frame []byte) []byte) func(fault.Args) fault.Effect {
	return func(fault.Args) fault.Effect {
		return fault.Effect{OnFrame: func(frame []byte, emit func([]byte)) { emit(change(bytes.Clone(frame))) }}
	}
}

// insertFrame tells a frame with such data before the first text of each run.
func insertFrame(data string) newEffect {
	return func(fault.Args) fault.Effect {
		now, done := false, false
		return fault.Effect{
			OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
				now = e.Kind == spec.MessageDelta // it is spelled before the next event comes
				emit(e)
			},
			OnFrame: func(frame []byte, emit func([]byte)) {
				if from, to, ok := frameDataBounds(frame); ok && now && !done {
					done = true
					emit(slices.Concat(frame[:from], []byte(data), frame[to:]))
				}
				emit(frame)
			},
		}
	}
}

// A lastFrameEditor holds the last frame of a stream back, to change it, and ends the stream.
type lastFrameEditor struct {
	out       fault.StreamWriter
	held      []byte
	change    func(frame []byte) []byte
	streamEnd fault.StreamEnd
	onClose   func() error // what is done when all was sent; nil is nothing
}

// WriteFrame sends what was held, and holds the frame. Comments are no frames.
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

// Close sends the last one.
func (t *lastFrameEditor) Close() error {
	if t.held != nil {
		if _, err := t.out.Write(t.change(t.held)); err != nil {
			return err
		}
	}
	if err := t.out.Flush(); err != nil {
		return err
	}
	if t.onClose != nil {
		return t.onClose()
	}
	if t.streamEnd == "" {
		return nil
	}
	return t.out.Finish(t.streamEnd)
}

// changeLastFrame changes the last frame of every stream.
func changeLastFrame(change func(frame []byte) []byte) func(fault.Args) fault.Effect {
	return func(fault.Args) fault.Effect {
		return fault.Effect{WrapBody: func(w fault.StreamWriter) fault.FrameWriter { return &lastFrameEditor{out: w, change: change} }}
	}
}

// changeComments makes a twist that changes the comments of streams; nothing is none.
func changeComments(change func(r *http.Request, comment []byte) []byte) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&commentEditor{ResponseWriter: w, request: r, change: change}, r)
		})
	}
}

// commentEditor is a response whose comments are changed. Our servers write each in one piece.
type commentEditor struct {
	http.ResponseWriter
	request *http.Request
	change  func(r *http.Request, comment []byte) []byte
}

func (c *commentEditor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *commentEditor) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte(":")) {
		return c.ResponseWriter.Write(p)
	}
	if other := c.change(c.request, bytes.Clone(p)); other != nil {
		if _, err := c.ResponseWriter.Write(other); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
