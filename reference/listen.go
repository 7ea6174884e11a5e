package reference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/reference/state"
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
	o    *dialect.Operation
	told source                                  // nil until the run is found
	find func() (source, <-chan struct{}, error) // finds it, or what tells that it may be there

	from  int64  // the place that was heard last
	tag   uint32 // the thread's: part of cursors; cursors are written if alive is there
	alive []byte // what is sent at each silent poll; nil: silence is not looked for
	limit int    // how many polls may be silent, one after the other
	buf   []byte
}

// A source is what was told of a run.
type source interface {
	// after is what was told beyond a place in the thread. If that is nothing yet, more
	// receives, or is closed, when there is.
	after(at int64) (told []state.Entry, over bool, more <-chan struct{}, err error)
}

// A shelf is a run that is played elsewhere, or was played before: the store tells it.
type shelf struct {
	ctx     context.Context
	hub     *hub
	ref     state.Ref
	tag     uint32
	changed <-chan struct{}
	held    *reading // what is being sent
}

// mostTold is how many events are read from a store at once.
const mostTold = 256

// atOnce is for more that may be there already.
var atOnce = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

func (h *shelf) after(at int64) (told []state.Entry, over bool, more <-chan struct{}, err error) {
	h.release()
	h.held = h.hub.readings.read(h.ctx, h.hub.store, readingKey{h.ref, h.tag, at})
	told, over, err = h.held.told, h.held.over, h.held.err
	if more = h.changed; len(told) > 0 && !over {
		more = atOnce // what comes at once is bounded: only the next look tells whether it was all
	}
	return told, over, more, err
}

// release says that what was read has been sent.
func (h *shelf) release() {
	h.hub.readings.release(h.held)
	h.held = nil
}

// known reports whether the run is, or was, there.
func (h *shelf) known() (bool, error) {
	ctx, cancel := context.WithTimeout(h.ctx, storing)
	defer cancel()
	_, _, err := h.hub.store.After(ctx, h.ref, 1<<62, 1)
	if errors.Is(err, state.ErrUnknown) {
		return false, nil
	}
	return err == nil, err
}

// listen tells of a run to whoever asks, from a cursor on.
func (s *Server) listen(c *call) {
	t, ok := s.thread(c, false)
	if !ok {
		return
	}
	ref := s.ref(c.ask.Thread, c.ask.Run)
	l := &listener{s: s, w: c.w, r: c.r, o: c.o, tag: t.Tag}
	if c.ask.Cursor != "" {
		if l.from, ok = place(t, c.ask.Cursor); ok && l.from <= t.Lost {
			_, _, err := s.hub.store.After(c.r.Context(), ref, l.from, 1)
			ok = err == nil // of a run that is forgotten, what came next is not known any more
		}
		if ok && c.as.From != nil {
			l.from, ok = c.as.From(l.from, t.Last)
		}
		if !ok {
			s.refuseAs(c, s.dialect.UnknownSlotViolation(c.o, "cursor"))
			return
		}
	}
	out, ok := s.hub.admit(c.user)
	if !ok {
		s.crowded(c)
		return
	}
	defer out()
	var err error
	if l.limit, err = strconv.Atoi(cmp.Or(c.ask.PollLimit, c.o.DefaultValue("limit"))); err != nil || l.limit < 1 {
		l.limit = 1 << 30
	}
	l.alive, _ = c.o.AppendEvent(nil, &spec.Event{Kind: spec.Comment, Text: " keep-alive"}) // comments can be written anywhere
	changed, stop := s.hub.store.Watch(ref.Thread)
	defer stop()
	l.find = func() (source, <-chan struct{}, error) {
		if r := s.hub.find(ref); r != nil {
			return r, nil, nil
		}
		h := &shelf{ctx: c.r.Context(), hub: s.hub, ref: ref, tag: t.Tag, changed: changed}
		known, err := h.known()
		if !known && err == nil {
			return nil, changed, nil
		}
		return h, nil, err
	}
	defer l.release()
	if s.cfg.EventSource && l.from > 0 && l.ended() {
		c.w.WriteHeader(http.StatusNoContent)
		return
	}
	l.tell()
}

