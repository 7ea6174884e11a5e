// Package middleware is what stands before all servers of a process: it names requests,
// writes down that they were answered, says whether the process is well, and lets
// browsers of other origins in. It knows no dialect and no user, and it looks into no
// body.
package middleware

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/streamassay/streamassay/reference/metrics"
)

// A Config is what can be set. The zero value of each field is a sensible default.
type Config struct {
	Ready          func(context.Context) error // why requests cannot be served now; nil is that they always can
	Metrics        *metrics.Counters           // nil counts nothing, and shows nothing
	Log            *slog.Logger                // nil is nowhere
	AllowedOrigins []string                    // whose pages may ask: "https://app.example", or "*" for all; none is nobody's
	ExposedHeaders []string                    // headers of ours that pages may read, besides the usual
	PassThrough    func(*http.Request) bool    // what the inside serves although it looks like ours, such as a /healthz; nil is nothing
	NewID          func() string               // makes ids of requests; nil is random ones
}

// requestIDHeader is the header in which the id of a request travels, both ways.
const requestIDHeader = "X-Request-Id"

// A handler stands before a handler.
type handler struct {
	next http.Handler
	cfg  Config
	cors *cors
}

// New puts a front before a handler. It answers /healthz, /readyz and /metrics itself.
// The handler finds the id of a request in its header X-Request-Id.
func New(next http.Handler, cfg Config) http.Handler {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.NewID == nil {
		cfg.NewID = randomID
	}
	return &handler{next, cfg, newCORS(cfg.AllowedOrigins, cfg.ExposedHeaders)}
}

// randomID has 128 random bits. Whoever knows one can do nothing with it.
func randomID() string {
	const digits = "0123456789abcdef"
	var id [32]byte
	for half := range 2 {
		n := rand.Uint64()
		for i := range 16 {
			id[half*16+i] = digits[n&15]
			n >>= 4
		}
	}
	return string(id[:])
}

// ServeHTTP answers one request.
func (f *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ids := r.Header[requestIDHeader]
	if len(ids) != 1 || !isSafeID(ids[0]) {
		ids = []string{f.cfg.NewID()}
		r.Header[requestIDHeader] = ids // nobody but those behind us sees the request after this
	}
	w.Header()[requestIDHeader] = ids
	level := slog.LevelInfo
	endpoint := f.processEndpoint(r)
	if endpoint != nil { // these are asked every few seconds, and nobody wants to read it
		level = slog.LevelDebug
	}
	a := &responseRecorder{ResponseWriter: w}
	if f.cfg.Log.Enabled(r.Context(), level) {
		begun := time.Now()
		defer func() { f.logRequest(r, a, level, ids[0], time.Since(begun)) }()
	}
	defer f.recoverPanic(r, a, ids[0])
	switch {
	case endpoint != nil:
		endpoint(a, r)
	case f.cors == nil || !f.cors.handlePreflight(a, r):
		f.next.ServeHTTP(a, r)
	}
}

// isSafeID says whether an id that somebody gave a request can stand in headers and logs.
func isSafeID(id string) bool {
	for i := range len(id) {
		c := id[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if c < '+' || c > ':' || c == ',' { // + - . / digits :
				if c != '_' && c != '=' && c != '@' {
					return false
				}
			}
		}
	}
	return id != "" && len(id) <= 128
}

// logRequest writes down that a request was answered: of what was asked for only the path,
// for there are secrets in queries.
func (f *handler) logRequest(r *http.Request, a *responseRecorder, level slog.Level, id string, took time.Duration) {
	path := r.URL.Path
	if len(path) > 512 {
		path = path[:512] + "…"
	}
	f.cfg.Log.LogAttrs(r.Context(), level, "request",
		slog.String("method", r.Method), slog.String("path", path), slog.Int("status", a.status), slog.Int64("bytes", a.bytes),
		slog.Duration("took", took), slog.String("id", id), slog.String("remote", r.RemoteAddr))
}

// recoverPanic keeps a fault of the program to the request in which it came to light: who asked
// hears of no detail. What was begun is cut off, so that nobody takes it for whole.
func (f *handler) recoverPanic(r *http.Request, a *responseRecorder, id string) {
	panicked := recover()
	if panicked == nil {
		if a.status == 0 { // as net/http answers if nobody does
			a.status = http.StatusOK
		}
		return
	}
	if panicked == http.ErrAbortHandler {
		panic(panicked)
	}
	f.cfg.Metrics.Panicked()
	f.cfg.Log.LogAttrs(r.Context(), slog.LevelError, "a request failed",
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("id", id),
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
