package control

import (
	_ "embed"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

//go:embed openapi.yaml
var document []byte

// A handler answers a request, or says what is wrong with it.
type handler func(w http.ResponseWriter, r *http.Request) error

// A route is an address and what can be done there, by method.
type route struct {
	path string
	do   map[string]handler
}

// api are the addresses that the document tells of.
func (s *server) api() []route {
	return []route{
		{"/healthz", map[string]handler{"GET": s.health}},
		{"/openapi.yaml", map[string]handler{"GET": s.document}},
		{"/v1/status", map[string]handler{"GET": s.status}},
		{"/v1/journal", map[string]handler{"GET": s.list, "DELETE": s.forget}},
		{"/v1/journal/feed", map[string]handler{"GET": s.feed}},
		{"/v1/journal/{id}", map[string]handler{"GET": s.exchange}},
		{"/v1/verify", map[string]handler{"POST": s.verify}},
		{"/v1/wait", map[string]handler{"POST": s.wait}},
		{"/v1/streams", map[string]handler{"GET": s.streams}},
		{"/v1/streams/{id}", map[string]handler{"GET": s.stream}},
		{"/v1/streams/{id}/hold", map[string]handler{"POST": s.hold}},
		{"/v1/streams/{id}/next", map[string]handler{"POST": s.next}},
		{"/v1/streams/{id}/release", map[string]handler{"POST": s.release}},
		{"/v1/streams/{id}/inject", map[string]handler{"POST": s.inject}},
		{"/v1/streams/{id}/end", map[string]handler{"POST": s.end}},
		{"/v1/scripts", map[string]handler{"GET": s.scripts, "PUT": s.putScripts, "DELETE": s.dropScripts}},
		{"/v1/scripts/check", map[string]handler{"POST": s.checkScripts}},
		{"/v1/scripts/schema", map[string]handler{"GET": s.schema}},
		{"/v1/settings", map[string]handler{"GET": s.settings, "PUT": s.putSettings, "PATCH": s.patchSettings, "DELETE": s.dropSettings}},
		{"/v1/state", map[string]handler{"GET": s.state, "PUT": s.putState}},
		{"/v1/clock", map[string]handler{"GET": s.clock, "PUT": s.putClock}},
		{"/v1/reset", map[string]handler{"POST": s.reset}},
		{"/v1/faults", map[string]handler{"GET": s.faults}},
	}
}

// pages are the addresses for people.
func (s *server) pages() []route {
	return []route{
		{"/{$}", map[string]handler{"GET": s.page}},
		{"/exchanges/{id}", map[string]handler{"GET": s.exchangePage}},
		{"/page.js", map[string]handler{"GET": asset("page.js", "text/javascript; charset=utf-8")}},
		{"/page.css", map[string]handler{"GET": asset("page.css", "text/css; charset=utf-8")}},
	}
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, at := range append(s.api(), s.pages()...) {
		mux.Handle(at.path, at)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "nothing is at %.100q: /openapi.yaml says what there is", r.URL.Path)
	})
	return mux
}

// ServeHTTP answers one request.
func (at route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	do := at.do[method]
	if do == nil {
		allow := strings.Join(slices.Sorted(maps.Keys(at.do)), ", ")
		w.Header().Set("Allow", allow)
		refuse(w, http.StatusMethodNotAllowed, "%.20q is not possible here: %s is", r.Method, allow)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWait)) // not everything has deadlines
	if err := do(w, r); err != nil {
		fail(w, err)
	}
}

func (s *server) health(w http.ResponseWriter, r *http.Request) error {
	answer(w, map[string]bool{"ok": true})
	return nil
}

func (s *server) document(w http.ResponseWriter, r *http.Request) error {
	send(w, http.StatusOK, "application/yaml", document)
	return nil
}
