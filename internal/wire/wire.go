// Package wire is an HTTP client that records exchanges byte for byte.
//
// It follows no redirects and uses no compression, proxies or cookies. If the client itself ends an
// exchange, the record shows that. Each exchange has its own connection unless [Config.KeepAlive]
// is set. HTTP/1 is read from the connection directly, HTTP/2 through golang.org/x/net/http2, with
// the header decoded again from the recorded bytes.
package wire

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// Default values of a [Config]. Sizes are in bytes.
const (
	DefaultIdleTimeout   = 30 * time.Second
	DefaultTotalTimeout  = 10 * time.Minute
	DefaultMaxBodyBytes  = 64 << 20
	DefaultMaxEvents     = 200_000
	DefaultMaxEventBytes = sse.DefaultMaxEvent
)

// A Config holds the target and the limits of a conversation. Only Base is required. If a limit is
// 0, its default value applies, such as [DefaultIdleTimeout]. If a response exceeds a limit, its
// End wraps the error in parentheses.
type Config struct {
	// Base is the URL to which request targets are appended: http or https, a host, and optionally
	// a path and a query. Its user and password are sent as basic authentication.
	Base *url.URL

	// IsEndpoint says that Base is the only URL of the server. The request target "/" then stands
	// for Base itself, with no slash appended.
	IsEndpoint bool

	// Header is added to every request, except for fields that the request already has. It may
	// contain secrets, so it appears neither in exchanges nor in errors.
	Header spec.Header

	// IdleTimeout is the maximum time for which nothing is sent or received
	// (spec.ErrIdleTimeout). It also limits the time from the first byte of a head to its end
	// (spec.ErrLimitExceeded), and the time for connecting to the server.
	IdleTimeout   time.Duration
	TotalTimeout  time.Duration // time limit for one complete response (spec.ErrLimitExceeded)
	MaxBodyBytes  int           // maximum number of bytes in a body (spec.ErrLimitExceeded)
	MaxEvents     int           // maximum number of events and comments in a stream (spec.ErrLimitExceeded)
	MaxEventBytes int           // maximum number of bytes in an event that StopWhen.Frames counts

	// Memory limits the memory for the bodies of several conversations together. If it is nil,
	// there is no limit.
	Memory *MemoryLimiter

	// KeepAlive makes the clients of a conversation send a request over the connection of an
	// earlier HTTP/1.1 exchange, if that exchange is complete and the connection is still open.
	KeepAlive bool

	CA       *x509.CertPool // trusted certificate authorities; nil means those of the system
	Insecure bool           // accept any certificate of the server

	// TrustFlags lists which of the flags --ca and --insecure the user can set. The error about a
	// certificate that is not trusted names them.
	TrustFlags []string
}

// A Client performs and records the exchanges of one conversation. It is safe for concurrent use:
// one goroutine may read a stream while another one cancels the run.
type Client struct {
	cfg     Config
	name    string              // base URL without secrets, for errors
	started time.Time           // start of the conversation
	memory  *bodyByteCounter    // shared by all Clients of the conversation
	idle    *reusableConnHolder // shared by all Clients of the conversation; nil if Config.KeepAlive is false
}

// NewClient returns a client for a conversation that begins now. It does not connect to the server
// yet. It returns an error if cfg.Base is nil or not as described in [Config], if a name or value
// in cfg.Header is not allowed in HTTP, or if a limit is negative.
func NewClient(cfg Config) (*Client, error) {
	if err := checkBase(cfg.Base); err != nil {
		return nil, err
	}
	if err := checkHeader(cfg.Header); err != nil {
		return nil, err
	}
	if cfg.IdleTimeout < 0 || cfg.TotalTimeout < 0 || cfg.MaxBodyBytes < 0 || cfg.MaxEvents < 0 || cfg.MaxEventBytes < 0 {
		return nil, errors.New("negative limit: want a positive one, or 0 for the default")
	}
	base := *cfg.Base
	cfg.Base = &base
	cfg.Header = withBasicAuth(slices.Clone(cfg.Header), base.User)
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, DefaultIdleTimeout)
	cfg.TotalTimeout = cmp.Or(cfg.TotalTimeout, DefaultTotalTimeout)
	cfg.MaxBodyBytes = cmp.Or(cfg.MaxBodyBytes, DefaultMaxBodyBytes)
	cfg.MaxEvents = cmp.Or(cfg.MaxEvents, DefaultMaxEvents)
	cfg.MaxEventBytes = cmp.Or(cfg.MaxEventBytes, DefaultMaxEventBytes)
	c := &Client{cfg: cfg, name: plainURL(&base), started: time.Now(), memory: &bodyByteCounter{limiter: cfg.Memory}}
	if cfg.KeepAlive {
		c.idle = &reusableConnHolder{}
	}
	return c, nil
}

