package front

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// readyWait is how long what has to be there may take to say so.
const readyWait = 2 * time.Second

// ours answers what is asked of the process and not of a server in it; nil is what is not.
func (f *front) ours(r *http.Request) func(http.ResponseWriter, *http.Request) {
	var do func(http.ResponseWriter, *http.Request)
	switch r.URL.Path {
	case "/healthz":
		do = health
	case "/readyz":
		do = f.ready
	case "/metrics":
		do = f.cfg.Meter.Handler().ServeHTTP
	default:
		return nil
	}
	if f.cfg.Own != nil && f.cfg.Own(r) {
		return nil
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return onlyRead
	}
	return do
}

func onlyRead(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "GET, HEAD")
	text(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here")
}

// health says that the process lives: it is answered, so it does.
func health(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok") }

// ready says whether requests can be served, and if not why.
func (f *front) ready(w http.ResponseWriter, r *http.Request) {
	if f.cfg.Ready != nil {
		ctx, cancel := context.WithTimeout(r.Context(), readyWait)
		defer cancel()
		if err := f.cfg.Ready(ctx); err != nil {
			text(w, http.StatusServiceUnavailable, strings.Join(strings.Fields(err.Error()), " "))
			return
		}
	}
	text(w, http.StatusOK, "ok")
}

// text answers with a line.
func text(w http.ResponseWriter, status int, line string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(line)+1))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, line+"\n") // who left does not want it
}
