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

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Limits for reading requests and writing responses. They ensure that a client that stops reading
// or writing does not hold resources for long.
const (
	readTimeout    = 30 * time.Second // for a request body
	writeTimeout   = 30 * time.Second // per write; a client that accepts nothing for this long is treated as gone
	maxWriteBuffer = 64 << 10         // bytes gathered for one write
)

// A streamWriter writes the event stream of one response.
type streamWriter struct {
	*requestContext
	s      *Server
	events runLogReader // reader of the run's events; nil until findRun has found the run
	// findRun returns a reader of the run's events. If the run does not exist, the reader is nil,
	// and the channel receives a value when a run may have been started.
	findRun func() (runLogReader, <-chan struct{})

	position       int64  // position of the last event written
	threadTag      uint32 // tag of the thread, which is part of cursors
	keepAlive      []byte // comment to send while the run is idle; nil: send neither comments nor cursors
	maxSilentPolls int    // number of consecutive poll intervals without an event after which the stream ends
	buf            []byte // the write buffer
}

// A runLogReader provides the events of one run, whether or not this process executes the run.
type runLogReader interface {
	// eventsAfter returns the events of the run whose positions in the thread are greater than
	// position, ordered by position. It may return only the first few of them. If ended is true,
	// the run has no further events. If ended is false, the caller should receive from changed and
	// then call eventsAfter again. The error is any error from reading the events.
	eventsAfter(position int64) (events []state.LogEntry, ended bool, changed <-chan struct{}, err error)
}

// A storedLogReader is a runLogReader that reads the events of a run from the store. It is used
// for runs that another process executes, and for runs that have ended.
type storedLogReader struct {
	ctx       context.Context
	registry  *runRegistry
	ref       state.RunRef
	threadTag uint32
	changed   <-chan struct{} // receives a value when the thread may have changed
	current   *sharedRead     // the events that eventsAfter returned last; nil after release
}

// maxReadEvents is the maximum number of events that one read from the store returns.
const maxReadEvents = 256

// closedChannel is a closed channel. A runLogReader returns it as changed if there may already be
// further events, so that its caller should call eventsAfter again without waiting.
var closedChannel = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

func (h *storedLogReader) eventsAfter(position int64) (
	events []state.LogEntry, ended bool, changed <-chan struct{}, err error,
) {
	h.release()
	h.current = h.registry.reads.read(h.ctx, h.registry.store, sharedReadKey{h.ref, h.threadTag, position})
	events, ended, err = h.current.events, h.current.ended, h.current.err
	if changed = h.changed; len(events) > 0 && !ended {
		changed = closedChannel // one read is bounded: only the next one shows whether there was more
	}
	return events, ended, changed, err
}

// release allows the events that eventsAfter returned to be removed from memory. The caller must
// not use those events afterwards.
func (h *storedLogReader) release() {
	h.registry.reads.release(h.current)
	h.current = nil
}

// isMissing reports whether the store does not contain the run. It returns false if the store
// fails.
func (h *storedLogReader) isMissing() bool {
	ctx, cancel := context.WithTimeout(h.ctx, storeTimeout)
	defer cancel()
	const beyondAll = 1 << 62
	_, _, err := h.registry.store.EventsAfter(ctx, h.ref, beyondAll, 1)
	return errors.Is(err, state.ErrNotFound)
}