// CloseIdleConnection closes the connection that is kept open for the next request of the
// conversation; see Config.KeepAlive. If there is none, it does nothing.
func (c *Client) CloseIdleConnection() {
	if conn := c.idle.take(); conn != nil {
		conn.Close()
	}
}

// WithHeader returns a client for the same conversation with different credentials: header replaces
// Config.Header, and the user and password of the base URL are not sent. WithHeader returns an
// error if a name or value in header is not allowed in HTTP.
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

// Started returns the time at which the conversation began. The field At of each exchange is
// relative to it.
func (c *Client) Started() time.Time { return c.started }

// AtRoot returns a client for the same conversation that sends no credentials. It appends request
// targets to the root of the host instead of the base URL.
func (c *Client) AtRoot() *Client {
	other := *c
	other.cfg.Base, other.cfg.Header = &url.URL{Scheme: c.cfg.Base.Scheme, Host: c.cfg.Base.Host}, nil
	other.cfg.IsEndpoint = false
	other.name = plainURL(other.cfg.Base)
	return &other
}

// A StopWhen specifies when the client leaves, that is, stops reading a response that has not
// ended. The response's End is then spec.ErrClientLeft, except in the case of Linger. With the zero
// value, the client reads the response to its end.
type StopWhen struct {
	// Frames is the number of events after which the client leaves. If it is 0, events are not
	// counted. Comments, blocks without data, and the events after one that exceeds
	// Config.MaxEventBytes do not count. The record ends with the blank line of the last event.
	Frames int

	// WithID makes the client that has read Frames events read on until an event with an SSE id, if
	// none of them had one, but at most 50 events more.
	WithID bool

	// Elapsed is the time after which the client leaves, counted from the sending of the request.
	// If it is 0, there is no such limit.
	Elapsed time.Duration

	// FirstEvent is the time after which the client leaves if no event has arrived, counted from
	// the sending of the request. If it is 0, there is no such limit. Comments, blocks without data
	// and events that exceed Config.MaxEventBytes do not count as events.
	FirstEvent time.Duration

	// Until is called when the head of the response has arrived, and again after each piece of the
	// body. If it returns true, the client leaves. It must not modify the response. Nothing is read
	// until it returns. It may be nil.
	Until func(r spec.Response) bool

	// Linger is called in the same way as Until, and may be nil. Once it returns a positive
	// duration, it is not called again, and the client leaves when that time has passed. The
	// response's End is then the error that Linger returned with the duration.
	Linger func(r spec.Response) (time.Duration, error)
}

// A ClientSideError means that the behavior of the target could not be measured, because of the
// client or the network. It is never a finding about the target.
type ClientSideError struct {
	URL    string // base URL without user, password and query
	Reason string // why the measurement failed, in one line
	Err    error  // underlying error
}

// Error returns the base URL and the reason in one line.
func (e *ClientSideError) Error() string { return e.URL + ": " + e.Reason }

// Unwrap returns the underlying error.
func (e *ClientSideError) Unwrap() error { return e.Err }

