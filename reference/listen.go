package reference

import (
	"cmp"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// How requests are read and answers written.
const (
	readWait  = 30 * time.Second // a body has come by then
	writeWait = 30 * time.Second // who takes nothing for so long has left
	mostWrite = 64 << 10         // bytes that are gathered for one write
)

// A listener is one stream that is being sent.
type listener struct {
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	run  *run                           // what is told; nil until it is found
	find func() (*run, <-chan struct{}) // finds it, or what is closed when it may be there

	from  int64  // the place that was heard last
	alive []byte // what is sent at each silent poll; nil: silence is not looked for
	limit int    // how many polls may be silent, one after the other
	buf   []byte
}

// listen tells of a run to whoever asks, from a cursor on.
func (s *Server) listen(w http.ResponseWriter, r *http.Request, o *dialect.Operation, ask spec.Event) {
	t, _, _ := s.store.find(ask.Thread, ask.Run)
	if t == nil {
		s.unknownThread(w, o, ask)
		return
	}
	l := &listener{s: s, w: w, r: r}
	if ask.Cursor != "" {
		var ok bool
		if l.from, ok = t.place(ask.Cursor); !ok {
			s.refuseAs(w, o, s.dialect.Refusal(o, "cursor"))
			return
		}
	}
	var err error
	if l.limit, err = strconv.Atoi(cmp.Or(ask.Limit, o.Default("limit"))); err != nil || l.limit < 1 {
		l.limit = 1 << 30
	}
	l.alive, _ = o.Append(nil, spec.Event{Kind: spec.Comment, Text: " keep-alive"}) // comments can be written anywhere
	l.find = func() (*run, <-chan struct{}) {
		_, r, more := s.store.find(ask.Thread, ask.Run)
		return r, more
	}
	l.tell()
}

// tell sends the stream until the run is over, nobody listens any more, or it was
// silent for too long.
func (l *listener) tell() {
	header := l.w.Header()
	header.Set("Content-Type", spec.EventStream)
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no") // or nginx gathers events
	l.w.WriteHeader(http.StatusOK)
	hurry(l.w)
	if l.r.Method == http.MethodHead {
		return
	}
	poll := time.NewTimer(l.s.cfg.Poll)
	defer poll.Stop()
	if l.alive == nil {
		poll.Stop()
	}
	runtime.Gosched() // a run that was opened just now may have something to say
	for silent := 0; ; {
		now := l.catchUp()
		if now.err != nil || now.over {
			return
		}
		if now.told && l.alive != nil {
			silent = 0
			poll.Reset(l.s.cfg.Poll)
		}
		if l.flush() != nil {
			return
		}
		select {
		case <-now.more:
			runtime.Gosched() // what is due at once goes out at once
		case <-poll.C:
			if l.write(l.alive) != nil {
				return
			}
			if silent++; silent >= l.limit {
				return
			}
			poll.Reset(l.s.cfg.Poll)
		case <-now.shut:
			return
		case <-l.r.Context().Done():
			return
		}
	}
}

// A glance is what a listener finds when it looks.
type glance struct {
	told bool            // there was something to send, and it was written
	over bool            // nothing will come any more
	more <-chan struct{} // closed when there is more
	shut <-chan struct{} // closed when it is no use to wait for that
	err  error           // the client is gone
}

// catchUp writes what there is to be sent.
func (l *listener) catchUp() (g glance) {
	var more <-chan struct{}
	if l.run == nil {
		l.run, more = l.find()
	}
	if l.run == nil { // it may still come, but not while the server is being shut
		return glance{more: more, shut: l.s.ctx.Done()}
	}
	frames, over, more := l.run.after(l.from)
	g = glance{told: len(frames) > 0, over: over, more: more}
	for _, f := range frames {
		l.from = f.at
		if l.buf = append(l.buf, f.data...); len(l.buf) >= mostWrite && g.err == nil {
			g.err = l.drain()
		}
	}
	if g.err == nil {
		g.err = l.drain()
	}
	return g
}

// drain writes what was gathered.
func (l *listener) drain() error {
	err := l.write(l.buf)
	if l.buf = l.buf[:0]; cap(l.buf) > 2*mostWrite {
		l.buf = nil // one large event is no reason to hold on to so much
	}
	return err
}

func (l *listener) write(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	hurry(l.w)
	_, err := l.w.Write(data)
	return err
}

func (l *listener) flush() error {
	hurry(l.w)
	err := http.NewResponseController(l.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// hurry gives the client so long to take what is sent next. A connection keeps its
// deadline for the next request, so whatever is sent sets one. Not everything that
// can be written to has deadlines.
func hurry(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWait))
}
