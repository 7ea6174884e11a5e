// Package wire sends requests and records what comes back, byte for byte.
//
// It adds nothing of its own to a conversation: no second try, no redirect, no
// compression, no proxy, no cookie, no connection used twice, no time limit that
// looks like the server's doing. Each exchange has its own connection; HTTP/1 is
// read from that connection's raw bytes, HTTP/2 through golang.org/x/net/http2
// with the head re-read from the raw bytes.
//
// It does not know what a body means: no dialect, no schema, no check, and of
// server-sent events only where one ends.
package wire

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// What a Config holds where it says nothing.
const (
	DefaultIdleTimeout   = 30 * time.Second
	DefaultTotalTimeout  = 10 * time.Minute
	DefaultMaxBodyBytes  = 64 << 20
	DefaultMaxEvents     = 200_000
	DefaultMaxEventBytes = sse.DefaultMaxEvent
)

// A Config says whom to talk to and how much to put up with. Only Base is needed:
// a zero value elsewhere takes the default.
type Config struct {
	// Base is the prefix of every request's target: http or https, a host, and
	// perhaps a path and a query. A user and password in it are sent as basic
	// authorization.
	Base *url.URL

	// Header goes with every request that does not set the same field itself. It
	// may hold secrets: no Exchange and no error repeats it.
	Header spec.Header

	IdleTimeout   time.Duration // how long nothing may come (ErrIdle), from the connection on; and how long a head may take from its first byte on
	TotalTimeout  time.Duration // how long one answer may take in all (ErrEndless)
	MaxBodyBytes  int           // bytes of a body (ErrEndless)
	MaxEvents     int           // events and comments of a stream (ErrEndless)
	MaxEventBytes int           // bytes of one server-sent event that is counted

	// Room bounds the memory of the bodies of all conversations together; nil: nobody
	// counts it.
	Memory *MemoryLimiter

	CA       *x509.CertPool // whom to trust; nil: the system's authorities
	Insecure bool           // trust any certificate
}

// A Client records one conversation. Several goroutines may use it at once: one
// hears a stream while another cancels it.
type Client struct {
	cfg     Config
	name    string // the base URL without its secrets, for errors
	started time.Time
	memory  *reservation // what the conversation has of the room
}

// NewClient prepares a conversation, which begins now; nothing is sent yet. An error
// says what is wrong with the Config.
func NewClient(cfg Config) (*Client, error) {
	if err := checkBase(cfg.Base); err != nil {
		return nil, err
	}
	if err := checkHeader(cfg.Header); err != nil {
		return nil, err
	}
	if cfg.IdleTimeout < 0 || cfg.TotalTimeout < 0 || cfg.MaxBodyBytes < 0 || cfg.MaxEvents < 0 || cfg.MaxEventBytes < 0 {
		return nil, errors.New("a limit is negative: leave it at 0 for the default")
	}
	base := *cfg.Base
	cfg.Base = &base
	cfg.Header = withBasicAuth(slices.Clone(cfg.Header), base.User)
	cfg.IdleTimeout = orDefault(cfg.IdleTimeout, DefaultIdleTimeout)
	cfg.TotalTimeout = orDefault(cfg.TotalTimeout, DefaultTotalTimeout)
	cfg.MaxBodyBytes = orDefault(cfg.MaxBodyBytes, DefaultMaxBodyBytes)
	cfg.MaxEvents = orDefault(cfg.MaxEvents, DefaultMaxEvents)
	cfg.MaxEventBytes = orDefault(cfg.MaxEventBytes, DefaultMaxEventBytes)
	return &Client{cfg, plainURL(&base), time.Now(), &reservation{limiter: cfg.Memory}}, nil
}

// ReleaseMemory gives back what the conversation has of its Config's Room. Its bodies must
// not be held any longer.
func (c *Client) ReleaseMemory() { c.memory.release() }

// Use runs do while the conversation has a place in its Config's Room, for work that needs
// as much memory as a large body. It returns false if the context ended before there was a
// place.
func (c *Client) Use(ctx context.Context, do func()) bool { return c.memory.use(ctx, do) }

