package mockserver

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// errEnded is the error for a write to a stream that a fault or a request to the control port has
// ended.
var errEnded = errors.New("stream ended by the mock")

// writeTimeout is how long a client may take to accept each piece of a response.
const writeTimeout = 30 * time.Second

// An interceptor is the http.ResponseWriter that the reference server writes to. It splits an event
// stream into frames, which it holds, varies and passes through the faults one by one. A stream
// without holds, variations and faults passes through unchanged.
type interceptor struct {
	w        http.ResponseWriter
	r        *http.Request
	ctx      context.Context // done when the client left, the stream was ended or the mock shuts down
	cancel   context.CancelCauseFunc
	exchange *exchange

	isStream    bool
	headSent    bool
	frameCount  atomic.Int64        // frames written by the server
	partial     []byte              // the beginning of a frame that is not yet complete
	faultBodies []fault.FrameWriter // frame writers of the faults, the outermost last
	prepared    bool                // whether faultBodies is set
	gate        gate

	mu            sync.Mutex // protects the fields below and writes to w, which Stream.Inject makes concurrently
	headTime      time.Time  // when the head was sent
	deadlineValid time.Time  // until then, the write deadline need not be extended
	ending        fault.StreamEnd
	handlerDone   bool // the handler has returned
	timers        []*time.Timer
}

// Header implements http.ResponseWriter.
func (t *interceptor) Header() http.Header { return t.w.Header() }

// SetReadDeadline sets the read deadline of the connection.
func (t *interceptor) SetReadDeadline(at time.Time) error {
	return http.NewResponseController(t.w).SetReadDeadline(at)
}

// SetWriteDeadline does nothing, because a stream that is held would exceed the deadlines that the
// reference server sets. The interceptor sets a deadline of its own for each write.
func (t *interceptor) SetWriteDeadline(time.Time) error { return nil }

// WriteHeader sends the head of the response, after applying faults and variations to it. Only the
// first call with a status of at least 200 has an effect.
func (t *interceptor) WriteHeader(status int) {
	if t.headSent || status < 200 {
		return
	}
	t.headSent = true
	h := t.w.Header()
	t.isStream = status == http.StatusOK && strings.HasPrefix(h.Get("Content-Type"), spec.EventStream)
	head := fault.ResponseHead{Status: status, Header: h}
	t.exchange.changeHead(&head)
	if head.Delay > 0 && t.sleep(head.Delay) != nil {
		t.finish(fault.Abort)
		return
	}
	t.mu.Lock()
	t.headTime = time.Now()
	if t.ending == "" {
		t.extendDeadline()
		t.w.WriteHeader(head.Status)
	}
	t.mu.Unlock()
	t.exchange.recordHead(head.Status)
}

// Write sends p, a part of the body. If the response is an event stream that is held, varied or
// affected by faults, Write sends only complete frames and keeps the beginning of an incomplete
// frame until the next call.
func (t *interceptor) Write(p []byte) (int, error) {
	if !t.headSent {
		t.WriteHeader(http.StatusOK)
	}
	if !t.isStream {
		return len(p), t.send(t.exchange.varyBody(p))
	}
	if t.passesThrough() {
		return len(p), t.send(p)
	}
	n := len(p)
	if t.partial != nil {
		p = append(t.partial, p...)
		t.partial = nil
	}
	for len(p) > 0 {
		i := bytes.Index(p, frameEnd)
		if i < 0 {
			t.partial = bytes.Clone(p)
			break
		}
		if err := t.writeFrame(p[:i+len(frameEnd)]); err != nil {
			return 0, err
		}
		p = p[i+len(frameEnd):]
	}
	return n, nil
}

var frameEnd = []byte("\n\n")

// passesThrough calls prepare if that has not succeeded yet, and reports whether bytes of the
// stream can be sent unchanged, without being split into frames.
func (t *interceptor) passesThrough() bool {
	if !t.prepared {
		t.prepare()
	}
	return t.faultBodies == nil && t.exchange.varyStream == nil && !t.gate.isHeld.Load() && t.partial == nil
}

