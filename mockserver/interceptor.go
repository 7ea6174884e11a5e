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

// errEnded is what whoever goes on writing gets when a stream was ended on purpose.
var errEnded = errors.New("the stream was ended")

// writeTimeout is how long a client may take for one piece of what is sent.
const writeTimeout = 30 * time.Second

// A interceptor is the response of one request: what the server writes goes through it. A stream
// is cut into its frames there, which are held, varied and spoiled one by one; where
// nothing of that is wanted, what comes in goes out as it is.
type interceptor struct {
	w        http.ResponseWriter
	r        *http.Request
	ctx      context.Context // done when the client left, the stream was ended, or the mock is shut
	cancel   context.CancelCauseFunc
	exchange *exchange

	isStream    bool
	headSent    bool         // the head was sent
	frameCount  atomic.Int64 // how many frames came in
	partial     []byte
	faultBodies []fault.FrameWriter // what spoils the stream, the outermost last
	prepared    bool                // they were looked for
	gate        gate

	mu            sync.Mutex // of what is below: writers may be several (see inject)
	headTime      time.Time  // when the head was sent
	deadlineValid time.Time  // the deadline of writes is far until then
	ending        fault.StreamEnd
	handlerDone   bool // the handler has returned
	timers        []*time.Timer
}

func (t *interceptor) Header() http.Header { return t.w.Header() }

// SetReadDeadline is that of the connection.
func (t *interceptor) SetReadDeadline(at time.Time) error {
	return http.NewResponseController(t.w).SetReadDeadline(at)
}

// SetWriteDeadline does nothing: what is held is late, and not stuck. The tap gives every
// piece a time of its own.
func (t *interceptor) SetWriteDeadline(time.Time) error { return nil }

// WriteHeader begins the response.
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

// Write takes what the server sends next.
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

// passesThrough says whether what comes in goes out as it is.
func (t *interceptor) passesThrough() bool {
	if !t.prepared {
		t.prepare()
	}
	return t.faultBodies == nil && t.exchange.varyStream == nil && !t.gate.isHeld.Load() && t.partial == nil
}

// prepare looks for what is to be done to the stream. What a run is told to suffer is known
// once there is the run.
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

// writeFrame sends one frame, or a comment, when the gate lets it through.
func (t *interceptor) writeFrame(data []byte) error {
	n := -1
	if data[0] != ':' {
		n = int(t.frameCount.Add(1)) - 1
	}
	if n >= t.gate.next() {
		if err := t.FlushError(); err != nil { // the client sees what came before
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

func (t *interceptor) applyFaults(n int, data []byte) error {
	if t.faultBodies == nil {
		return t.send(data)
	}
	return t.faultBodies[len(t.faultBodies)-1].WriteFrame(n, data)
}

// send hands bytes to the connection.
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

// extendDeadline gives the client so long to take what is sent next.
func (t *interceptor) extendDeadline() {
	now := time.Now()
	if now.Before(t.deadlineValid) {
		return // it was given more than enough a moment ago
	}
	t.deadlineValid = now.Add(writeTimeout / 2)
	_ = http.NewResponseController(t.w).SetWriteDeadline(now.Add(writeTimeout)) // not everything has deadlines
}

// FlushError sends what was gathered.
func (t *interceptor) FlushError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != "" || t.handlerDone {
		return errEnded
	}
	return t.flush()
}

func (t *interceptor) flush() error {
	err := http.NewResponseController(t.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// sleep waits, unless the stream ends before.
func (t *interceptor) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.exchange.server.ctx.Done():
		return nil // what is to be said is said at once
	case <-t.ctx.Done():
		return t.endError()
	}
}

func (t *interceptor) endError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != "" {
		return errEnded
	}
	return context.Cause(t.ctx)
}

// finish says how the stream ends, and that it does now. What was written is sent before.
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

// close is called when the server has said everything: the rest of the stream is sent,
// and it is ended as it was told to be.
func (t *interceptor) close() {
	if t.partial != nil && t.ending == "" {
		_ = t.applyFaults(int(t.frameCount.Load()), t.partial)
	}
	for _, body := range slices.Backward(t.faultBodies) {
		if t.ending == "" && t.ctx.Err() == nil {
			_ = body.Close() // who left does not want it
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

// reset closes the connection with an RST. HTTP/2 has frames for that.
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
		_ = tcp.SetLinger(0) // what cannot be reset is closed
	}
	_ = inner.Close()
}

// stall keeps the connection, and says nothing, until the client has had enough.
func (t *interceptor) stall() {
	select {
	case <-t.r.Context().Done():
	case <-t.exchange.server.ctx.Done():
	}
	panic(http.ErrAbortHandler)
}

// A gate holds a stream: frames from one number on wait.
type gate struct {
	isHeld    atomic.Bool // frames are looked at at all
	mu        sync.Mutex
	firstHeld int           // the first frame that waits
	changed   chan struct{} // closed when from has changed
}

// holdFrom lets frames before this one through.
func (g *gate) holdFrom(from int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(from)
}

// allow lets n more frames through than now.
func (g *gate) allow(n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isHeld.Load() || g.firstHeld == noFrame {
		return errors.New("the stream is not held")
	}
	g.set(g.firstHeld + n)
	return nil
}

// next is the first frame that waits.
func (g *gate) next() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isHeld.Load() {
		return noFrame
	}
	return g.firstHeld
}

func (g *gate) set(from int) {
	g.firstHeld = from
	g.isHeld.Store(from != noFrame)
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// wait waits until frame n may go. Comments wait as the frame after them does.
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

// A faultWriter is the tap as faults see it.
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

// chainedWriter writes to another fault, which takes whatever comes as a frame of its own.
type chainedWriter struct {
	faultWriter
	next fault.FrameWriter
}

func (c chainedWriter) Write(p []byte) (int, error) {
	return len(p), c.next.WriteFrame(int(c.t.frameCount.Load())-1, p)
}
