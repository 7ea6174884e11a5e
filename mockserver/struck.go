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
func watched(use fault.Use, r *rand.Rand, p *plan, tell func(fault string)) fault.Effect {
	e, done := use.Begin(r, p.thread, p.run), false
	struck := func() {
		if !done {
			done = true
			tell(use.String())
		}
	}
	if inner := e.Event; inner != nil {
		e.Event = func(event *spec.Event, next func(*spec.Event)) {
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
	if inner := e.End; inner != nil {
		e.End = func(next func(*spec.Event)) {
			inner(func(told *spec.Event) {
				struck()
				next(told)
			})
		}
	}
	if inner := e.Frame; inner != nil {
		e.Frame = func(frame []byte, next func([]byte)) {
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
	if inner := e.Head; inner != nil {
		e.Head = func(h *fault.Head) {
			status, wait, before := h.Status, h.Wait, h.Header.Clone()
			inner(h)
			if h.Status != status || h.Wait != wait || !reflect.DeepEqual(h.Header, before) {
				struck()
			}
		}
	}
	if inner := e.Resume; inner != nil {
		e.Resume = func(at, last int64) (int64, bool) {
			from, ok := inner(at, last)
			if from != at || !ok {
				struck()
			}
			return from, ok
		}
	}
	if inner := e.Body; inner != nil {
		e.Body = func(w fault.Writer) fault.Body {
			seen := &spied{Writer: w, struck: struck}
			seen.body = inner(seen)
			return seen
		}
	}
	return e
}

// A spied stands around a body that spoils a stream: what it is given is to come out as
// it was, in one piece.
type spied struct {
	fault.Writer
	body   fault.Body
	struck func()
	frame  []byte // what came in; nil: nothing is expected to go out
	out    int    // how much of it went out
}

func (s *spied) Frame(n int, frame []byte) error {
	s.frame, s.out = frame, 0
	err := s.body.Frame(n, frame)
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
	return s.Writer.Write(p)
}

func (s *spied) Flush() error {
	if 0 < s.out && s.out < len(s.frame) {
		s.struck() // it was cut into pieces
	}
	return s.Writer.Flush()
}

func (s *spied) Sleep(d time.Duration) error {
	s.struck()
	return s.Writer.Sleep(d)
}

func (s *spied) Finish(how fault.Ending) error {
	s.struck()
	return s.Writer.Finish(how)
}
