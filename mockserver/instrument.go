package mockserver

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// instrument returns the effect of one fault, which is given by use, on the run of the plan p. The
// effect calls report with the name of the fault the first time that it alters its input. Many
// faults never do, because the run ends before their trigger. Random choices are drawn from r.
func instrument(use fault.Spec, r *rand.Rand, p *faultPlan, report func(fault string)) fault.Effect {
	e, done := use.NewEffect(r, p.thread, p.run), false
	applied := func() {
		if !done {
			done = true
			report(use.String())
		}
	}
	if inner := e.OnEvent; inner != nil {
		e.OnEvent = func(event *spec.Event, next func(*spec.Event)) {
			before, unchanged, n := *event, true, 0
			inner(event, func(out *spec.Event) {
				n++
				unchanged = unchanged && (done || reflect.DeepEqual(&before, out))
				next(out)
			})
			if n != 1 || !unchanged {
				applied()
			}
		}
	}
	if inner := e.OnEnd; inner != nil {
		e.OnEnd = func(next func(*spec.Event)) {
			inner(func(out *spec.Event) {
				applied()
				next(out)
			})
		}
	}
	if inner := e.OnFrame; inner != nil {
		e.OnFrame = func(frame []byte, next func([]byte)) {
			before, unchanged, n := bytes.Clone(frame), true, 0
			inner(frame, func(out []byte) {
				n++
				unchanged = unchanged && bytes.Equal(before, out)
				next(out)
			})
			if n != 1 || !unchanged {
				applied()
			}
		}
	}
	if inner := e.OnHead; inner != nil {
		e.OnHead = func(h *fault.ResponseHead) {
			status, wait, before := h.Status, h.Delay, h.Header.Clone()
			inner(h)
			if h.Status != status || h.Delay != wait || !reflect.DeepEqual(h.Header, before) {
				applied()
			}
		}
	}
	if inner := e.OnResume; inner != nil {
		e.OnResume = func(at, last int64) (int64, bool) {
			from, ok := inner(at, last)
			if from != at || !ok {
				applied()
			}
			return from, ok
		}
	}
	if inner := e.WrapBody; inner != nil {
		e.WrapBody = func(w fault.StreamWriter) fault.FrameWriter {
			seen := &changeDetector{StreamWriter: w, changed: applied}
			seen.body = inner(seen)
			return seen
		}
	}
	return e
}

// A changeDetector wraps the frame writer of a fault and the stream writer to which the fault
// writes. It calls changed whenever the fault alters, splits, drops or delays a frame, or ends the
// stream.
type changeDetector struct {
	fault.StreamWriter
	body     fault.FrameWriter
	changed  func()
	expected []byte // the frame being written; nil: no output is expected
	written  int    // bytes of it that were written so far
}

func (s *changeDetector) WriteFrame(n int, frame []byte) error {
	s.expected, s.written = frame, 0
	err := s.body.WriteFrame(n, frame)
	if s.written != len(frame) {
		s.changed()
	}
	s.expected = nil
	return err
}

func (s *changeDetector) Close() error { return s.body.Close() }

func (s *changeDetector) Write(p []byte) (int, error) {
	if s.written > len(s.expected) || !bytes.HasPrefix(s.expected[min(s.written, len(s.expected)):], p) {
		s.changed()
	}
	s.written += len(p)
	return s.StreamWriter.Write(p)
}

func (s *changeDetector) Flush() error {
	if 0 < s.written && s.written < len(s.expected) {
		s.changed() // the frame was split
	}
	return s.StreamWriter.Flush()
}

func (s *changeDetector) Sleep(d time.Duration) error {
	s.changed()
	return s.StreamWriter.Sleep(d)
}

func (s *changeDetector) Finish(how fault.StreamEnd) error {
	s.changed()
	return s.StreamWriter.Finish(how)
}
