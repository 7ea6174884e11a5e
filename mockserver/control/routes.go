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
var openAPI []byte

// A handler answers a request, or says what is wrong with it.
type handler func(w http.ResponseWriter, r *http.Request) error

// A route is an address and what can be done there, by method.
type route struct {
	path     string
	handlers map[string]handler
}

// apiRoutes are the addresses that the document tells of.
func (s *server) apiRoutes() []route {
	return []route{
		{"/healthz", map[string]handler{"GET": s.getHealth}},
		{"/openapi.yaml", map[string]handler{"GET": s.getDocument}},
		{"/v1/status", map[string]handler{"GET": s.getStatus}},
		{"/v1/journal", map[string]handler{"GET": s.listExchanges, "DELETE": s.clearJournal}},
		{"/v1/journal/feed", map[string]handler{"GET": s.streamNotes}},
		{"/v1/journal/{id}", map[string]handler{"GET": s.getExchange}},
		{"/v1/verify", map[string]handler{"POST": s.verifyCalls}},
		{"/v1/wait", map[string]handler{"POST": s.waitForExchanges}},
		{"/v1/streams", map[string]handler{"GET": s.listStreams}},
		{"/v1/streams/{id}", map[string]handler{"GET": s.getStream}},
		{"/v1/streams/{id}/hold", map[string]handler{"POST": s.holdStream}},
		{"/v1/streams/{id}/next", map[string]handler{"POST": s.stepStream}},
		{"/v1/streams/{id}/release", map[string]handler{"POST": s.releaseStream}},
		{"/v1/streams/{id}/inject", map[string]handler{"POST": s.injectFrame}},
		{"/v1/streams/{id}/end", map[string]handler{"POST": s.endStream}},
		{"/v1/scripts", map[string]handler{"GET": s.getScripts, "PUT": s.putScripts, "DELETE": s.deleteScripts}},
		{"/v1/scripts/check", map[string]handler{"POST": s.checkScripts}},
		{"/v1/scripts/schema", map[string]handler{"GET": s.getScriptSchema}},
		{"/v1/settings", map[string]handler{"GET": s.getSettings, "PUT": s.putSettings, "PATCH": s.patchSettings, "DELETE": s.deleteSettings}},
		{"/v1/state", map[string]handler{"GET": s.getState, "PUT": s.putState}},
		{"/v1/clock", map[string]handler{"GET": s.getClock, "PUT": s.putClock}},
		{"/v1/reset", map[string]handler{"POST": s.resetMock}},
		{"/v1/faults", map[string]handler{"GET": s.listFaults}},
	}
}

// pageRoutes are the addresses for people.
func (s *server) pageRoutes() []route {
	return []route{
		{"/{$}", map[string]handler{"GET": s.servePage}},
		{"/exchanges/{id}", map[string]handler{"GET": s.serveExchangePage}},
		{"/page.js", map[string]handler{"GET": serveAsset("page.js", "text/javascript; charset=utf-8")}},
		{"/page.css", map[string]handler{"GET": serveAsset("page.css", "text/css; charset=utf-8")}},
	}
}

func (s *server) newMux() http.Handler {
	mux := http.NewServeMux()
	for _, at := range append(s.apiRoutes(), s.pageRoutes()...) {
		mux.Handle(at.path, at)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblemf(w, http.StatusNotFound, "nothing is at %.100q: /openapi.yaml says what there is", r.URL.Path)
	})
	return mux
}

// ServeHTTP answers one request.
func (at route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	do := at.handlers[method]
	if do == nil {
		allow := strings.Join(slices.Sorted(maps.Keys(at.handlers)), ", ")
		w.Header().Set("Allow", allow)
		writeProblemf(w, http.StatusMethodNotAllowed, "%.20q is not possible here: %s is", r.Method, allow)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // not everything has deadlines
	if err := do(w, r); err != nil {
		writeError(w, err)
	}
}

func (s *server) getHealth(w http.ResponseWriter, r *http.Request) error {
	writeJSON(w, map[string]bool{"ok": true})
	return nil
}

func (s *server) getDocument(w http.ResponseWriter, r *http.Request) error {
	writeBody(w, http.StatusOK, "application/yaml", openAPI)
	return nil
}
