package middleware

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// readyTimeout is how long a call of Config.Ready may take.
const readyTimeout = 2 * time.Second

// processEndpoint returns the function that serves the request if it is for /healthz, /readyz or
// /metrics. It returns nil for a request that the wrapped handler serves: one for another path, or
// one for which Config.PassThrough returns true.
func (f *outermostHandler) processEndpoint(r *http.Request) http.HandlerFunc {
	serve := f.endpoints[r.URL.Path]
	if serve == nil || f.cfg.PassThrough != nil && f.cfg.PassThrough(r) {
		return nil
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return methodNotAllowed
	}
	return serve
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	writeText(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here")
}

// serveHealth responds with status 200, which shows that the process is alive.
func serveHealth(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") }

// serveReady responds with status 200 if the process can serve requests, and otherwise with 503
// and the reason.
func (f *outermostHandler) serveReady(w http.ResponseWriter, r *http.Request) {
	if f.cfg.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if err := f.cfg.Ready(ctx); err != nil {
			writeText(w, http.StatusServiceUnavailable, strings.Join(strings.Fields(err.Error()), " "))
			return
		}
	}
	writeText(w, http.StatusOK, "ok")
}

// writeText sends a response with one line of text.
func writeText(w http.ResponseWriter, status int, line string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(line)+1))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, line+"\n") // an error means that the client left
}