// WithHeader is the same conversation led by somebody else: with this header in place of the
// Config's, and without the user and password of its base URL.
func (c *Client) WithHeader(header spec.Header) (*Client, error) {
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	other := *c
	base := *c.cfg.Base
	base.User = nil
	other.cfg.Base, other.cfg.Header = &base, slices.Clone(header)
	return &other, nil
}

// AtRoot is the same conversation led by nobody in particular, with targets below the
// root of the host: nothing of the Config's that says who asks goes with them.
func (c *Client) AtRoot() *Client {
	other := *c
	other.cfg.Base, other.cfg.Header = &url.URL{Scheme: c.cfg.Base.Scheme, Host: c.cfg.Base.Host}, nil
	other.name = plainURL(other.cfg.Base)
	return &other
}

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// A StopWhen says when the client leaves of its own accord; the exchange's End is
// then spec.ErrLeft. The zero StopWhen hears every answer out.
type StopWhen struct {
	// Frames hangs up after so many server-sent events; comments and blocks without
	// data are none, and after an event beyond Config.MaxEvent none is counted. The
	// record ends with the last one's blank line: a client that leaves there has
	// heard no more.
	Frames int

	// For hangs up so long after the request was sent, wherever the answer is.
	Elapsed time.Duration

	// Until is asked whenever more of the answer has come: once with the head
	// alone, then with each piece of the body. It hangs up by returning true. It
	// must not change the Response, and while it works nothing is read: what
	// takes long belongs in a goroutine of its own.
	Until func(heard spec.Response) bool
}

// An Error is why nothing could be measured: ours or the network's doing, never a
// finding about the target.
type Error struct {
	URL    string // the base URL, without user, password and query
	Reason string // one line
	Err    error  // what was underneath
}

func (e *Error) Error() string { return e.URL + ": " + e.Reason }

// Unwrap is what was underneath.
func (e *Error) Unwrap() error { return e.Err }

// Do sends one request and records the answer until it ends, or goes over a
// limit. What the target did is in the Exchange, however bad: also if it hung up,
// fell silent or answered something that is not HTTP (Status is then 0, and
// Response.End says why). An error, mostly an *Error, is ours or the network's: a
// malformed request, no connection, a TLS failure, a cancelled context.
//
// The request is sent as it stands: the target is appended to the base URL's path
// byte for byte, and header fields go out in their order and spelling (HTTP/2 has
// neither). The client adds Host, Content-Length, User-Agent unless it is given,
// and the Config's header; Content-Length and Transfer-Encoding of the request
// are replaced by its own.
func (c *Client) Do(ctx context.Context, r spec.Request, limit StopWhen) (spec.Exchange, error) {
	x := spec.Exchange{Request: cloneRequest(r), At: time.Since(c.started)}
	m, err := c.newMessage(r)
	if err != nil {
		return x, c.fail(err.Error(), err)
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return x, err
	}
	defer conn.Close()

	w := c.newWatchdog(ctx, conn, limit)
	defer w.stop()
	x.At = w.sentAt.Sub(c.started)
	h := &recorder{resp: &x.Response, watchdog: w, stopWhen: limit, maxBody: c.cfg.MaxBodyBytes, memory: c.memory}
	h.maxEvents = c.cfg.MaxEvents
	if limit.Frames > 0 {
		h.frameCounter = newEventCounter(limit.Frames, c.cfg.MaxEventBytes)
	}
	if isHTTP2(conn) {
		x.Response.End = exchangeHTTP2(conn, m, h)
	} else {
		x.Response.End = exchangeHTTP1(conn, m, h)
	}
	return x, c.localError(ctx, &x.Response)
}

