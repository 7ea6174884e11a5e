package replay

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A RecorderConfig configures a [Recorder]. Dialect and Upstream are required.
type RecorderConfig struct {
	Dialect  *dialect.Dialect
	Upstream *url.URL       // base URL of the server to record; it replaces the base path of the dialect
	Header   spec.Header    // fields to add to requests that do not have them; never recorded
	CA       *x509.CertPool // trusted certificate authorities; nil means those of the system

	// TrustFlags lists the flags with which the user can choose the certificates to trust; see
	// [wire.Config].
	TrustFlags []string

	// Save is called after each exchange whose [RecordedExchange.SkipReason] is empty, with the
	// whole conversation so far. Calls are sequential. Its errors are logged. If Save is nil,
	// nothing is saved.
	Save func(RecordedConversation) error
	// SaveDefective also saves the exchanges of the dialect's operations whose response is
	// defective. They have no SkipReason. Such exchanges can be judged, but not replayed.
	SaveDefective bool
	// OnExchange is called after each exchange for which the server was reached, including
	// those that are not saved. Calls may be concurrent. OnExchange may be nil.
	OnExchange func(RecordedExchange)
	// OnUnreached is called with the reason after each request for which the server was not
	// reached, or that it refused because it expects TLS. Calls may be concurrent. OnUnreached may
	// be nil.
	OnUnreached func(error)
	Log         *slog.Logger  // receives failures and the reasons for not saving; may be nil
	IdleTimeout time.Duration // the longest time that the server may send nothing; 0 means DefaultIdleTimeout
}

// The limits of one exchange that passes through a recorder.
const (
	DefaultIdleTimeout = 10 * time.Minute      // default of RecorderConfig.IdleTimeout
	MaxRequestBytes    = 32 << 20              // maximum size of a request body, in bytes
	MaxResponseBytes   = 256 << 20             // maximum size of a response body, in bytes
	maxResponseTime    = 24 * time.Hour        // maximum duration of a response
	maxEventBytes      = dialect.MaxEventBytes // maximum size of an event, in bytes
)

// A RecordedExchange is an exchange that passed through a recorder, with its interpretation in the
// dialect.
type RecordedExchange struct {
	Exchange   spec.Exchange // a request target below the dialect's base is relative to that base
	Request    spec.Event    // the parsed request
	Thread     string        // id of the thread; "" if the exchange belongs to none
	SkipReason string        // why the exchange is not saved; "" if it is to be saved
}

// A Recorder is a handler that forwards each request to a server and streams the response back
// without buffering or changing its body. It neither follows redirects nor retries. It is safe for
// concurrent use.
//
// It saves the exchanges by conversation. It does not save exchanges that are useless as a
// recording, for example because the response is truncated, has an invalid frame or an unexpected
// media type, or reports a server error.
type Recorder struct {
	cfg           RecorderConfig
	client        *wire.Client
	upstream      string // the server's URL without credentials and query
	conversations conversationCache
}

// NewRecorder returns a recorder with the given configuration. It returns an error if the
// configuration has no dialect, or if the upstream URL, a header field or the idle timeout is
// invalid.
func NewRecorder(cfg RecorderConfig) (*Recorder, error) {
	if cfg.Dialect == nil {
		return nil, errors.New("a recorder needs a dialect")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, DefaultIdleTimeout)
	client, err := wire.NewClient(wire.Config{
		Base: cfg.Upstream, IsEndpoint: cfg.Dialect.IsEndpoint, Header: cfg.Header, CA: cfg.CA, TrustFlags: cfg.TrustFlags,
		IdleTimeout: cfg.IdleTimeout, TotalTimeout: maxResponseTime,
		MaxBodyBytes: MaxResponseBytes, MaxEventBytes: maxEventBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("the server to record: %w", err)
	}
	plain := url.URL{Scheme: cfg.Upstream.Scheme, Host: cfg.Upstream.Host, Path: cfg.Upstream.Path}
	return &Recorder{cfg: cfg, client: client, upstream: plain.String()}, nil
}

// ServeHTTP forwards a client's request to the server, streams the response back and records the
// exchange. The status is 413 if the body of the request is too large or cannot be read, and 502 if
// the server does not respond. If the response of the server ends abnormally, ServeHTTP panics with
// http.ErrAbortHandler, so that the connection to the client ends abnormally as well.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	client, req, err := r.upstreamRequest(w, in)
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	forwarder := &responseForwarder{w: w}
	x, err := client.Do(in.Context(), req, wire.StopWhen{Until: forwarder.forward})
	failed := err != nil || x.Response.End != nil
	if left := in.Context().Err() != nil || forwarder.err != nil; left && failed { // unless the response was complete
		x.Response.End, err = spec.ErrClientLeft, nil
	}
	if err != nil {
		r.cfg.Log.Warn("request to the server failed", "error", err.Error())
		if forwarder.status == 0 {
			http.Error(w, "request to the server failed", http.StatusBadGateway)
		}
		if forwarder.status == 0 || errors.Is(err, spec.ErrNotHTTP) { // the latter from a TLS server
			if r.cfg.OnUnreached != nil {
				r.cfg.OnUnreached(err)
			}
			return
		}
		x.Response.End = spec.ErrTruncated
	}
	r.finishExchange(x)
	forwarder.finish(x.Response)
}

