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
	DefaultTimeout   = 30 * time.Second
	DefaultTotal     = 10 * time.Minute
	DefaultMaxBody   = 64 << 20
	DefaultMaxEvents = 200_000
	DefaultMaxEvent  = sse.DefaultLimit
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

	Timeout   time.Duration // how long nothing may come (ErrIdle), from the connection on; and how long a head may take from its first byte on
	Total     time.Duration // how long one answer may take in all (ErrEndless)
	MaxBody   int           // bytes of a body (ErrEndless)
	MaxEvents int           // events and comments of a stream (ErrEndless)
	MaxEvent  int           // bytes of one server-sent event that is counted

	// Room bounds the memory of the bodies of all conversations together; nil: nobody
	// counts it.
	Room *Room

	CA       *x509.CertPool // whom to trust; nil: the system's authorities
	Insecure bool           // trust any certificate
}

// A Client records one conversation. Several goroutines may use it at once: one
// hears a stream while another cancels it.
type Client struct {
	cfg   Config
	name  string // the base URL without its secrets, for errors
	began time.Time
	held  *held // what the conversation has of the room
}

// Dial prepares a conversation, which begins now; nothing is sent yet. An error
// says what is wrong with the Config.
func Dial(cfg Config) (*Client, error) {
	if err := checkBase(cfg.Base); err != nil {
		return nil, err
	}
	if err := checkHeader(cfg.Header); err != nil {
		return nil, err
	}
	if cfg.Timeout < 0 || cfg.Total < 0 || cfg.MaxBody < 0 || cfg.MaxEvents < 0 || cfg.MaxEvent < 0 {
		return nil, errors.New("a limit is negative: leave it at 0 for the default")
	}
	base := *cfg.Base
	cfg.Base = &base
	cfg.Header = withUser(slices.Clone(cfg.Header), base.User)
	cfg.Timeout = orDefault(cfg.Timeout, DefaultTimeout)
	cfg.Total = orDefault(cfg.Total, DefaultTotal)
	cfg.MaxBody = orDefault(cfg.MaxBody, DefaultMaxBody)
	cfg.MaxEvents = orDefault(cfg.MaxEvents, DefaultMaxEvents)
	cfg.MaxEvent = orDefault(cfg.MaxEvent, DefaultMaxEvent)
	return &Client{cfg, plainURL(&base), time.Now(), &held{room: cfg.Room}}, nil
}

// Release gives back what the conversation has of its Config's Room. Its bodies must
// not be held any longer.
func (c *Client) Release() { c.held.release() }

// Use runs do while the conversation has a place in its Config's Room, for work that needs
// as much memory as a large body. It returns false if the context ended before there was a
// place.
func (c *Client) Use(ctx context.Context, do func()) bool { return c.held.use(ctx, do) }

// As is the same conversation led by somebody else: with this header in place of the
// Config's, and without the user and password of its base URL.
func (c *Client) As(header spec.Header) (*Client, error) {
	if err := checkHeader(header); err != nil {
		return nil, err
	}
	other := *c
	base := *c.cfg.Base
	base.User = nil
	other.cfg.Base, other.cfg.Header = &base, slices.Clone(header)
	return &other, nil
}

