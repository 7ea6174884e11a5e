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

// writeWait is how long a client may take for one piece of what is sent.
const writeWait = 30 * time.Second

// A tap is the response of one request: what the server writes goes through it. A stream
// is cut into its frames there, which are held, varied and spoiled one by one; where
// nothing of that is wanted, what comes in goes out as it is.
type tap struct {
	w   http.ResponseWriter
	r   *http.Request
	ctx context.Context // done when the client left, the stream was ended, or the mock is shut
	end context.CancelCauseFunc
	x   *exchange

	stream  bool
	head    bool         // the head was sent
	came    atomic.Int64 // how many frames came in
	rest    []byte
	bodies  []fault.FrameWriter // what spoils the stream, the outermost last
	dressed bool                // they were looked for
	gate    gate

	mu     sync.Mutex // of what is below: writers may be several (see inject)
	begun  time.Time  // when the head was sent
	until  time.Time  // the deadline of writes is far until then
	ending fault.StreamEnd
	gone   bool // the handler has returned
	timers []*time.Timer
}

func (t *tap) Header() http.Header { return t.w.Header() }

// SetReadDeadline is that of the connection.
func (t *tap) SetReadDeadline(at time.Time) error {
	return http.NewResponseController(t.w).SetReadDeadline(at)
}

// SetWriteDeadline does nothing: what is held is late, and not stuck. The tap gives every
// piece a time of its own.
func (t *tap) SetWriteDeadline(time.Time) error { return nil }

// WriteHeader begins the response.
func (t *tap) WriteHeader(status int) {
	if t.head || status < 200 {
		return
	}
	t.head = true
	h := t.w.Header()
	t.stream = status == http.StatusOK && strings.HasPrefix(h.Get("Content-Type"), spec.EventStream)
	head := fault.ResponseHead{Status: status, Header: h}
	t.x.begin(&head)
	if head.Delay > 0 && t.sleep(head.Delay) != nil {
		t.finish(fault.Abort)
		return
	}
	t.mu.Lock()
	t.begun = time.Now()
	if t.ending == "" {
		t.deadline()
		t.w.WriteHeader(head.Status)
	}
	t.mu.Unlock()
	t.x.headed(head.Status)
}

// Write takes what the server sends next.
func (t *tap) Write(p []byte) (int, error) {
	if !t.head {
		t.WriteHeader(http.StatusOK)
	}
	if !t.stream {
		return len(p), t.send(t.x.reply(p))
	}
	if t.straight() {
		return len(p), t.send(p)
	}
	n := len(p)
	if t.rest != nil {
		p = append(t.rest, p...)
		t.rest = nil
	}
	for len(p) > 0 {
		i := bytes.Index(p, blank)
		if i < 0 {
			t.rest = bytes.Clone(p)
			break
		}
		if err := t.frame(p[:i+len(blank)]); err != nil {
			return 0, err
		}
		p = p[i+len(blank):]
	}
	return n, nil
}

var blank = []byte("\n\n")

// straight says whether what comes in goes out as it is.
func (t *tap) straight() bool {
	if !t.dressed {
		t.dress()
	}
	return t.bodies == nil && t.x.varied == nil && !t.gate.shut.Load() && t.rest == nil
}

// dress looks for what is to be done to the stream. What a run is told to suffer is known
// once there is the run.
func (t *tap) dress() {
	effects, ok := t.x.struck()
	if !ok {
		return
	}
	t.dressed = true
	for _, effect := range effects {
		if effect.WrapBody == nil {
			continue
		}
		var inner fault.StreamWriter = writer{t}
		if n := len(t.bodies); n > 0 {
			inner = chained{writer{t}, t.bodies[n-1]}
		}
		t.bodies = append(t.bodies, effect.WrapBody(inner))
	}
}

// frame sends one frame, or a comment, when the gate lets it through.
func (t *tap) frame(data []byte) error {
	n := -1
	if data[0] != ':' {
		n = int(t.came.Add(1)) - 1
	}
	if n >= t.gate.first() {
		if err := t.FlushError(); err != nil { // the client sees what came before
			return err
		}
	}
	if err := t.gate.pass(t.ctx, n); err != nil {
		return t.ended()
	}
	if t.x.varied == nil {
		return t.spoil(n, data)
	}
	pieces := t.x.varied.EncodeFrame(nil, data)
	if t.bodies != nil {
		return t.spoil(n, bytes.Join(pieces, nil))
	}
	for i, piece := range pieces {
		if err := t.send(piece); err != nil {
			return err
		}
		if i == len(pieces)-1 && t.x.varied.CanJoin() {
			return nil
		}
		if err := t.FlushError(); err != nil {
			return err
		}
	}
	return nil
}

