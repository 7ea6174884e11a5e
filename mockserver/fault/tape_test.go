package fault_test

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
)

var errEnded = errors.New("the stream was ended")

// A tape is a Writer that writes down what is done to it. Time passes only in Sleep.
type tape struct {
	segments []string // what was flushed at once
	at       []time.Duration
	gathered bytes.Buffer
	now      time.Duration
	ending   fault.Ending
	timers   map[time.Duration]func()
}

func (t *tape) Write(p []byte) (int, error) {
	if t.ending != "" {
		return 0, errEnded
	}
	return t.gathered.Write(p)
}

func (t *tape) Flush() error {
	if t.ending != "" {
		return errEnded
	}
	if t.gathered.Len() > 0 {
		t.segments, t.at = append(t.segments, t.gathered.String()), append(t.at, t.now)
		t.gathered.Reset()
	}
	return nil
}

func (t *tape) Sleep(d time.Duration) error {
	if t.ending != "" {
		return errEnded
	}
	t.pass(d)
	return nil
}

// pass lets time go on.
func (t *tape) pass(d time.Duration) {
	t.now += d
	for at, f := range t.timers {
		if at <= t.now {
			delete(t.timers, at)
			f()
		}
	}
}

func (t *tape) Finish(how fault.Ending) error {
	_ = t.Flush()
	if t.ending == "" {
		t.ending = how
	}
	return errEnded
}

func (t *tape) After(d time.Duration, f func()) {
	if t.timers == nil {
		t.timers = map[time.Duration]func(){}
	}
	t.timers[d] = f
}

// sent is all that came out.
func (t *tape) sent() string { return strings.Join(t.segments, "") }

// send plays frames through a body, each a step after the one before, and flushed as
// servers do.
func (t *tape) send(body fault.Body, step time.Duration, frames ...string) {
	n := 0
	for _, f := range frames {
		k := -1
		if !strings.HasPrefix(f, ":") {
			k = n
			n++
		}
		if t.ending != "" || body.Frame(k, []byte(f)) != nil {
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
