package mutant

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// everyEvent changes all events of a run that fit.
func everyEvent(fits func(*spec.Event) bool, change func(*spec.Event)) func(fault.Args) fault.Effect {
	return func(fault.Args) fault.Effect {
		return fault.Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if fits(e) {
				other := *e
				change(&other)
				e = &other
			}
			tell(e)
		}}
	}
}

// dataOf is where the data of a frame stands, as our servers spell it: on one line.
func dataOf(frame []byte) (from, to int, ok bool) {
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

// everyFrame changes all frames of a run.
func everyFrame(change func(frame []byte) []byte) func(fault.Args) fault.Effect {
	return func(fault.Args) fault.Effect {
		return fault.Effect{Frame: func(frame []byte, tell func([]byte)) { tell(change(bytes.Clone(frame))) }}
	}
}

// extraFrame tells a frame with such data before the first text of each run.
func extraFrame(data string) play {
	return func(fault.Args) fault.Effect {
		now, done := false, false
		return fault.Effect{
			Event: func(e *spec.Event, tell func(*spec.Event)) {
				now = e.Kind == spec.MessageDelta // it is spelled before the next event comes
				tell(e)
			},
			Frame: func(frame []byte, tell func([]byte)) {
				if from, to, ok := dataOf(frame); ok && now && !done {
					done = true
					tell(slices.Concat(frame[:from], []byte(data), frame[to:]))
				}
				tell(frame)
			},
		}
	}
}

// A tail holds the last frame of a stream back, to change it, and ends the stream.
type tail struct {
	w      fault.Writer
	held   []byte
	change func(frame []byte) []byte
	end    fault.Ending
	after  func() error // what is done when all was sent; nil is nothing
}

// Frame sends what was held, and holds the frame. Comments are no frames.
func (t *tail) Frame(n int, frame []byte) error {
	if n >= 0 {
		frame, t.held = t.held, bytes.Clone(frame)
	}
	if frame == nil {
		return nil
	}
	if _, err := t.w.Write(frame); err != nil {
		return err
	}
	return t.w.Flush()
}

// Close sends the last one.
func (t *tail) Close() error {
	if t.held != nil {
		if _, err := t.w.Write(t.change(t.held)); err != nil {
			return err
		}
	}
	if err := t.w.Flush(); err != nil {
		return err
	}
	if t.after != nil {
		return t.after()
	}
	if t.end == "" {
		return nil
	}
	return t.w.Finish(t.end)
}

// lastFrame changes the last frame of every stream.
func lastFrame(change func(frame []byte) []byte) func(fault.Args) fault.Effect {
	return func(fault.Args) fault.Effect {
		return fault.Effect{Body: func(w fault.Writer) fault.Body { return &tail{w: w, change: change} }}
	}
}

// comments makes a twist that changes the comments of streams; nothing is none.
func comments(change func(r *http.Request, comment []byte) []byte) twist {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&commenting{ResponseWriter: w, r: r, change: change}, r)
		})
	}
}

// commenting is a response whose comments are changed. Our servers write each in one piece.
type commenting struct {
	http.ResponseWriter
	r      *http.Request
	change func(r *http.Request, comment []byte) []byte
}

func (c *commenting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *commenting) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte(":")) {
		return c.ResponseWriter.Write(p)
	}
	if other := c.change(c.r, bytes.Clone(p)); other != nil {
		if _, err := c.ResponseWriter.Write(other); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