func (t *tap) spoil(n int, data []byte) error {
	if t.bodies == nil {
		return t.send(data)
	}
	return t.bodies[len(t.bodies)-1].WriteFrame(n, data)
}

// send hands bytes to the connection.
func (t *tap) send(p []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != "" || t.gone {
		return errEnded
	}
	t.deadline()
	_, err := t.w.Write(p)
	if err == nil {
		t.x.delivered(p)
	}
	return err
}

// deadline gives the client so long to take what is sent next.
func (t *tap) deadline() {
	now := time.Now()
	if now.Before(t.until) {
		return // it was given more than enough a moment ago
	}
	t.until = now.Add(writeWait / 2)
	_ = http.NewResponseController(t.w).SetWriteDeadline(now.Add(writeWait)) // not everything has deadlines
}

// FlushError sends what was gathered.
func (t *tap) FlushError() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != "" || t.gone {
		return errEnded
	}
	return t.flush()
}

func (t *tap) flush() error {
	err := http.NewResponseController(t.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// sleep waits, unless the stream ends before.
func (t *tap) sleep(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-t.x.server.ctx.Done():
		return nil // what is to be said is said at once
	case <-t.ctx.Done():
		return t.ended()
	}
}

func (t *tap) ended() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != "" {
		return errEnded
	}
	return context.Cause(t.ctx)
}

// finish says how the stream ends, and that it does now. What was written is sent before.
func (t *tap) finish(how fault.StreamEnd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ending != "" || t.gone {
		return
	}
	if t.head {
		_ = t.flush()
	}
	t.ending = how
	t.end(errEnded)
}

// close is called when the server has said everything: the rest of the stream is sent,
// and it is ended as it was told to be.
func (t *tap) close() {
	if t.rest != nil && t.ending == "" {
		_ = t.spoil(int(t.came.Load()), t.rest)
	}
	for _, body := range slices.Backward(t.bodies) {
		if t.ending == "" && t.ctx.Err() == nil {
			_ = body.Close() // who left does not want it
		}
	}
	t.mu.Lock()
	t.gone = true
	how := t.ending
	t.mu.Unlock()
	for _, timer := range t.timers {
		timer.Stop()
	}
	t.x.closed(how)
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
func (t *tap) reset() {
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
func (t *tap) stall() {
	select {
	case <-t.r.Context().Done():
	case <-t.x.server.ctx.Done():
	}
	panic(http.ErrAbortHandler)
}

// A gate holds a stream: frames from one number on wait.
type gate struct {
	shut  atomic.Bool // frames are looked at at all
	mu    sync.Mutex
	from  int           // the first frame that waits
	moved chan struct{} // closed when from has changed
}

// hold lets frames before this one through.
func (g *gate) hold(from int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(from)
}

// more lets n more frames through than now.
func (g *gate) more(n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut.Load() || g.from == never {
		return errors.New("the stream is not held")
	}
	g.set(g.from + n)
	return nil
}

// first is the first frame that waits.
func (g *gate) first() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut.Load() {
		return never
	}
	return g.from
}

func (g *gate) set(from int) {
	g.from = from
	g.shut.Store(from != never)
	if g.moved != nil {
		close(g.moved)
		g.moved = nil
	}
}

// pass waits until frame n may go. Comments wait as the frame after them does.
func (g *gate) pass(ctx context.Context, n int) error {
	if n < 0 || !g.shut.Load() {
		return nil
	}
	for {
		g.mu.Lock()
		if n < g.from || !g.shut.Load() {
			g.mu.Unlock()
			return nil
		}
		if g.moved == nil {
			g.moved = make(chan struct{})
		}
		moved := g.moved
		g.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// A writer is the tap as faults see it.
type writer struct{ t *tap }

func (w writer) Write(p []byte) (int, error) { return len(p), w.t.send(p) }
func (w writer) Flush() error                { return w.t.FlushError() }
func (w writer) Sleep(d time.Duration) error { return w.t.sleep(d) }

func (w writer) Finish(how fault.StreamEnd) error {
	w.t.finish(how)
	return errEnded
}

func (w writer) After(d time.Duration, f func()) {
	w.t.timers = append(w.t.timers, time.AfterFunc(d, f))
}

// chained writes to another fault, which takes whatever comes as a frame of its own.
type chained struct {
	writer
	to fault.FrameWriter
}

func (c chained) Write(p []byte) (int, error) {
	return len(p), c.to.WriteFrame(int(c.t.came.Load())-1, p)
}