// prepare creates the frame writers of the faults. It does nothing as long as the run of the stream
// has not been started, because its faults are not known until then.
func (t *interceptor) prepare() {
	effects, ok := t.exchange.startEffects()
	if !ok {
		return
	}
	t.prepared = true
	for _, effect := range effects {
		if effect.WrapBody == nil {
			continue
		}
		var inner fault.StreamWriter = faultWriter{t}
		if n := len(t.faultBodies); n > 0 {
			inner = chainedWriter{faultWriter{t}, t.faultBodies[n-1]}
		}
		t.faultBodies = append(t.faultBodies, effect.WrapBody(inner))
	}
}

// writeFrame waits until the gate lets data pass, which is one frame or comment, and then sends it.
// It returns an error if the stream ends before that or sending fails.
func (t *interceptor) writeFrame(data []byte) error {
	n := -1
	if data[0] != ':' {
		n = int(t.frameCount.Add(1)) - 1
	}
	if n >= t.gate.next() {
		if err := t.FlushError(); err != nil { // send the preceding frames before waiting
			return err
		}
	}
	if err := t.gate.wait(t.ctx, n); err != nil {
		return t.endError()
	}
	if t.exchange.varyStream == nil {
		return t.applyFaults(n, data)
	}
	pieces := t.exchange.varyStream.EncodeFrame(nil, data)
	if t.faultBodies != nil {
		return t.applyFaults(n, bytes.Join(pieces, nil))
	}
	for i, piece := range pieces {
		if err := t.send(piece); err != nil {
			return err
		}
		if i == len(pieces)-1 && t.exchange.varyStream.CanJoin() {
			return nil
		}
		if err := t.FlushError(); err != nil {
			return err
		}
	}
	return nil
}

// applyFaults passes data, one frame or comment, through the faults to the client. The parameter n
// is the number of the frame, or -1 if data is a comment.
func (t *interceptor) applyFaults(n int, data []byte) error {
	if t.faultBodies == nil {
		return t.send(data)
	}
	return t.faultBodies[len(t.faultBodies)-1].WriteFrame(n, data)
}

// send writes p to the connection and records it in the journal. It returns errEnded if the stream
// has ended, and otherwise any error from writing. It may be called concurrently.
func (t *interceptor) send(p []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != "" || t.handlerDone {
		return errEnded
	}
	t.extendDeadline()
	_, err := t.w.Write(p)
	if err == nil {
		t.exchange.recordSent(p)
	}
	return err
}

// extendDeadline sets the write deadline to writeTimeout from now. It does nothing if at least half
// of writeTimeout is left until the current deadline. The caller must hold t.mu.
func (t *interceptor) extendDeadline() {
	now := time.Now()
	if now.Before(t.deadlineValid) {
		return
	}
	t.deadlineValid = now.Add(writeTimeout / 2)
	// Response writers of tests do not support deadlines.
	_ = http.NewResponseController(t.w).SetWriteDeadline(now.Add(writeTimeout))
}

// FlushError sends buffered data to the client. It returns errEnded if the stream has ended.
func (t *interceptor) FlushError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != "" || t.handlerDone {
		return errEnded
	}
	return t.flush()
}

// flush sends buffered data to the client. It does nothing if the response writer does not support
// flushing. The caller must hold t.mu.
func (t *interceptor) flush() error {
	err := http.NewResponseController(t.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// sleep waits for the duration d. It returns an error if the stream ends or the client leaves
// before that. If the mock shuts down, it returns nil at once, so that the rest of the stream is
// sent.
func (t *interceptor) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.exchange.server.ctx.Done():
		return nil // the rest of the stream is sent without delay
	case <-t.ctx.Done():
		return t.endError()
	}
}

// endError returns the reason why t.ctx is done: errEnded if the mock ended the stream, and
// otherwise the cause of the context.
func (t *interceptor) endError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != "" {
		return errEnded
	}
	return context.Cause(t.ctx)
}

// finish ends the stream and sends what was written so far. When the handler returns, the
// connection is closed in the way given by how. Only the first call has an effect.
func (t *interceptor) finish(how fault.StreamEnd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != "" || t.handlerDone {
		return
	}
	if t.headSent {
		_ = t.flush()
	}
	t.ending = how
	t.cancel(errEnded)
}

