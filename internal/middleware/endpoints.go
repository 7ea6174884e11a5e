package middleware

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// readyTimeout is the time after which the context of a call of Config.Ready is done.
const readyTimeout = 2 * time.Second

// processEndpoint returns the function that responds to r, a request for /healthz, /readyz or
// /metrics. It returns nil if r is for another path, or if Config.PassThrough reports that the
// wrapped handler serves r.
func (f *outermostHandler) processEndpoint(r *http.Request) http.HandlerFunc {
	serve := f.endpoints[r.URL.Path]
	if serve == nil || f.cfg.PassThrough != nil && f.cfg.PassThrough(r) {
		return nil
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", "GET, HEAD")
			writeText(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here")
		}
	}
	return serve
}

// serveHealth responds with status 200, which shows that the process is alive.
func serveHealth(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") }

// serveReady responds with status 200 if Config.Ready is nil or reports no error, and otherwise
// with status 503 and the text of the error.
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

// writeText sends a response with the given status and a body that consists of line and a newline.
func writeText(w http.ResponseWriter, status int, line string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(line)+1))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, line+"\n") // an error means that the client left
}
