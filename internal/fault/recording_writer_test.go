package fault_test

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
)

var errEnded = errors.New("the stream was ended")

// A recordingWriter is a StreamSink that records its calls. Its clock advances only in
// Sleep and send.
type recordingWriter struct {
	segments []string // the data of each flush
	at       []time.Duration
	gathered bytes.Buffer
	now      time.Duration
	ending   fault.StreamEnd
	timers   map[time.Duration]func()
}

func (t *recordingWriter) Write(p []byte) (int, error) {
	if t.ending != "" {
		return 0, errEnded
	}
	return t.gathered.Write(p)
}

func (t *recordingWriter) Flush() error {
	if t.ending != "" {
		return errEnded
	}
	if t.gathered.Len() > 0 {
		t.segments, t.at = append(t.segments, t.gathered.String()), append(t.at, t.now)
		t.gathered.Reset()
	}
	return nil
}

func (t *recordingWriter) Sleep(d time.Duration) error {
	if t.ending != "" {
		return errEnded
	}
	t.pass(d)
	return nil
}

// pass advances the clock by d and calls the functions whose time has come.
func (t *recordingWriter) pass(d time.Duration) {
	t.now += d
	for at, f := range t.timers {
		if at <= t.now {
			delete(t.timers, at)
			f()
		}
	}
}

func (t *recordingWriter) Finish(how fault.StreamEnd) error {
	_ = t.Flush()
	if t.ending == "" {
		t.ending = how
	}
	return errEnded
}

func (t *recordingWriter) After(d time.Duration, f func()) {
	if t.timers == nil {
		t.timers = map[time.Duration]func(){}
	}
	t.timers[d] = f
}

// sent returns all data that was flushed, joined to one string.
func (t *recordingWriter) sent() string { return strings.Join(t.segments, "") }

// send writes frames to body at intervals of step, flushing after each as servers do, and closes
// body. It stops when the stream is ended or body returns an error.
func (t *recordingWriter) send(body fault.FrameWriter, step time.Duration, frames ...string) {
	n := 0
	for _, f := range frames {
		k := -1
		if !strings.HasPrefix(f, ":") {
			k = n
			n++
		}
		if t.ending != "" || body.WriteFrame(k, []byte(f)) != nil {
			break
		}
		_ = t.Flush()
		t.pass(step)
	}
	if t.ending == "" {
		_ = body.Close()
		_ = t.Flush()
	}
}
