// Package front is what stands before all servers of a process: it names requests,
// writes down that they were answered, says whether the process is well, and lets
// browsers of other origins in. It knows no dialect and no user, and it looks into no
// body.
package front

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/streamassay/streamassay/reference/meter"
)

// A Config is what can be set. The zero value of each field is a sensible default.
type Config struct {
	Ready   func(context.Context) error // why requests cannot be served now; nil is that they always can
	Meter   *meter.Meter                // nil counts nothing, and shows nothing
	Log     *slog.Logger                // nil is nowhere
	Origins []string                    // whose pages may ask: "https://app.example", or "*" for all; none is nobody's
	Expose  []string                    // headers of ours that pages may read, besides the usual
	Own     func(*http.Request) bool    // what the inside serves although it looks like ours, such as a /healthz; nil is nothing
	IDs     func() string               // makes ids of requests; nil is random ones
}

// requestID is the header in which the id of a request travels, both ways.
const requestID = "X-Request-Id"

// A front stands before a handler.
type front struct {
	inside http.Handler
	cfg    Config
	cors   *cors
}

// New puts a front before a handler. It answers /healthz, /readyz and /metrics itself.
// The handler finds the id of a request in its header X-Request-Id.
func New(inside http.Handler, cfg Config) http.Handler {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.IDs == nil {
		cfg.IDs = randomID
	}
	return &front{inside, cfg, newCORS(cfg.Origins, cfg.Expose)}
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
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ids := r.Header[requestID]
	if len(ids) != 1 || !sane(ids[0]) {
		ids = []string{f.cfg.IDs()}
		r.Header[requestID] = ids // nobody but those behind us sees the request after this
	}
	w.Header()[requestID] = ids
	level := slog.LevelInfo
	ours := f.ours(r)
	if ours != nil { // these are asked every few seconds, and nobody wants to read it
		level = slog.LevelDebug
	}
	a := &answer{ResponseWriter: w}
	if f.cfg.Log.Enabled(r.Context(), level) {
		begun := time.Now()
		defer func() { f.note(r, a, level, ids[0], time.Since(begun)) }()
	}
	defer f.guard(r, a, ids[0])
	switch {
	case ours != nil:
		ours(a, r)
	case f.cors == nil || !f.cors.answers(a, r):
		f.inside.ServeHTTP(a, r)
	}
}

// sane says whether an id that somebody gave a request can stand in headers and logs.
func sane(id string) bool {
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

// note writes down that a request was answered: of what was asked for only the path,
// for there are secrets in queries.
func (f *front) note(r *http.Request, a *answer, level slog.Level, id string, took time.Duration) {
	path := r.URL.Path
	if len(path) > 512 {
		path = path[:512] + "…"
	}
	f.cfg.Log.LogAttrs(r.Context(), level, "request",
		slog.String("method", r.Method), slog.String("path", path), slog.Int("status", a.status), slog.Int64("bytes", a.bytes),
		slog.Duration("took", took), slog.String("id", id), slog.String("remote", r.RemoteAddr))
}

// guard keeps a fault of the program to the request in which it came to light: who asked
// hears of no detail. What was begun is cut off, so that nobody takes it for whole.
func (f *front) guard(r *http.Request, a *answer, id string) {
	broken := recover()
	if broken == nil {
		if a.status == 0 { // as net/http answers if nobody does
			a.status = http.StatusOK
		}
		return
	}
	if broken == http.ErrAbortHandler {
		panic(broken)
	}
	f.cfg.Meter.Panicked()
	f.cfg.Log.LogAttrs(r.Context(), slog.LevelError, "a request failed",
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.String("id", id),
		slog.String("panic", fmt.Sprint(broken)), slog.String("stack", string(debug.Stack())))
	if a.status != 0 {
		panic(http.ErrAbortHandler)
	}
	clear(a.Header())
	a.Header()[requestID] = []string{id}
	if f.cors != nil {
		f.cors.admit(a.Header(), r)
	}
	text(a, http.StatusInternalServerError, "internal failure "+id)
}
