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

// An apiHandler handles a request. If it returns an error, it has not responded, and the error is
// sent as the response.
type apiHandler func(w http.ResponseWriter, r *http.Request) error

// A route is a path pattern with the handler for each method that the path allows.
type route struct {
	path     string
	handlers map[string]apiHandler
}

// apiRoutes returns the routes that openapi.yaml documents.
func (s *server) apiRoutes() []route {
	return []route{
		{"/healthz", map[string]apiHandler{"GET": s.getHealth}},
		{"/openapi.yaml", map[string]apiHandler{"GET": s.getDocument}},
		{"/v1/status", map[string]apiHandler{"GET": s.getStatus}},
		{"/v1/journal", map[string]apiHandler{"GET": s.listExchanges, "DELETE": s.clearJournal}},
		{"/v1/journal/feed", map[string]apiHandler{"GET": s.streamNotes}},
		{"/v1/journal/{id}", map[string]apiHandler{"GET": s.getExchange}},
		{"/v1/verify", map[string]apiHandler{"POST": s.verifyCalls}},
		{"/v1/wait", map[string]apiHandler{"POST": s.waitForExchanges}},
		{"/v1/streams", map[string]apiHandler{"GET": s.listStreams}},
		{"/v1/streams/{id}", map[string]apiHandler{"GET": s.getStream}},
		{"/v1/streams/{id}/hold", map[string]apiHandler{"POST": s.holdStream}},
		{"/v1/streams/{id}/next", map[string]apiHandler{"POST": s.stepStream}},
		{"/v1/streams/{id}/release", map[string]apiHandler{"POST": s.releaseStream}},
		{"/v1/streams/{id}/inject", map[string]apiHandler{"POST": s.injectFrame}},
		{"/v1/streams/{id}/end", map[string]apiHandler{"POST": s.endStream}},
		{"/v1/scripts", map[string]apiHandler{"GET": s.getScripts, "PUT": s.putScripts, "DELETE": s.deleteScripts}},
		{"/v1/scripts/check", map[string]apiHandler{"POST": s.checkScripts}},
		{"/v1/scripts/schema", map[string]apiHandler{"GET": s.getScriptSchema}},
		{"/v1/settings", map[string]apiHandler{"GET": s.getSettings, "PUT": s.putSettings, "PATCH": s.patchSettings, "DELETE": s.deleteSettings}},
		{"/v1/state", map[string]apiHandler{"GET": s.getState, "PUT": s.putState}},
		{"/v1/clock", map[string]apiHandler{"GET": s.getClock, "PUT": s.putClock}},
		{"/v1/reset", map[string]apiHandler{"POST": s.resetMock}},
		{"/v1/faults", map[string]apiHandler{"GET": s.listFaults}},
	}
}

// pageRoutes returns the routes of the HTML pages.
func (s *server) pageRoutes() []route {
	return []route{
		{"/{$}", map[string]apiHandler{"GET": s.servePage}},
		{"/exchanges/{id}", map[string]apiHandler{"GET": s.serveExchangePage}},
		{"/page.js", map[string]apiHandler{"GET": serveAsset("page.js", "text/javascript; charset=utf-8")}},
		{"/page.css", map[string]apiHandler{"GET": serveAsset("page.css", "text/css; charset=utf-8")}},
	}
}

// newMux returns a handler that passes each request to the route for its path, or responds with
// status 404 if there is no such route.
func (s *server) newMux() http.Handler {
	mux := http.NewServeMux()
	for _, at := range append(s.apiRoutes(), s.pageRoutes()...) {
		mux.Handle(at.path, at)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblemf(w, http.StatusNotFound, "unknown path %.100q (see /openapi.yaml)", r.URL.Path)
	})
	return mux
}

// ServeHTTP calls the handler for the method of the request and sends the error that the handler
// may return. It responds with status 405 if the route does not allow the method.
func (at route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	do := at.handlers[method]
	if do == nil {
		allow := strings.Join(slices.Sorted(maps.Keys(at.handlers)), ", ")
		w.Header().Set("Allow", allow)
		writeProblemf(w, http.StatusMethodNotAllowed, "method %.20q is not allowed (want %s)", r.Method, allow)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := do(w, r); err != nil {
		writeError(w, err)
	}
}

// getHealth handles GET /healthz: it reports that the mock is running.
func (s *server) getHealth(w http.ResponseWriter, r *http.Request) error {
	writeJSON(w, map[string]bool{"ok": true})
	return nil
}

// getDocument handles GET /openapi.yaml: it responds with the description of this API.
func (s *server) getDocument(w http.ResponseWriter, r *http.Request) error {
	writeBody(w, http.StatusOK, "application/yaml", openAPI)
	return nil
}