// Do sends one request and records the response until the response ends, exceeds a limit of the
// Config, or meets a condition of the StopWhen. The Exchange shows what the server did, even if the
// server closed the connection or sent nothing. If no HTTP response arrived, Response.Status is 0
// and Response.End is the reason. An error is of type *ClientSideError and is caused by the client
// or the network: an invalid request, no connection, a TLS failure, or a cancelled context.
//
// The request is sent as given, with a few exceptions. The request target is appended to the path
// of the base URL byte for byte, and header fields keep their order and spelling (except in
// HTTP/2). The client adds Host and the fields of Config.Header, and adds User-Agent if the request
// has none. It replaces any Content-Length and Transfer-Encoding with a Content-Length that fits
// the body, except "Transfer-Encoding: chunked", with which it sends the body in chunks. The
// Exchange refers to r.Body, which must not be modified afterwards.
func (c *Client) Do(ctx context.Context, r spec.Request, limit StopWhen) (spec.Exchange, error) {
	x := spec.Exchange{Request: r, At: time.Since(c.started)}
	x.Request.Header = slices.Clone(r.Header)
	m, err := c.newMessage(r)
	if err != nil {
		return x, c.fail(err.Error(), err)
	}
	if conn := c.idle.take(); conn != nil {
		if x, err := c.exchange(ctx, conn, m, x, limit); !isStale(x.Response) {
			return x, err
		}
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return x, err
	}
	return c.exchange(ctx, conn, m, x, limit)
}

// Reach opens a connection to the server, with TLS if the base URL is https, and closes it. It
// returns an error of type *ClientSideError if that fails or takes longer than Config.IdleTimeout.
func (c *Client) Reach(ctx context.Context) error {
	conn, err := c.connect(ctx)
	if err == nil {
		conn.Close()
	}
	return err
}

// exchange sends the request m over conn and records the response in x.Response, which must be
// zero. It returns x, and the same errors as [Client.Do]. It closes conn or keeps it for the next
// request.
func (c *Client) exchange(
	ctx context.Context, conn net.Conn, m *outgoingRequest, x spec.Exchange, limit StopWhen,
) (spec.Exchange, error) {
	w := c.newWatchdog(ctx, conn, limit)
	defer w.stop()
	x.At = w.sentAt.Sub(c.started)
	h := &recorder{
		resp: &x.Response, watchdog: w, stopWhen: limit, decoder: sse.NewDecoder(c.cfg.MaxEventBytes),
		maxBody: c.cfg.MaxBodyBytes, maxEvents: c.cfg.MaxEvents, memory: c.memory,
	}
	if isHTTP2(conn) {
		x.Response.End = exchangeHTTP2(conn, m, h)
		conn.Close()
	} else {
		x.Response.End = exchangeHTTP1(conn, m, h, c.idle)
	}
	return x, c.localError(ctx, &x.Response)
}

