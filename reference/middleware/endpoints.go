package middleware

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// readyTimeout is how long what has to be there may take to say so.
const readyTimeout = 2 * time.Second

// processEndpoint answers what is asked of the process and not of a server in it; nil is what is not.
func (f *handler) processEndpoint(r *http.Request) func(http.ResponseWriter, *http.Request) {
	var do func(http.ResponseWriter, *http.Request)
	switch r.URL.Path {
	case "/healthz":
		do = serveHealth
	case "/readyz":
		do = f.serveReady
	case "/metrics":
		do = f.cfg.Metrics.Handler().ServeHTTP
	default:
		return nil
	}
	if f.cfg.PassThrough != nil && f.cfg.PassThrough(r) {
		return nil
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return methodNotAllowed
	}
	return do
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	writeText(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here")
}

// serveHealth says that the process lives: it is answered, so it does.
func serveHealth(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") }

// serveReady says whether requests can be served, and if not why.
func (f *handler) serveReady(w http.ResponseWriter, r *http.Request) {
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

// writeText answers with a line.
func writeText(w http.ResponseWriter, status int, line string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(line)+1))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, line+"\n") // who left does not want it
}
