package mockserver

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// watched begins a fault, and says when it has done harm: the first time that something
// goes out otherwise than it came in. Many faults wait for a place that never comes.
func watched(use fault.Spec, r *rand.Rand, p *plan, tell func(fault string)) fault.Effect {
	e, done := use.NewEffect(r, p.thread, p.run), false
	struck := func() {
		if !done {
			done = true
			tell(use.String())
		}
	}
	if inner := e.OnEvent; inner != nil {
		e.OnEvent = func(event *spec.Event, next func(*spec.Event)) {
			before, same, n := *event, true, 0
			inner(event, func(told *spec.Event) {
				n++
				same = same && (done || reflect.DeepEqual(&before, told))
				next(told)
			})
			if n != 1 || !same {
				struck()
			}
		}
	}
	if inner := e.OnEnd; inner != nil {
		e.OnEnd = func(next func(*spec.Event)) {
			inner(func(told *spec.Event) {
				struck()
				next(told)
			})
		}
	}
	if inner := e.OnFrame; inner != nil {
		e.OnFrame = func(frame []byte, next func([]byte)) {
			before, same, n := bytes.Clone(frame), true, 0
			inner(frame, func(told []byte) {
				n++
				same = same && bytes.Equal(before, told)
				next(told)
			})
			if n != 1 || !same {
				struck()
			}
		}
	}
	if inner := e.OnHead; inner != nil {
		e.OnHead = func(h *fault.ResponseHead) {
			status, wait, before := h.Status, h.Delay, h.Header.Clone()
			inner(h)
			if h.Status != status || h.Delay != wait || !reflect.DeepEqual(h.Header, before) {
				struck()
			}
		}
	}
	if inner := e.OnResume; inner != nil {
		e.OnResume = func(at, last int64) (int64, bool) {
			from, ok := inner(at, last)
			if from != at || !ok {
				struck()
			}
			return from, ok
		}
	}
	if inner := e.WrapBody; inner != nil {
		e.WrapBody = func(w fault.StreamWriter) fault.FrameWriter {
			seen := &spied{StreamWriter: w, struck: struck}
			seen.body = inner(seen)
			return seen
		}
	}
	return e
}

// A spied stands around a body that spoils a stream: what it is given is to come out as
// it was, in one piece.
type spied struct {
	fault.StreamWriter
	body   fault.FrameWriter
	struck func()
	frame  []byte // what came in; nil: nothing is expected to go out
	out    int    // how much of it went out
}

func (s *spied) WriteFrame(n int, frame []byte) error {
	s.frame, s.out = frame, 0
	err := s.body.WriteFrame(n, frame)
	if s.out != len(frame) {
		s.struck()
	}
	s.frame = nil
	return err
}

func (s *spied) Close() error { return s.body.Close() }

func (s *spied) Write(p []byte) (int, error) {
	if s.out > len(s.frame) || !bytes.HasPrefix(s.frame[min(s.out, len(s.frame)):], p) {
		s.struck()
	}
	s.out += len(p)
	return s.StreamWriter.Write(p)
}

func (s *spied) Flush() error {
	if 0 < s.out && s.out < len(s.frame) {
		s.struck() // it was cut into pieces
	}
	return s.StreamWriter.Flush()
}

func (s *spied) Sleep(d time.Duration) error {
	s.struck()
	return s.StreamWriter.Sleep(d)
}

func (s *spied) Finish(how fault.StreamEnd) error {
	s.struck()
	return s.StreamWriter.Finish(how)
}
