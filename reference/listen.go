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
	readTimeout    = 30 * time.Second // a body has come by then
	writeTimeout   = 30 * time.Second // who takes nothing for so long has left
	maxWriteBuffer = 64 << 10         // bytes that are gathered for one write
)

// A streamWriter is one stream that is being sent.
type streamWriter struct {
	s       *Server
	w       http.ResponseWriter
	r       *http.Request
	op      *dialect.Operation
	events  eventSource                                  // nil until the run is found
	findRun func() (eventSource, <-chan struct{}, error) // finds it, or what tells that it may be there

	position       int64  // the place that was heard last
	threadTag      uint32 // the thread's: part of cursors; cursors are written if alive is there
	keepAlive      []byte // what is sent at each silent poll; nil: silence is not looked for
	maxSilentPolls int    // how many polls may be silent, one after the other
	buf            []byte
}

// A eventSource is what was told of a run.
type eventSource interface {
	// after is what was told beyond a place in the thread. If that is nothing yet, more
	// receives, or is closed, when there is.
	eventsAfter(at int64) (told []state.LogEntry, over bool, more <-chan struct{}, err error)
}

// A storedRun is a run that is played elsewhere, or was played before: the store tells it.
type storedRun struct {
	ctx       context.Context
	registry  *runRegistry
	ref       state.RunRef
	threadTag uint32
	changed   <-chan struct{}
	current   *sharedRead // what is being sent
}

// maxReadEvents is how many events are read from a store at once.
const maxReadEvents = 256

// closedChannel is for more that may be there already.
var closedChannel = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

func (h *storedRun) eventsAfter(position int64) (events []state.LogEntry, ended bool, changed <-chan struct{}, err error) {
	h.release()
	h.current = h.registry.reads.read(h.ctx, h.registry.store, sharedReadKey{h.ref, h.threadTag, position})
	events, ended, err = h.current.events, h.current.ended, h.current.err
	if changed = h.changed; len(events) > 0 && !ended {
		changed = closedChannel // what comes at once is bounded: only the next look tells whether it was all
	}
	return events, ended, changed, err
}

// release says that what was read has been sent.
func (h *storedRun) release() {
	h.registry.reads.release(h.current)
	h.current = nil
}