// upstreamRequest converts a client's request to the request for the recorded server. It also
// returns the [wire.Client] that must send the request. A target below the base path of the dialect
// becomes relative to the base URL of the server; any other target is relative to the root of the
// server.
//
// If the body of the client's request is too large or cannot be read, upstreamRequest returns an
// error, and the caller must send a response. The parameter w is used only to limit the size of the
// body; see [http.MaxBytesReader].
func (r *Recorder) upstreamRequest(w http.ResponseWriter, in *http.Request) (*wire.Client, spec.Request, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, in.Body, MaxRequestBytes))
	if err != nil {
		return nil, spec.Request{}, fmt.Errorf("the request cannot be read, or has more than %d bytes", MaxRequestBytes)
	}
	req := spec.Request{Method: in.Method, Target: in.URL.RequestURI(), Header: forwardedHeader(in.Header), Body: body}
	base := r.cfg.Dialect.Base
	if rest, ok := strings.CutPrefix(req.Target, base); ok && (rest == "" || rest[0] == '/' || rest[0] == '?') {
		req.Target = "/" + strings.TrimPrefix(rest, "/")
		return r.client, req, nil
	}
	return r.client.AtRoot(), req, nil
}

// forwardedHeader returns the fields of h, the header of a request, that are forwarded to the
// server, sorted by name. The last field of the result is Accept-Encoding, which replaces that of h
// and asks for no compression, because the recorder cannot read a compressed response.
func forwardedHeader(h http.Header) (out spec.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			out = append(out, spec.HeaderField{Name: name, Value: value})
		}
	}
	out = withoutHopByHop(out, "Accept-Encoding", "Host", "Proxy-Authorization", "Expect")
	return append(out, spec.HeaderField{Name: "Accept-Encoding", Value: "identity"})
}

// A responseForwarder sends the response of the recorded server to the client while the recorder is
// still receiving it.
type responseForwarder struct {
	w      http.ResponseWriter
	status int   // status sent to the client; 0 if none was sent yet
	sent   int   // number of bytes of the body sent to the client
	err    error // error of the last write, which means that the client has left; nil if there was none
}

// forward sends the client the part of the response that has not been sent yet. The argument
// received is the response of the recorded server so far. The first call sends only the status and
// the header, without hop-by-hop fields other than Content-Length. If the client has left, forward
// returns true, which makes the recorder stop receiving.
func (b *responseForwarder) forward(received spec.Response) bool {
	if b.status == 0 {
		b.status = received.Status
		h, length := b.w.Header(), received.Header.Get("Content-Length")
		for _, f := range withoutHopByHop(received.Header, "Proxy-Authorization", "Expect") {
			h.Add(f.Name, f.Value)
		}
		if _, err := strconv.Atoi(length); err == nil && !received.Header.Has("Transfer-Encoding") {
			h.Set("Content-Length", length) // so that the client detects a truncated body
		}
		b.w.WriteHeader(received.Status)
		b.err = b.flush()
		return b.err != nil
	}
	if b.sent < len(received.Body) {
		if _, b.err = b.w.Write(received.Body[b.sent:]); b.err == nil {
			b.err = b.flush()
		}
		b.sent = len(received.Body)
	}
	return b.err != nil
}