// close completes the response after the handler has returned. It sends what faults hold back and,
// if finish was called, closes the connection in the given way. It panics with http.ErrAbortHandler
// if net/http must close the connection.
func (t *interceptor) close() {
	if t.partial != nil && t.ending == "" {
		_ = t.applyFaults(int(t.frameCount.Load()), t.partial)
	}
	for _, body := range slices.Backward(t.faultBodies) {
		if t.ending == "" && t.ctx.Err() == nil {
			_ = body.Close() // fails only if the client left
		}
	}
	t.mu.Lock()
	t.handlerDone = true
	how := t.ending
	t.mu.Unlock()
	for _, timer := range t.timers {
		timer.Stop()
	}
	t.exchange.recordEnd(how)
	switch how {
	case fault.Abort, fault.Torn:
		panic(http.ErrAbortHandler)
	case fault.Reset:
		t.reset()
	case fault.Stall:
		t.stall()
	}
}

// reset closes the connection with a TCP RST. In HTTP/2 it panics with http.ErrAbortHandler
// instead, so that the stream is closed with an RST_STREAM frame.
func (t *interceptor) reset() {
	conn, _, err := http.NewResponseController(t.w).Hijack()
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

// stall keeps the connection open without sending anything until the client leaves or the mock
// shuts down. It then panics with http.ErrAbortHandler.
func (t *interceptor) stall() {
	select {
	case <-t.r.Context().Done():
	case <-t.exchange.server.ctx.Done():
	}
	panic(http.ErrAbortHandler)
}

// A gate holds back the frames of a stream from a certain number on, until they are released. It
// is safe for concurrent use.
type gate struct {
	isHeld    atomic.Bool // whether firstHeld is set
	mu        sync.Mutex
	firstHeld int           // number of the first frame that waits, or noFrame
	changed   chan struct{} // closed when firstHeld changes
}

// holdFrom holds all frames whose number is at least from, counted from 0, and lets the frames
// before them pass. If from is noFrame, all frames pass.
func (g *gate) holdFrom(from int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(from)
}

// allow lets n more frames pass. It returns an error if the gate does not hold the stream.
func (g *gate) allow(n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isHeld.Load() || g.firstHeld == noFrame {
		return errors.New("stream is not held")
	}
	g.set(g.firstHeld + n)
	return nil
}

// next returns the number of the first frame that the gate holds back, or noFrame if the gate holds
// back no frames.
func (g *gate) next() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isHeld.Load() {
		return noFrame
	}
	return g.firstHeld
}

// set changes the number of the first frame that is held back and wakes the goroutines that wait
// for the gate. The caller must hold g.mu.
func (g *gate) set(from int) {
	g.firstHeld = from
	g.isHeld.Store(from != noFrame)
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// wait blocks until frame n may pass. It returns the cause of ctx if ctx is done before that.
// Comments, for which n is -1, pass at once.
func (g *gate) wait(ctx context.Context, n int) error {
	if n < 0 || !g.isHeld.Load() {
		return nil
	}
	for {
		g.mu.Lock()
		if n < g.firstHeld || !g.isHeld.Load() {
			g.mu.Unlock()
			return nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		moved := g.changed
		g.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A faultWriter gives faults access to an interceptor as a fault.StreamWriter.
type faultWriter struct{ t *interceptor }

func (w faultWriter) Write(p []byte) (int, error) { return len(p), w.t.send(p) }
func (w faultWriter) Flush() error                { return w.t.FlushError() }
func (w faultWriter) Sleep(d time.Duration) error { return w.t.sleep(d) }

func (w faultWriter) Finish(how fault.StreamEnd) error {
	w.t.finish(how)
	return errEnded
}

func (w faultWriter) After(d time.Duration, f func()) {
	w.t.timers = append(w.t.timers, time.AfterFunc(d, f))
}

// A chainedWriter passes what one fault writes to the next fault, each write as one frame.
type chainedWriter struct {
	faultWriter
	next fault.FrameWriter
}

func (c chainedWriter) Write(p []byte) (int, error) {
	return len(p), c.next.WriteFrame(int(c.t.frameCount.Load())-1, p)
}