// exists reports whether the run is, or was, there.
func (h *storedRun) exists() (bool, error) {
	ctx, cancel := context.WithTimeout(h.ctx, storeTimeout)
	defer cancel()
	_, _, err := h.registry.store.EventsAfter(ctx, h.ref, 1<<62, 1)
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// serveListen tells of a run to whoever asks, from a cursor on.
func (s *Server) serveListen(c *requestContext) {
	t, ok := s.authorizeThread(c, false)
	if !ok {
		return
	}
	ref := s.runRef(c.event.Thread, c.event.Run)
	l := &streamWriter{s: s, w: c.w, r: c.r, op: c.op, threadTag: t.Tag}
	if c.event.Cursor != "" {
		if l.position, ok = parseCursor(t, c.event.Cursor); ok && l.position <= t.LastForgotten {
			_, _, err := s.registry.store.EventsAfter(c.r.Context(), ref, l.position, 1)
			ok = err == nil // of a run that is forgotten, what came next is not known any more
		}
		if ok && c.override.ResumeFrom != nil {
			l.position, ok = c.override.ResumeFrom(l.position, t.LastPosition)
		}
		if !ok {
			s.refuseViolation(c, s.dialect.UnknownSlotViolation(c.op, "cursor"))
			return
		}
	}
	releaseStream, ok := s.registry.acquireStream(c.user)
	if !ok {
		s.refuseTooManyStreams(c)
		return
	}
	defer releaseStream()
	var err error
	if l.maxSilentPolls, err = strconv.Atoi(cmp.Or(c.event.PollLimit, c.op.DefaultValue("limit"))); err != nil || l.maxSilentPolls < 1 {
		l.maxSilentPolls = 1 << 30
	}
	l.keepAlive, _ = c.op.AppendEvent(nil, &spec.Event{Kind: spec.Comment, Text: " keep-alive"}) // comments can be written anywhere
	changed, stop := s.registry.store.Watch(ref.Thread)
	defer stop()
	l.findRun = func() (eventSource, <-chan struct{}, error) {
		if r := s.registry.findRun(ref); r != nil {
			return r, nil, nil
		}
		h := &storedRun{ctx: c.r.Context(), registry: s.registry, ref: ref, threadTag: t.Tag, changed: changed}
		known, err := h.exists()
		if !known && err == nil {
			return nil, changed, nil
		}
		return h, nil, err
	}
	defer l.release()
	if s.cfg.EventSource && l.position > 0 && l.isComplete() {
		c.w.WriteHeader(http.StatusNoContent)
		return
	}
	l.stream()
}

// isComplete says whether the client has heard all of a run that is over.
func (l *streamWriter) isComplete() bool {
	var err error
	if l.events, _, err = l.findRun(); l.events == nil || err != nil {
		return false
	}
	rest, over, _, err := l.events.eventsAfter(l.position)
	return err == nil && over && len(rest) == 0
}

// formatCursor spells a place in a thread. It names the thread as well: a cursor of
// another one is of no use here.
func formatCursor(at int64, tag uint32) string { return fmt.Sprintf("%d-%d", at, tag) }

// parseCursor reads a cursor back; ok is whether it was handed out in this thread.
func parseCursor(t state.Thread, text string) (at int64, ok bool) {
	first, _, _ := strings.Cut(text, "-")
	at, err := strconv.ParseInt(first, 10, 64)
	return at, err == nil && at > 0 && at <= t.LastPosition && formatCursor(at, t.Tag) == text
}

// stream sends the stream until the run is over, nobody listens any more, or it was
// silent for too long.
func (l *streamWriter) stream() {
	l.s.metrics.StreamOpened()
	defer l.s.metrics.StreamClosed()
	l.writeHead()
	if l.r.Method == http.MethodHead {
		return
	}
	var poll *time.Timer
	var polled <-chan time.Time
	if l.keepAlive != nil {
		poll = time.NewTimer(l.s.cfg.PollInterval)
		polled = poll.C
		defer poll.Stop()
	}
	runtime.Gosched() // a run that was opened just now may have something to say
	for silent := 0; ; {
		result := l.writePending()
		if result.err != nil || result.ended {
			return
		}
		if result.wrote && l.keepAlive != nil {
			silent = 0
			poll.Reset(l.s.cfg.PollInterval)
		}
		if result.changed == closedChannel {
			continue
		}
		if l.flush() != nil {
			return
		}
		select {
		case <-result.changed:
			runtime.Gosched() // what is due at once goes out at once
		case <-polled:
			if l.write(l.keepAlive) != nil {
				return
			}
			if silent++; silent >= l.maxSilentPolls {
				return
			}
			poll.Reset(l.s.cfg.PollInterval)
		case <-result.shutdown:
			return
		case <-l.r.Context().Done():
			return
		}
	}
}

// writeHead sends what comes before the events.
func (l *streamWriter) writeHead() {
	l.s.metrics.ResponseSent(l.op.Name, http.StatusOK)
	header := l.w.Header()
	header.Set("Content-Type", spec.EventStream)
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no") // or nginx gathers events
	if l.r.ProtoMajor == 1 {
		header.Set("Transfer-Encoding", "chunked") // also where all of it is there at once
	}
	l.w.WriteHeader(http.StatusOK)
	extendWriteDeadline(l.w)
}

// A pollResult is what a listener finds when it looks.
type pollResult struct {
	wrote    bool            // there was something to send, and it was written
	ended    bool            // nothing will come any more
	changed  <-chan struct{} // closed when there is more
	shutdown <-chan struct{} // closed when it is no use to wait for that
	err      error           // the client is gone
}

// writePending writes what there is to be sent.
func (l *streamWriter) writePending() (g pollResult) {
	var changed <-chan struct{}
	if l.events == nil {
		l.events, changed, g.err = l.findRun()
	}
	if l.events == nil { // it may still come, but not while the server is being shut
		return pollResult{changed: changed, shutdown: l.s.ctx.Done(), err: g.err}
	}
	events, ended, changed, err := l.events.eventsAfter(l.position)
	g = pollResult{wrote: len(events) > 0, ended: ended, changed: changed, shutdown: l.shutdown(), err: err}
	for _, e := range events {
		l.position = e.Position
		if l.keepAlive != nil {
			l.buf = l.s.capabilities.op.AppendCursor(l.buf, formatCursor(e.Position, l.threadTag))
		}
		if g.err == nil {
			g.err = l.buffer(e.Data)
		}
	}
	if g.err == nil && changed != closedChannel {
		g.err = l.writeBuffered()
	}
	return g
}

// buffer sends an event with those that come next. A large one is sent from where it
// is: others may be sending it too.
func (l *streamWriter) buffer(data []byte) error {
	if len(data) < maxWriteBuffer {
		if l.buf = append(l.buf, data...); len(l.buf) < maxWriteBuffer {
			return nil
		}
		return l.writeBuffered()
	}
	if err := l.writeBuffered(); err != nil {
		return err
	}
	return l.write(data)
}

// release gives back what was read.
func (l *streamWriter) release() {
	if h, ok := l.events.(*storedRun); ok {
		h.release()
	}
}

// shutdown is closed when a stream has to end although its run goes on elsewhere.
func (l *streamWriter) shutdown() <-chan struct{} {
	if _, here := l.events.(*run); here {
		return nil // it is ended by its last event
	}
	return l.s.ctx.Done()
}

// writeBuffered writes what was gathered.
func (l *streamWriter) writeBuffered() error {
	err := l.write(l.buf)
	if l.buf = l.buf[:0]; cap(l.buf) > 2*maxWriteBuffer {
		l.buf = nil // one large event is no reason to hold on to so much
	}
	return err
}

// write sends data piece by piece: the client has its time for each of them.
func (l *streamWriter) write(data []byte) error {
	for len(data) > 0 {
		piece := data[:min(len(data), 2*maxWriteBuffer)]
		data = data[len(piece):]
		extendWriteDeadline(l.w)
		if _, err := l.w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

func (l *streamWriter) flush() error {
	extendWriteDeadline(l.w)
	err := http.NewResponseController(l.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// extendWriteDeadline gives the client so long to take what is sent next. A connection keeps its
// deadline for the next request, so whatever is sent sets one. Not everything that
// can be written to has deadlines.
func extendWriteDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
}