// localError returns an error of type *ClientSideError if resp ended because ctx, the context of
// the exchange, was cancelled, because the client used plain HTTP and the server TLS, or because
// the server refused the TLS connection. Otherwise it returns nil.
func (c *Client) localError(ctx context.Context, resp *spec.Response) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(resp.End, cause) {
		return c.fail(fmt.Sprintf("the exchange was cancelled: %v", cause), cause)
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

// fail returns a *ClientSideError with the base URL of the client. The argument why is the reason,
// and err is the underlying error.
func (c *Client) fail(why string, err error) error { return &ClientSideError{c.name, why, err} }

// A watchdog closes the connection of an exchange when a time limit is reached or the caller
// cancels the exchange. It stores the reason as the cause of its context.
type watchdog struct {
	ctx        context.Context
	sentAt     time.Time     // when the client began to send the request
	timeout    time.Duration // length of the idle timeout
	mu         sync.Mutex    // held while idleTimer is restarted or stopped
	isPaused   bool          // guarded by mu
	idleTimer  *time.Timer
	totalTimer *time.Timer
	deadline   time.Time               // when totalTimer fires
	reads      atomic.Int64            // number of reads that received bytes; counted only for HTTP/1
	lingers    *time.Timer             // timer of StopWhen.Linger; nil if it was not started
	firstEvent *time.Timer             // timer of StopWhen.FirstEvent; nil if there is none
	hangUp     context.CancelCauseFunc // ends the exchange for the given reason
	stop       func() bool             // stops the timers; the first call returns whether the connection is still open
}

// newWatchdog returns a watchdog for an exchange over conn. The argument parent is the context of
// the exchange. All time limits, including limit.Elapsed, begin with the call. The caller must call
// the stop function of the watchdog when the exchange is over.
func (c *Client) newWatchdog(parent context.Context, conn net.Conn, limit StopWhen) *watchdog {
	ctx, hangUp := context.WithCancelCause(parent)
	after := func(d time.Duration, why error) *time.Timer {
		return time.AfterFunc(d, func() { hangUp(why) })
	}
	unlink := context.AfterFunc(ctx, func() { conn.Close() })
	w := &watchdog{ctx: ctx, sentAt: time.Now(), timeout: c.cfg.IdleTimeout, hangUp: hangUp}
	w.deadline = w.sentAt.Add(c.cfg.TotalTimeout)
	w.idleTimer = after(c.cfg.IdleTimeout, fmt.Errorf("%w: sent nothing for %v", spec.ErrIdleTimeout, c.cfg.IdleTimeout))
	w.totalTimer = after(c.cfg.TotalTimeout,
		fmt.Errorf("%w: had not ended after %v", spec.ErrLimitExceeded, c.cfg.TotalTimeout))
	timers := []*time.Timer{w.idleTimer, w.totalTimer}
	if limit.Elapsed > 0 {
		timers = append(timers, after(limit.Elapsed, fmt.Errorf("%w: after %v", spec.ErrClientLeft, limit.Elapsed)))
	}
	if limit.FirstEvent > 0 {
		w.firstEvent = after(limit.FirstEvent, fmt.Errorf("%w: no event came in %v", spec.ErrClientLeft, limit.FirstEvent))
		timers = append(timers, w.firstEvent)
	}
	w.stop = func() bool {
		for _, t := range timers {
			t.Stop()
		}
		if w.lingers != nil {
			w.lingers.Stop()
		}
		open := unlink()
		hangUp(nil)
		return open
	}
	return w
}

// touch restarts the idle timeout, unless the timeouts are paused. The client must call it whenever
// bytes are sent or received. It is safe for concurrent use, because a request may still be written
// while its response is read.
func (w *watchdog) touch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isPaused {
		w.idleTimer.Reset(w.timeout)
	}
}

// setPaused stops the idle timeout if paused is true, and restarts it from the beginning otherwise.
func (w *watchdog) setPaused(paused bool) {
	w.mu.Lock()
	w.isPaused = paused
	w.idleTimer.Stop()
	w.mu.Unlock()
	w.touch()
}

// runPaused calls the function wait and returns its result. While the call lasts, the client does
// not read, so runPaused stops the idle timeout and the total timeout meanwhile.
func (w *watchdog) runPaused(wait func() error) error {
	w.setPaused(true)
	w.totalTimer.Stop()
	began := time.Now()
	err := wait()
	w.deadline = w.deadline.Add(time.Since(began))
	w.totalTimer.Reset(time.Until(w.deadline))
	w.setPaused(false)
	return err
}

// watchHead starts a timer for the head of the response and returns a function that stops it, which
// the caller must call when the head is complete. If the head is incomplete after the duration of
// the idle timeout, the timer ends the exchange. It does not do so if no bytes have arrived since
// the call, because the idle timeout ends the exchange then.
func (w *watchdog) watchHead() (stop func()) {
	began := w.reads.Load()
	t := time.AfterFunc(w.timeout, func() {
		if w.reads.Load() == began { // nothing arrived: the idle timeout applies
			return
		}
		w.hangUp(fmt.Errorf("%w: had not sent the complete head after %v", spec.ErrLimitExceeded, w.timeout))
	})
	return func() { t.Stop() }
}

// endError returns the reason why a response ended early, where err is the error from the read that
// failed. If the client itself closed the connection, the reason is the cause of w.ctx; otherwise
// it is the result of [peerError].
func (w *watchdog) endError(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	return peerError(err)
}