// ended says whether the client has heard all of a run that is over.
func (l *listener) ended() bool {
	var err error
	if l.told, _, err = l.find(); l.told == nil || err != nil {
		return false
	}
	rest, over, _, err := l.told.after(l.from)
	return err == nil && over && len(rest) == 0
}

// cursor spells a place in a thread. It names the thread as well: a cursor of
// another one is of no use here.
func cursor(at int64, tag uint32) string { return fmt.Sprintf("%d-%d", at, tag) }

// place reads a cursor back; ok is whether it was handed out in this thread.
func place(t state.Thread, text string) (at int64, ok bool) {
	first, _, _ := strings.Cut(text, "-")
	at, err := strconv.ParseInt(first, 10, 64)
	return at, err == nil && at > 0 && at <= t.Last && cursor(at, t.Tag) == text
}

// tell sends the stream until the run is over, nobody listens any more, or it was
// silent for too long.
func (l *listener) tell() {
	l.s.count.StreamOpened()
	defer l.s.count.StreamClosed()
	l.head()
	if l.r.Method == http.MethodHead {
		return
	}
	var poll *time.Timer
	var polled <-chan time.Time
	if l.alive != nil {
		poll = time.NewTimer(l.s.cfg.Poll)
		polled = poll.C
		defer poll.Stop()
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
		if now.more == atOnce {
			continue
		}
		if l.flush() != nil {
			return
		}
		select {
		case <-now.more:
			runtime.Gosched() // what is due at once goes out at once
		case <-polled:
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

// head sends what comes before the events.
func (l *listener) head() {
	l.s.count.Answered(l.o.Name, http.StatusOK)
	header := l.w.Header()
	header.Set("Content-Type", spec.EventStream)
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no") // or nginx gathers events
	if l.r.ProtoMajor == 1 {
		header.Set("Transfer-Encoding", "chunked") // also where all of it is there at once
	}
	l.w.WriteHeader(http.StatusOK)
	hurry(l.w)
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
	if l.told == nil {
		l.told, more, g.err = l.find()
	}
	if l.told == nil { // it may still come, but not while the server is being shut
		return glance{more: more, shut: l.s.ctx.Done(), err: g.err}
	}
	told, over, more, err := l.told.after(l.from)
	g = glance{told: len(told) > 0, over: over, more: more, shut: l.shut(), err: err}
	for _, e := range told {
		l.from = e.At
		if l.alive != nil {
			l.buf = l.s.voice.op.AppendCursor(l.buf, cursor(e.At, l.tag))
		}
		if g.err == nil {
			g.err = l.gather(e.Data)
		}
	}
	if g.err == nil && more != atOnce {
		g.err = l.drain()
	}
	return g
}

// gather sends an event with those that come next. A large one is sent from where it
// is: others may be sending it too.
func (l *listener) gather(data []byte) error {
	if len(data) < mostWrite {
		if l.buf = append(l.buf, data...); len(l.buf) < mostWrite {
			return nil
		}
		return l.drain()
	}
	if err := l.drain(); err != nil {
		return err
	}
	return l.write(data)
}

// release gives back what was read.
func (l *listener) release() {
	if h, ok := l.told.(*shelf); ok {
		h.release()
	}
}

// shut is closed when a stream has to end although its run goes on elsewhere.
func (l *listener) shut() <-chan struct{} {
	if _, here := l.told.(*run); here {
		return nil // it is ended by its last event
	}
	return l.s.ctx.Done()
}

// drain writes what was gathered.
func (l *listener) drain() error {
	err := l.write(l.buf)
	if l.buf = l.buf[:0]; cap(l.buf) > 2*mostWrite {
		l.buf = nil // one large event is no reason to hold on to so much
	}
	return err
}

// write sends data piece by piece: the client has its time for each of them.
func (l *listener) write(data []byte) error {
	for len(data) > 0 {
		piece := data[:min(len(data), 2*mostWrite)]
		data = data[len(piece):]
		hurry(l.w)
		if _, err := l.w.Write(piece); err != nil {
			return err
		}
	}
	return nil
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
