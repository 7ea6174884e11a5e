package replay

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
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

// A RecorderConfig says whom a recorder asks, and who is told what it heard. Dialect and
// Upstream are needed.
type RecorderConfig struct {
	Dialect  *dialect.Dialect
	Upstream *url.URL       // base URL of the real server: what stands there where the dialect has its base
	Header   spec.Header    // goes with every request that does not have the field; it is never written down
	CA       *x509.CertPool // whom to trust; nil: the system's authorities

	// Save is told of a conversation whenever an exchange of it is over, with all that
	// was heard of it so far. Calls come one at a time. nil: nothing is saved.
	Save func(RecordedConversation) error
	// Heard is told of every exchange, also of those that are not saved; several may be
	// over at once.
	OnExchange  func(RecordedExchange)
	Log         *slog.Logger // what is not saved, and why; nil: nobody is told
	IdleTimeout time.Duration
}

// What a recorder puts up with.
const (
	DefaultIdleTimeout = 10 * time.Minute      // silence of the real server
	MaxRequestBytes    = 32 << 20              // bytes of a request
	MaxResponseBytes   = 256 << 20             // bytes of an answer
	maxResponseTime    = 24 * time.Hour        // time of an answer
	maxEventBytes      = dialect.MaxEventBytes // bytes of an event of it
)

// An RecordedExchange is an exchange that went through a recorder.
type RecordedExchange struct {
	Exchange   spec.Exchange // its target is what follows the dialect's base
	Request    spec.Event    // the request as it was heard
	Thread     string        // its conversation, if it has one
	SkipReason string        // why it is not saved; "": it is
}

// A Recorder is a handler that hands every request on to a real server, and its answer
// back as it comes: nothing is gathered, compressed, followed or asked for twice. It
// keeps what it heard as conversations. It does not judge; what it refuses to save is
// what nobody can learn from: an answer that was cut off, whose frames cannot be read,
// that is not of the type the document promises, or that says the server failed.
type Recorder struct {
	cfg           RecorderConfig
	client        *wire.Client
	upstream      string // the real server, without secrets
	conversations openConversations
}

// NewRecorder makes a recorder.
func NewRecorder(cfg RecorderConfig) (*Recorder, error) {
	if cfg.Dialect == nil {
		return nil, errors.New("a recorder needs a dialect, to tell conversations apart")
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.IdleTimeout = cmp.Or(cfg.IdleTimeout, DefaultIdleTimeout)
	client, err := wire.NewClient(wire.Config{
		Base: cfg.Upstream, Header: cfg.Header, CA: cfg.CA,
		IdleTimeout: cfg.IdleTimeout, TotalTimeout: maxResponseTime, MaxBodyBytes: MaxResponseBytes, MaxEventBytes: maxEventBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("the server to record: %w", err)
	}
	plain := url.URL{Scheme: cfg.Upstream.Scheme, Host: cfg.Upstream.Host, Path: cfg.Upstream.Path}
	return &Recorder{cfg: cfg, client: client, upstream: plain.String()}, nil
}

// ServeHTTP hands a request on.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	client, req, err := r.upstreamRequest(w, in)
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	began := time.Now()
	forwarder := &responseForwarder{w: w, method: in.Method}
	x, err := client.Do(in.Context(), req, wire.StopWhen{Until: forwarder.forward})
	failed := err != nil || x.Response.End != nil
	if left := in.Context().Err() != nil || forwarder.err != nil; left && failed { // who has it all may leave
		x.Response.End, err = spec.ErrClientLeft, nil
	}
	if err != nil {
		r.cfg.Log.Warn("the real server cannot be asked", "error", err.Error())
		if forwarder.status == 0 {
			http.Error(w, "the server that is recorded cannot be asked", http.StatusBadGateway)
			return
		}
		x.Response.End = spec.ErrTruncated
	}
	r.finishExchange(x, began)
	forwarder.finish(x.Response)
}

// upstreamRequest is what the real server is asked, and by whom: who leads the conversation, or,
// for what does not stand below the dialect's base, nobody.
func (r *Recorder) upstreamRequest(w http.ResponseWriter, in *http.Request) (*wire.Client, spec.Request, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, in.Body, MaxRequestBytes))
	if err != nil {
		return nil, spec.Request{}, fmt.Errorf("the request cannot be read, or has more than %d bytes", MaxRequestBytes)
	}
	req := spec.Request{Method: in.Method, Target: in.URL.RequestURI(), Header: forwardedHeader(in.Header), Body: body}
	base := r.cfg.Dialect.Base
	if rest, ok := strings.CutPrefix(req.Target, base); ok && (rest == "" || rest[0] == '/' || rest[0] == '?') {
		req.Target = rest
		return r.client, req, nil
	}
	return r.client.AtRoot(), req, nil
}

// forwardedHeader are the fields of a request that are the real server's business. A coding would
// hide what is said.
func forwardedHeader(h http.Header) (out spec.Header) {
	drop := headersToDrop(h.Values("Connection"))
	for _, name := range sortedNames(h) {
		if slices.ContainsFunc(drop, func(s string) bool { return strings.EqualFold(s, name) }) || name == "Accept-Encoding" || name == "Host" {
			continue
		}
		for _, value := range h[name] {
			out = append(out, spec.Field{Name: name, Value: value})
		}
	}
	return append(out, spec.Field{Name: "Accept-Encoding", Value: "identity"})
}