// serveListen streams the events of a run that another request started. The stream begins after the
// event that the request's cursor identifies or, without a cursor, with the first event. If the run
// has not started yet, serveListen waits until it starts. It refuses a cursor that is invalid or
// refers to a run that the store has dropped, and a request for a conversation that does not exist
// or belongs to another user.
func (s *Server) serveListen(c *requestContext) {
	t, ok := s.authorizeThread(c, false)
	if !ok {
		return
	}
	ref := s.runRef(c.event.Thread, c.event.Run)
	l := &streamWriter{requestContext: c, s: s, threadTag: t.Tag}
	if c.event.Cursor != "" {
		if l.position, ok = parseCursor(t, c.event.Cursor); ok && l.position <= t.LastForgotten {
			_, _, err := s.registry.store.EventsAfter(c.r.Context(), ref, l.position, 1)
			ok = err == nil // events of a forgotten run cannot be resumed
		}
		if ok && c.override.ResumeFrom != nil {
			l.position, ok = c.override.ResumeFrom(l.position, t.LastPosition)
		}
		if !ok {
			s.refuseViolation(c, s.dialect.UnknownSlotViolation(c.op, "cursor"))
			return
		}
	}
	releaseStream, ok := s.openStream(c)
	if !ok {
		return
	}
	defer releaseStream()
	var err error
	l.maxSilentPolls, err = strconv.Atoi(cmp.Or(c.event.PollLimit, c.op.DefaultValue("limit")))
	if err != nil || l.maxSilentPolls < 1 {
		l.maxSilentPolls = 1 << 30
	}
	// No error: every dialect can encode comments.
	l.keepAlive, _ = c.op.AppendEvent(nil, &spec.Event{Kind: spec.Comment, Text: c.op.KeepAlive()})
	changed, stop := s.registry.store.Watch(ref.Thread)
	defer stop()
	l.findRun = func() (runLogReader, <-chan struct{}) {
		if r := s.registry.findRun(ref); r != nil {
			return r, nil
		}
		h := &storedLogReader{ctx: c.r.Context(), registry: s.registry, ref: ref, threadTag: t.Tag, changed: changed}
		if h.isMissing() {
			return nil, changed
		}
		return h, nil
	}
	defer l.release()
	if s.cfg.EventSource && l.position > 0 && l.isComplete() {
		s.writeResponse(c, dialect.NonStreamResponse{Status: http.StatusNoContent})
		return
	}
	l.stream()
}

// isComplete reports whether the run has ended and all its events have been sent to the client. It
// returns false if the run does not exist or cannot be read.
func (l *streamWriter) isComplete() bool {
	if l.events, _ = l.findRun(); l.events == nil {
		return false
	}
	rest, ended, _, err := l.events.eventsAfter(l.position)
	return err == nil && ended && len(rest) == 0
}

// formatCursor returns the cursor for a position in the thread with the given tag (see
// state.Thread.Tag): the two decimal numbers, joined by a hyphen. Because of the tag, the cursor is
// invalid in other threads.
func formatCursor(position int64, tag uint32) string { return fmt.Sprintf("%d-%d", position, tag) }

// parseCursor returns the position of the event that the cursor identifies. ok is false if the
// cursor is malformed or was not issued for the thread t.
func parseCursor(t state.Thread, cursor string) (position int64, ok bool) {
	first, _, _ := strings.Cut(cursor, "-")
	position, err := strconv.ParseInt(first, 10, 64)
	return position, err == nil && position > 0 && position <= t.LastPosition && formatCursor(position, t.Tag) == cursor
}

// stream writes the response. It returns when the run ends, the client leaves, the store fails, or
// no event has occurred during maxSilentPolls intervals of Config.PollInterval. It also returns
// when this server shuts down, unless this process executes the run.
func (l *streamWriter) stream() {
	l.s.metrics.Streams.Inc()
	defer l.s.metrics.Streams.Dec()
	l.writeHead()
	if l.r.Method == http.MethodHead {
		return
	}
	poll := time.NewTimer(l.s.cfg.PollInterval)
	defer poll.Stop()
	if l.keepAlive == nil {
		poll.Stop()
	}
	runtime.Gosched() // lets a run that has just been started emit its first events
	for silent := 0; ; {
		wrote, done, changed := l.writePending()
		if done {
			return
		}
		if wrote && l.keepAlive != nil {
			silent = 0
			poll.Reset(l.s.cfg.PollInterval)
		}
		if changed == closedChannel {
			continue
		}
		if l.flush() != nil {
			return
		}
		select {
		case <-changed:
			runtime.Gosched() // gathers events that are emitted at the same time into one write
		case <-poll.C:
			if silent++; l.write(l.keepAlive) != nil || silent >= l.maxSilentPolls {
				return
			}
			poll.Reset(l.s.cfg.PollInterval)
		case <-l.shutdown():
			return
		case <-l.r.Context().Done():
			return
		}
	}
}