// flush sends buffered data to the client, if the writer supports that. It returns an error if the
// data cannot be sent, usually because the client has left.
func (b *responseForwarder) flush() error {
	err := http.NewResponseController(b.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// finish ends the response to the client. The argument received is the response of the recorded
// server after its end. If the server sent no response, the client gets status 502. If the response
// ended abnormally, finish panics with http.ErrAbortHandler, which ends the response to the client
// abnormally, too. It does nothing if received is complete or a write to the client has failed.
func (b *responseForwarder) finish(received spec.Response) {
	switch {
	case received.End == nil || b.err != nil:
	case b.status == 0:
		http.Error(b.w, "the server closed the connection without a response", http.StatusBadGateway)
	default:
		_ = b.flush() // deliver what was written before the abort
		panic(http.ErrAbortHandler)
	}
}

// finishExchange passes exchange x to cfg.OnExchange, and saves it with cfg.Save. Both functions
// may be nil. If x must not be saved (see [Recorder.classify] and [RecorderConfig.SaveDefective]),
// finishExchange logs the reason instead of saving x.
func (r *Recorder) finishExchange(x spec.Exchange) {
	d := r.cfg.Dialect
	if x.Response.Status == http.StatusUnauthorized && !hasCredentials(x.Request.Header) {
		x.Request.Principal = spec.Anonymous
	}
	o := RecordedExchange{Exchange: x, Request: d.ParseRequest(x.Request)}
	o.Thread, o.SkipReason = r.classify(x, o.Request)
	if r.cfg.SaveDefective && d.Operation(x.Request) != nil {
		o.SkipReason = ""
	}
	if o.SkipReason != "" {
		r.cfg.Log.Warn("exchange skipped",
			"request", x.Request.Method+" "+targetPath(x.Request.Target), "because", o.SkipReason)
	}
	if r.cfg.OnExchange != nil {
		r.cfg.OnExchange(o)
	}
	if o.SkipReason != "" || r.cfg.Save == nil {
		return
	}
	if err := r.conversations.addExchange(r, o); err != nil {
		r.cfg.Log.Error("saving a conversation failed", "error", err.Error())
	}
}

// targetPath returns target, the target of a request, without its query.
func targetPath(target string) string { p, _, _ := strings.Cut(target, "?"); return p }

// repeatsBase reports whether the target of r begins with the base path of d although it is
// relative to the base URL, and would be that of an operation of d without it.
func repeatsBase(d *dialect.Dialect, r spec.Request) bool {
	rest, repeats := strings.CutPrefix(r.Target, d.Base)
	r.Target = "/" + strings.TrimPrefix(rest, "/")
	return repeats && d.Base != "" && d.Operation(r) != nil
}

// classify returns the id of the thread of exchange x, or "" if x belongs to no thread. If x must
// not be saved, skipReason is the reason; otherwise it is "". The parameter request is the parsed
// request of x.
func (r *Recorder) classify(x spec.Exchange, request spec.Event) (thread, skipReason string) {
	d := r.cfg.Dialect
	if d.Operation(x.Request) == nil {
		if repeatsBase(d, x.Request) {
			return "", fmt.Sprintf("the request repeats the base path %s, which the base URL already contains", d.Base)
		}
		return "", "not an operation of " + d.Name
	}
	thread = request.Thread
	resp, media := x.Response, x.Response.Header.MediaType()
	switch {
	case resp.Status == 0:
		return thread, fmt.Sprintf("no response: %v", resp.End)
	case resp.End != nil && !errors.Is(resp.End, spec.ErrClientLeft):
		return thread, fmt.Sprintf("incomplete response: %v", resp.End)
	case resp.Status >= 500:
		return thread, fmt.Sprintf("the server failed: status %d", resp.Status)
	case resp.Status/100 == 2 && request.MediaType != "" && media != request.MediaType:
		return thread, fmt.Sprintf("got media type %q, want %q", media, request.MediaType)
	case resp.Status/100 == 2 && request.MediaType == spec.EventStream && resp.Header.Has("Content-Encoding"):
		return thread, "the stream has a Content-Encoding, which the request did not accept"
	}
	frames, ended := 0, false
	for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
		thread = cmp.Or(thread, e.Thread)
		if len(e.Flaws) > 0 && e.Kind != spec.HTTPRequest {
			return thread, fmt.Sprintf("line %d of the response: %s", e.Line, e.Flaws[0])
		}
		if e.IsFrame() {
			frames++
		}
		ended = ended || slices.Contains(endKinds, e.Kind)
	}
	mustEnd := frames > 0 || request.Cursor == "" // there may be no events after a cursor
	if media == spec.EventStream && resp.End == nil && request.PollLimit == "" && mustEnd && !ended {
		return thread, fmt.Sprintf("the stream ended without a terminal event (events: %d)", frames)
	}
	return thread, ""
}

// endKinds lists the kinds of events that end a run or a stream. A recorder does not save a
// complete event stream without such an event, unless the stream was resumed and has no events, or
// the request has a [spec.Event.PollLimit].
var endKinds = []spec.Kind{spec.RunEnd, spec.RunError, spec.RunRefused, spec.Done}