// headersToDrop are the fields that end with a connection.
func headersToDrop(connections []string) []string {
	drop := append(slices.Clone(hopByHopHeaders), "Proxy-Authorization", "Expect")
	for _, value := range connections {
		for name := range strings.SplitSeq(value, ",") {
			drop = append(drop, strings.TrimSpace(name))
		}
	}
	return drop
}

func sortedNames(h http.Header) []string {
	keys := make([]string, 0, len(h))
	for name := range h {
		keys = append(keys, name)
	}
	slices.Sort(keys)
	return keys
}

// A responseForwarder is an answer on its way back to the client.
type responseForwarder struct {
	w      http.ResponseWriter
	method string
	status int
	sent   int
	err    error // the client is gone
}

// forward passes on what came; it is true if nobody wants more.
func (b *responseForwarder) forward(received spec.Response) bool {
	if b.status == 0 {
		b.status = received.Status
		b.writeHeader(received)
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

// writeHeader are the fields that are the client's business. The length is kept of what has one:
// who is sent less then sees that it was cut off.
func (b *responseForwarder) writeHeader(received spec.Response) {
	drop := headersToDrop(nil)
	for _, f := range received.Header {
		if strings.EqualFold(f.Name, "Connection") {
			drop = append(drop, headersToDrop([]string{f.Value})...)
		}
	}
	h := b.w.Header()
	for _, f := range received.Header {
		if !slices.ContainsFunc(drop, func(s string) bool { return strings.EqualFold(s, f.Name) }) {
			h.Add(f.Name, f.Value)
		}
	}
	if _, err := strconv.Atoi(received.Header.Get("Content-Length")); err == nil && !received.Header.Has("Transfer-Encoding") {
		h.Set("Content-Length", received.Header.Get("Content-Length"))
	}
}

func (b *responseForwarder) flush() error {
	err := http.NewResponseController(b.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// finish ends the answer as the real server ended it.
func (b *responseForwarder) finish(received spec.Response) {
	switch {
	case received.End == nil || b.err != nil:
	case b.status == 0:
		http.Error(b.w, "the server that is recorded gave no answer", http.StatusBadGateway)
	default:
		_ = b.flush() // what was said is heard before it breaks off
		panic(http.ErrAbortHandler)
	}
}

// finishExchange keeps an exchange, or says why not.
func (r *Recorder) finishExchange(x spec.Exchange, began time.Time) {
	d := r.cfg.Dialect
	if x.Response.Status == http.StatusUnauthorized && !hasCredentials(x.Request.Header) {
		x.Request.Principal = spec.Anonymous
	}
	o := RecordedExchange{Exchange: x, Request: d.ParseRequest(x.Request)}
	o.Thread, o.SkipReason = r.classify(x, o.Request)
	if o.SkipReason != "" {
		r.cfg.Log.Warn("an exchange is not saved", "request", x.Request.Method+" "+targetPath(x.Request.Target), "because", o.SkipReason)
	}
	if r.cfg.OnExchange != nil {
		r.cfg.OnExchange(o)
	}
	if o.SkipReason != "" || r.cfg.Save == nil {
		return
	}
	if err := r.conversations.addExchange(r, o, began); err != nil {
		r.cfg.Log.Error("a conversation cannot be saved", "error", err.Error())
	}
}

func targetPath(target string) string { p, _, _ := strings.Cut(target, "?"); return p }

// classify is which conversation an exchange belongs to, and why it is not worth saving.
func (r *Recorder) classify(x spec.Exchange, ask spec.Event) (thread, skipReason string) {
	d := r.cfg.Dialect
	if d.Operation(x.Request) == nil {
		return "", d.Name + " has no such operation"
	}
	thread = ask.Thread
	resp := x.Response
	switch media := resp.Header.MediaType(); {
	case resp.Status == 0:
		return thread, fmt.Sprintf("no answer came: %v", resp.End)
	case resp.End != nil && !errors.Is(resp.End, spec.ErrClientLeft):
		return thread, fmt.Sprintf("the answer broke off: %v", resp.End)
	case resp.Status >= 500:
		return thread, fmt.Sprintf("the server failed: status %d", resp.Status)
	case resp.Status/100 == 2 && ask.MediaType != "" && media != ask.MediaType:
		return thread, fmt.Sprintf("the answer is of the type %q, the document promises %q", media, ask.MediaType)
	case resp.Status/100 == 2 && ask.MediaType == spec.EventStream && resp.Header.Has("Content-Encoding"):
		return thread, "the stream is encoded, though nobody asked for that"
	}
	frames, ended := 0, false
	for e := range d.Events(spec.Trace{Exchanges: []spec.Exchange{x}}) {
		thread = cmp.Or(thread, e.Thread)
		if len(e.Flaws) > 0 && e.Kind != spec.HTTPRequest {
			return thread, fmt.Sprintf("line %d of the answer: %s", e.Line, e.Flaws[0])
		}
		if e.IsFrame() {
			frames++
		}
		ended = ended || slices.Contains(endKinds, e.Kind)
	}
	told := frames > 0 || ask.Cursor == "" // there may be nothing after a cursor
	if media := resp.Header.MediaType(); media == spec.EventStream && resp.End == nil && ask.PollLimit == "" && told && !ended {
		return thread, fmt.Sprintf("the stream ended after %d events, none of which says that the run is over", frames)
	}
	return thread, ""
}

// endKinds are what a stream may end with.
var endKinds = []spec.Kind{spec.RunEnd, spec.RunError, spec.RunRefused, spec.Done}

var _ http.Handler = (*Recorder)(nil)