// writeHead sends the status and the header of the event stream.
func (l *streamWriter) writeHead() {
	l.s.metrics.ResponseSent(l.op.Name, http.StatusOK)
	header := l.w.Header()
	header.Set("Content-Type", spec.EventStream)
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no") // keeps nginx from buffering
	if l.r.ProtoMajor == 1 {
		header.Set("Transfer-Encoding", "chunked") // also for a short body, which would get a Content-Length
	}
	l.w.WriteHeader(http.StatusOK)
	extendWriteDeadline(l.w)
}

// writePending writes the events of the run that have not been written yet. wrote reports whether
// there were any. done reports whether the stream must end, because the run has ended, writing
// failed or the store failed. If done is false, the caller should call writePending again when it
// can receive from changed. If changed is closedChannel, the write buffer may still contain events.
func (l *streamWriter) writePending() (wrote, done bool, changed <-chan struct{}) {
	if l.events == nil {
		l.events, changed = l.findRun()
	}
	if l.events == nil { // the run may still be started
		return false, false, changed
	}
	events, ended, changed, err := l.events.eventsAfter(l.position)
	for _, e := range events {
		l.position = e.Position
		if l.keepAlive != nil {
			l.buf = l.s.features.op.AppendCursor(l.buf, formatCursor(e.Position, l.threadTag))
		}
		if err == nil {
			err = l.buffer(e.Data)
		}
	}
	if err == nil && changed != closedChannel {
		err = l.writeBuffered()
	}
	return len(events) > 0, ended || err != nil, changed
}

// buffer appends an encoded event to the write buffer. If the buffer reaches maxWriteBuffer bytes,
// buffer writes its contents to the client. The error is any error from writing.
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
	return l.write(data) // not copied: all streams of the run share a large event in memory
}

// release calls the method release of the storedLogReader, if the stream uses one.
func (l *streamWriter) release() {
	if h, ok := l.events.(*storedLogReader); ok {
		h.release()
	}
}

// shutdown returns a channel that is closed when the server shuts down; the caller must then end
// the stream. It returns nil if this process executes the run: such a stream ends with the terminal
// event of the run instead.
func (l *streamWriter) shutdown() <-chan struct{} {
	if _, here := l.events.(*run); here {
		return nil
	}
	return l.s.ctx.Done()
}

// writeBuffered writes the contents of the write buffer to the client. It empties the buffer even
// if it returns an error.
func (l *streamWriter) writeBuffered() error {
	err := l.write(l.buf)
	if l.buf = l.buf[:0]; cap(l.buf) > 2*maxWriteBuffer {
		l.buf = nil // do not keep a large buffer after one large event
	}
	return err
}

// write sends data to the client in pieces of at most 2*maxWriteBuffer bytes, and extends the write
// deadline before each piece. It returns any error from writing.
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
	if err := http.NewResponseController(l.w).Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// extendWriteDeadline sets the write deadline of the connection to writeTimeout from now. It does
// nothing if w does not support deadlines. The server must call extendWriteDeadline for every
// response, because a connection keeps the deadline of the previous response.
func extendWriteDeadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
}

// A deadlineExtender is the response writer for a file. It extends the write deadline before each
// write.
type deadlineExtender struct{ http.ResponseWriter }

func (w deadlineExtender) Write(data []byte) (int, error) {
	extendWriteDeadline(w.ResponseWriter)
	return w.ResponseWriter.Write(data)
}

// Unwrap returns the wrapped writer, for [http.ResponseController].
func (w deadlineExtender) Unwrap() http.ResponseWriter { return w.ResponseWriter }
