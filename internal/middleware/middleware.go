// Package middleware provides the outermost handler of a server process: it assigns request ids,
// logs requests, recovers from panics, serves health checks and metrics, and implements CORS. It
// depends on no dialect and does not read the bodies of requests.
package middleware

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/metrics"
	"github.com/streamassay/streamassay/internal/printable"
)

// A Config configures the handler that New returns. The zero value of each field is a usable
// default.
type Config struct {
	// Ready returns an error if the process cannot serve requests at present. It is called for
	// requests to /readyz. If Ready is nil, the process is always ready.
	Ready   func(context.Context) error
	Metrics *metrics.Counters // served at /metrics; nil: nothing is counted, and /metrics has status 404
	Log     *slog.Logger      // nil discards log records
	// AllowedOrigins are the origins whose pages may read responses, such as
	// "https://app.example", or "*" for all. Without any, CORS is disabled.
	AllowedOrigins []string
	// ExposedHeaders are response headers that pages of the allowed origins may read. They may also
	// read X-Request-Id, Retry-After and the headers that CORS always allows.
	ExposedHeaders []string
	// PassThrough reports whether the wrapped handler serves a request for /healthz, /readyz or
	// /metrics. If PassThrough is nil, it serves none of them.
	PassThrough func(*http.Request) bool
	NewID       func() string // returns a new request id; nil means 128 random bits
}

// requestIDHeader is the header with the id of a request, in requests and responses.
const requestIDHeader = "X-Request-Id"

// An outermostHandler is the handler that New returns. It wraps next, the handler of a server
// process.
type outermostHandler struct {
	next      http.Handler
	cfg       Config
	cors      *cors                       // nil if CORS is disabled
	endpoints map[string]http.HandlerFunc // /healthz, /readyz and /metrics, by path
}

// New returns a handler that wraps next. It responds to requests for /healthz, /readyz and /metrics
// and to CORS preflights itself, and passes all other requests to next. Each request has an id: the
// value of its X-Request-Id header or, if the client sent none or an unsafe one, a result of
// cfg.NewID. The handler sets the X-Request-Id header to this id, both in the request that next
// receives and in the response.
func New(next http.Handler, cfg Config) http.Handler {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.NewID == nil {
		cfg.NewID = randomID
	}
	f := &outermostHandler{next: next, cfg: cfg, cors: newCORS(cfg.AllowedOrigins, cfg.ExposedHeaders)}
	f.endpoints = map[string]http.HandlerFunc{
		"/healthz": serveHealth, "/readyz": f.serveReady, "/metrics": cfg.Metrics.Handler().ServeHTTP,
	}
	return f
}

// randomID returns 128 random bits in hexadecimal. The bits are not cryptographically secure; they
// need not be, because knowing an id gives no access to anything.
func randomID() string {
	var id [16]byte
	binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	return hex.EncodeToString(id[:])
}

// ServeHTTP determines the id of the request and logs the request. It responds to CORS preflights
// and to requests for /healthz, /readyz and /metrics itself, and passes all other requests to the
// wrapped handler.
func (f *outermostHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ids := r.Header[requestIDHeader]
	if len(ids) != 1 || !isSafeID(ids[0]) {
		ids = []string{f.cfg.NewID()}
		r.Header[requestIDHeader] = ids // for the wrapped handler
	}
	w.Header()[requestIDHeader] = ids
	level := slog.LevelInfo
	endpoint := f.processEndpoint(r)
	if endpoint != nil { // requested every few seconds
		level = slog.LevelDebug
	}
	a := &statusRecorder{ResponseWriter: w}
	if f.cfg.Log.Enabled(r.Context(), level) {
		start := time.Now()
		defer func() { // without the query, which may contain secrets
			f.cfg.Log.LogAttrs(r.Context(), level, "request",
				slog.String("method", r.Method), slog.String("path", loggedPath(r)),
				slog.Int("status", a.status), slog.Int64("bytes", a.bytes),
				slog.Duration("took", time.Since(start)), slog.String("id", ids[0]), slog.String("remote", r.RemoteAddr))
		}()
	}
	defer f.recoverPanic(r, a, ids[0])
	switch {
	case endpoint != nil:
		endpoint(a, r)
	case f.cors == nil || !f.cors.handlePreflight(a, r):
		f.next.ServeHTTP(a, r)
	}
}

// alphanumerics are the ASCII letters and digits.
const alphanumerics = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// isSafeID reports whether an id that a client sent may appear in headers and logs: it has from 1
// to 128 bytes and contains only ASCII letters, digits and the characters +-./:_=@.
func isSafeID(id string) bool {
	return id != "" && len(id) <= 128 && strings.Trim(id, alphanumerics+"+-./:_=@") == ""
}

// maxLoggedPath is the maximum length, in bytes, of a path in a log record.
const maxLoggedPath = 512

// loggedPath returns the path of r for a log record. It truncates a path of more than maxLoggedPath
// bytes, but not within a character, and appends an ellipsis.
func loggedPath(r *http.Request) string {
	path := r.URL.Path
	if shown := printable.Prefix(path, maxLoggedPath); len(shown) < len(path) {
		return shown + "…"
	}
	return path
}

// recoverPanic recovers from a panic of the wrapped handler. It logs the panic and responds with
// status 500 and the id of the request. If the response has begun, it aborts the connection
// instead, so that clients do not mistake a truncated response for a complete one. A panic with
// http.ErrAbortHandler continues.
//
// If there is no panic and the handler has sent nothing, recoverPanic records the status 200, which
// net/http then sends. It must be called directly by a defer statement.
func (f *outermostHandler) recoverPanic(r *http.Request, a *statusRecorder, id string) {
	panicked := recover()
	if panicked == nil {
		if a.status == 0 { // net/http sends 200 if a handler sends nothing
			a.status = http.StatusOK
		}
		return
	}
	if panicked == http.ErrAbortHandler {
		panic(panicked)
	}
	f.cfg.Metrics.Panicked()
	f.cfg.Log.LogAttrs(r.Context(), slog.LevelError, "a request failed",
		slog.String("method", r.Method), slog.String("path", loggedPath(r)), slog.String("id", id),
		slog.String("panic", fmt.Sprint(panicked)), slog.String("stack", string(debug.Stack())))
	if a.status != 0 {
		panic(http.ErrAbortHandler)
	}
	clear(a.Header())
	a.Header()[requestIDHeader] = []string{id}
	if f.cors != nil {
		f.cors.setHeaders(a.Header(), r)
	}
	writeText(a, http.StatusInternalServerError, "internal failure "+id)
}
