package mockserver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/journal"
)

// errEnded is the error for a write to a stream that a fault or [Stream.End] has ended, or to a
// response whose handler has returned.
var errEnded = errors.New("stream ended by the mock")

// writeTimeout is the maximum duration of one write to the client's connection.
const writeTimeout = 30 * time.Second

// A clientWriter is the last stage of the pipeline through which a response passes; see
// responseWriter. It writes to the connection, records in the journal what it wrote, and ends the
// response early if a fault or [Stream.End] requires it. It implements fault.StreamSink. All
// methods except After and end may be called concurrently.
type clientWriter struct {
	http.ResponseWriter
	exchange *requestState
	ctx      context.Context // done when the client left, Finish ended the stream, or the request has been served
	cancel   context.CancelCauseFunc

	mu            sync.Mutex // protects the fields below except timers, and serializes writes, also of Stream.Inject
	headSent      bool
	headTime      time.Time       // when the head was sent
	deadlineValid time.Time       // extendDeadline does nothing before this time
	ending        fault.StreamEnd // how Finish ended the stream; "" if it was not called
	handlerDone   bool            // the handler has returned
	timers        []*time.Timer   // the timers that After started
}

// WriteHeader sends the head of the response with the given status. It sends nothing if Finish has
// ended the stream.
func (c *clientWriter) WriteHeader(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headSent, c.headTime = true, time.Now()
	if c.ending == "" {
		c.extendDeadline()
		c.ResponseWriter.WriteHeader(status)
	}
}

// Write writes p to the connection and records it in the journal. It returns errEnded if the stream
// has ended, and otherwise any error from writing.
func (c *clientWriter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != "" || c.handlerDone {
		return 0, errEnded
	}
	c.extendDeadline()
	n, err := c.ResponseWriter.Write(p)
	if err == nil && c.exchange.entry != nil {
		c.exchange.entry.BytesSent(time.Since(c.headTime), p)
	}
	return n, err
}

// WriteFrame writes frame in the same way as Write. It ignores the index of the frame, its first
// parameter.
func (c *clientWriter) WriteFrame(_ int, frame []byte) error {
	_, err := c.Write(frame)
	return err
}

// extendDeadline sets the write deadline of the connection to writeTimeout from now. It does
// nothing if the current deadline is at least writeTimeout/2 from now. The caller must hold c.mu.
func (c *clientWriter) extendDeadline() {
	now := time.Now()
	if now.Before(c.deadlineValid) {
		return
	}
	c.deadlineValid = now.Add(writeTimeout / 2)
	// Response writers of tests do not support deadlines.
	_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(now.Add(writeTimeout))
}

// Flush sends buffered data to the client. It returns errEnded if the stream has ended, and
// otherwise any error from flushing.
func (c *clientWriter) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != "" || c.handlerDone {
		return errEnded
	}
	return c.flush()
}

// flush sends buffered data to the client and returns any error from flushing. If the response
// writer does not support flushing, it does nothing and returns nil. The caller must hold c.mu.
func (c *clientWriter) flush() error {
	err := http.NewResponseController(c.ResponseWriter).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// Sleep waits for the duration d and returns nil. It returns an error if the stream ends or the
// client leaves before d has elapsed. If the mock shuts down, Sleep returns nil immediately, so
// that the rest of the stream is sent without delays.
func (c *clientWriter) Sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.exchange.server.ctx.Done():
		return nil // the rest of the stream is sent without delay
	case <-c.ctx.Done():
		return c.endError()
	}
}

// endError returns the error for a call that was waiting when c.ctx was canceled: errEnded if
// Finish ended the stream, and otherwise the cause of the cancellation.
func (c *clientWriter) endError() error {
	if c.endedBy() != "" {
		return errEnded
	}
	return context.Cause(c.ctx)
}

// endedBy returns the argument of the call of Finish that ended the stream, or "" if Finish has not
// ended it.
func (c *clientWriter) endedBy() fault.StreamEnd {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending
}

// Finish flushes the data written so far and ends the stream. From then on, Write and Flush return
// errEnded, and Sleep does not wait. The parameter how states the way in which the stream ends; the
// method end later closes the connection accordingly. If the stream has already ended, Finish has
// no effect. In both cases it returns errEnded.
func (c *clientWriter) Finish(how fault.StreamEnd) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != "" || c.handlerDone {
		return errEnded
	}
	if c.headSent {
		_ = c.flush()
	}
	c.ending = how
	c.cancel(errEnded)
	return errEnded
}

// After calls f in its own goroutine after the duration d, unless the handler has returned by then.
// After itself must not be called concurrently.
func (c *clientWriter) After(d time.Duration, f func()) {
	c.timers = append(c.timers, time.AfterFunc(d, f))
}

// end completes the response after the handler has returned. It stops the timers of After and
// records the end of the response in the journal.
//
// If Finish ended the stream in another way than fault.Clean, end then closes the connection or, in
// HTTP/2, the stream of the response. For fault.Stall, it first waits until the client leaves or
// the mock shuts down. To close the connection, end panics with http.ErrAbortHandler; only for
// fault.Reset in HTTP/1.1, it sends a TCP RST instead, and returns.
func (c *clientWriter) end() {
	c.mu.Lock()
	c.handlerDone = true
	how := c.ending
	c.mu.Unlock()
	for _, timer := range c.timers {
		timer.Stop()
	}
	c.exchange.recordEnd(how)
	switch how {
	case fault.Abort, fault.Torn:
		panic(http.ErrAbortHandler)
	case fault.Reset:
		c.reset()
	case fault.Stall: // the connection stays open until the client leaves or the mock shuts down
		select {
		case <-c.exchange.request.Context().Done():
		case <-c.exchange.server.ctx.Done():
		}
		panic(http.ErrAbortHandler)
	}
}

// recordEnd records in the journal how the response ended. The parameter how is the argument of
// Finish, or "" if Finish was not called. If the response streamed a run that another request
// started, recordEnd also records the faults that changed events of that run.
func (x *requestState) recordEnd(how fault.StreamEnd) {
	if x.entry == nil {
		return
	}
	if p, ok := x.currentPlan(); ok && p != nil && x.isListen {
		for _, name := range p.appliedFaults() {
			x.entry.FaultApplied(name)
		}
	}
	end := journal.EndReason(how)
	switch {
	case how != "":
	case x.request.Context().Err() != nil:
		end = journal.ClientLeft
	case x.server.ctx.Err() != nil:
		end = journal.Shutdown
	default:
		end = journal.Complete
	}
	x.entry.Close(end)
}

// reset closes the connection with a TCP RST. If it cannot take over the connection (as in HTTP/2),
// it panics with http.ErrAbortHandler, which makes net/http reset the HTTP/2 stream.
func (c *clientWriter) reset() {
	conn, _, err := http.NewResponseController(c.ResponseWriter).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	inner := conn
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		inner = secure.NetConn()
	}
	if tcp, ok := inner.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // on failure the connection is closed normally
	}
	_ = inner.Close()
}