// Root is the same conversation led by nobody in particular, with targets below the
// root of the host: nothing of the Config's that says who asks goes with them.
func (c *Client) Root() *Client {
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

// A Limit says when the client leaves of its own accord; the exchange's End is
// then spec.ErrLeft. The zero Limit hears every answer out.
type Limit struct {
	// Frames hangs up after so many server-sent events; comments and blocks without
	// data are none, and after an event beyond Config.MaxEvent none is counted. The
	// record ends with the last one's blank line: a client that leaves there has
	// heard no more.
	Frames int

	// For hangs up so long after the request was sent, wherever the answer is.
	For time.Duration

	// Until is asked whenever more of the answer has come: once with the head
	// alone, then with each piece of the body. It hangs up by returning true. It
	// must not change the Response, and while it works nothing is read: what
	// takes long belongs in a goroutine of its own.
	Until func(heard spec.Response) bool
}

// An Error is why nothing could be measured: ours or the network's doing, never a
// finding about the target.
type Error struct {
	URL string // the base URL, without user, password and query
	Why string // one line
	Err error  // what was underneath
}

func (e *Error) Error() string { return e.URL + ": " + e.Why }

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
func (c *Client) Do(ctx context.Context, r spec.Request, limit Limit) (spec.Exchange, error) {
	x := spec.Exchange{Request: copyOf(r), At: time.Since(c.began)}
	m, err := c.compose(r)
	if err != nil {
		return x, c.fail(err.Error(), err)
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return x, err
	}
	defer conn.Close()

	w := c.watch(ctx, conn, limit)
	defer w.stop()
	x.At = w.asked.Sub(c.began)
	h := &hearing{resp: &x.Response, watch: w, limit: limit, maxBody: c.cfg.MaxBody, held: c.held}
	h.maxEvents = c.cfg.MaxEvents
	if limit.Frames > 0 {
		h.frames = newCounter(limit.Frames, c.cfg.MaxEvent)
	}
	if speaksHTTP2(conn) {
		x.Response.End = askHTTP2(conn, m, h)
	} else {
		x.Response.End = askHTTP1(conn, m, h)
	}
	return x, c.ours(ctx, &x.Response)
}

// ours is an error if what ended the answer was not the target's doing after all.
func (c *Client) ours(ctx context.Context, resp *spec.Response) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(resp.End, cause) {
		return c.fail(fmt.Sprintf("the exchange was called off: %v", cause), cause)
	}
	if c.cfg.Base.Scheme == "http" && (errors.Is(resp.End, errSpeaksTLS) || refusesPlain(resp)) {
		return c.fail("the server speaks TLS on this port: use https://", errSpeaksTLS)
	}
	// In TLS 1.3 a server may refuse the client's certificate after the handshake.
	if alert, ok := errors.AsType[*net.OpError](resp.End); ok && alert.Op == "remote error" && resp.Status == 0 {
		return c.fail(fmt.Sprintf("the server refused the TLS connection: %v", alert.Err), alert)
	}
	return nil
}

func (c *Client) fail(why string, err error) error { return &Error{c.name, why, err} }

func copyOf(r spec.Request) spec.Request {
	r.Header, r.Body = slices.Clone(r.Header), slices.Clone(r.Body)
	return r
}

// A watch ends an exchange that takes too long, or that the caller calls off, by
// closing its connection. The context's cause then says why.
type watch struct {
	ctx     context.Context
	asked   time.Time // when the request was sent
	timeout time.Duration
	idle    *time.Timer
	total   *time.Timer
	until   time.Time     // when total strikes
	waited  time.Duration // how long the client itself has kept the server waiting
	stirs   atomic.Int64  // how often something moved
	hangUp  context.CancelCauseFunc
	stop    func()
}

func (c *Client) watch(parent context.Context, conn net.Conn, limit Limit) *watch {
	ctx, hangUp := context.WithCancelCause(parent)
	after := func(d time.Duration, why error) *time.Timer {
		return time.AfterFunc(d, func() { hangUp(why) })
	}
	unlink := context.AfterFunc(ctx, func() { conn.Close() })
	w := &watch{ctx: ctx, asked: time.Now(), timeout: c.cfg.Timeout, hangUp: hangUp}
	w.until = w.asked.Add(c.cfg.Total)
	w.idle = after(c.cfg.Timeout, fmt.Errorf("%w: sent nothing for %v", spec.ErrIdleTimeout, c.cfg.Timeout))
	w.total = after(c.cfg.Total, fmt.Errorf("%w: had not ended after %v", spec.ErrLimitExceeded, c.cfg.Total))
	timers := []*time.Timer{w.idle, w.total}
	if limit.For > 0 {
		timers = append(timers, after(limit.For, fmt.Errorf("%w: after %v", spec.ErrClientLeft, limit.For)))
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

// stir notes that something moved on the wire.
func (w *watch) stir() {
	w.stirs.Add(1)
	w.idle.Reset(w.timeout)
}

// pause stops the clocks while wait runs: that the client does not read is not the
// server's doing.
func (w *watch) pause(wait func() error) error {
	w.idle.Stop()
	w.total.Stop()
	began := time.Now()
	err := wait()
	took := time.Since(began)
	w.waited += took
	w.until = w.until.Add(took)
	w.total.Reset(time.Until(w.until))
	w.stir()
	return err
}

// heading ends an exchange whose head, once begun, does not come to its end. What it
// returns calls that off.
func (w *watch) heading() (over func()) {
	began := w.stirs.Load()
	t := time.AfterFunc(w.timeout, func() {
		if w.stirs.Load() == began { // silence, which has its own limit
			return
		}
		w.hangUp(fmt.Errorf("%w: had not sent the whole head after %v", spec.ErrLimitExceeded, w.timeout))
	})
	return func() { t.Stop() }
}

// ending says which of spec's errors a failed read amounts to: what made the
// client close the connection itself, if it did, else what the peer did.
func (w *watch) ending(err error) error {
	if cause := context.Cause(w.ctx); cause != nil {
		return cause
	}
	return peerDid(err)
}