// localError is an error if what ended the answer was not the target's doing after all.
func (c *Client) localError(ctx context.Context, resp *spec.Response) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(resp.End, cause) {
		return c.fail(fmt.Sprintf("the exchange was called off: %v", cause), cause)
	}
	if c.cfg.Base.Scheme == "http" && (errors.Is(resp.End, errTLSRecord) || isPlainHTTPRefusal(resp)) {
		return c.fail("the server speaks TLS on this port: use https://", errTLSRecord)
	}
	// In TLS 1.3 a server may refuse the client's certificate after the handshake.
	if alert, ok := errors.AsType[*net.OpError](resp.End); ok && alert.Op == "remote error" && resp.Status == 0 {
		return c.fail(fmt.Sprintf("the server refused the TLS connection: %v", alert.Err), alert)
	}
	return nil
}

func (c *Client) fail(why string, err error) error { return &Error{c.name, why, err} }

func cloneRequest(r spec.Request) spec.Request {
	r.Header, r.Body = slices.Clone(r.Header), slices.Clone(r.Body)
	return r
}

// A watchdog ends an exchange that takes too long, or that the caller calls off, by
// closing its connection. The context's cause then says why.
type watchdog struct {
	ctx        context.Context
	sentAt     time.Time // when the request was sent
	timeout    time.Duration
	idleTimer  *time.Timer
	totalTimer *time.Timer
	deadline   time.Time     // when total strikes
	paused     time.Duration // how long the client itself has kept the server waiting
	activity   atomic.Int64  // how often something moved
	hangUp     context.CancelCauseFunc
	stop       func()
}

func (c *Client) newWatchdog(parent context.Context, conn net.Conn, limit StopWhen) *watchdog {
	ctx, hangUp := context.WithCancelCause(parent)
	after := func(d time.Duration, why error) *time.Timer {
		return time.AfterFunc(d, func() { hangUp(why) })
	}
	unlink := context.AfterFunc(ctx, func() { conn.Close() })
	w := &watchdog{ctx: ctx, sentAt: time.Now(), timeout: c.cfg.IdleTimeout, hangUp: hangUp}
	w.deadline = w.sentAt.Add(c.cfg.TotalTimeout)
	w.idleTimer = after(c.cfg.IdleTimeout, fmt.Errorf("%w: sent nothing for %v", spec.ErrIdleTimeout, c.cfg.IdleTimeout))
	w.totalTimer = after(c.cfg.TotalTimeout, fmt.Errorf("%w: had not ended after %v", spec.ErrLimitExceeded, c.cfg.TotalTimeout))
	timers := []*time.Timer{w.idleTimer, w.totalTimer}
	if limit.Elapsed > 0 {
		timers = append(timers, after(limit.Elapsed, fmt.Errorf("%w: after %v", spec.ErrClientLeft, limit.Elapsed)))
	}
	w.stop = func() {
		for _, t := range timers {
			t.Stop()
		}
		unlink()
		hangUp(nil)
	}
	return w
}

// touch notes that something moved on the wire.
func (w *watchdog) touch() {
	w.activity.Add(1)
	w.idleTimer.Reset(w.timeout)
}

// runPaused stops the clocks while wait runs: that the client does not read is not the
// server's doing.
func (w *watchdog) runPaused(wait func() error) error {
	w.idleTimer.Stop()
	w.totalTimer.Stop()
	began := time.Now()
	err := wait()
	took := time.Since(began)
	w.paused += took
	w.deadline = w.deadline.Add(took)
	w.totalTimer.Reset(time.Until(w.deadline))
	w.touch()
	return err
}

// watchHead ends an exchange whose head, once begun, does not come to its end. What it
// returns calls that off.
func (w *watchdog) watchHead() (over func()) {
	began := w.activity.Load()
	t := time.AfterFunc(w.timeout, func() {
		if w.activity.Load() == began { // silence, which has its own limit
			return
		}
		w.hangUp(fmt.Errorf("%w: had not sent the whole head after %v", spec.ErrLimitExceeded, w.timeout))
	})
	return func() { t.Stop() }
}

// endError says which of spec's errors a failed read amounts to: what made the
// client close the connection itself, if it did, else what the peer did.
func (w *watchdog) endError(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	return peerError(err)
}
