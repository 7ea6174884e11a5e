package control

import (
	"embed"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/script"
)

// The OpenAPI description of the control API, in YAML, and the templates, the script and the style
// sheet of the HTML pages.
var (
	//go:embed openapi.yaml
	openAPI []byte
	//go:embed page.html exchange.html parts.html
	pageTemplates embed.FS
	//go:embed page.js
	pageScript []byte
	//go:embed page.css
	pageStyle []byte
)

// A routeHandlerFunc handles the request r and writes the response to w. The argument query holds
// the query parameters of r, or is nil if the route ignores them. If a routeHandlerFunc returns an
// error, it has not responded, and the caller must send the error.
type routeHandlerFunc func(w http.ResponseWriter, r *http.Request, query url.Values) error

// A route assigns a handler to an HTTP method and a path. The path is a pattern in the syntax of
// [http.ServeMux], without the method.
type route struct {
	method, path string
	query        []string // names of the valid query parameters; nil: all parameters are ignored
	handler      routeHandlerFunc
}

// Values of the query field of a route: noQuery for routes without query parameters, and perTest
// for routes with the optional parameter "test". A request with that parameter applies to the test
// with this id. A request without it applies to all tests or to what they share.
var (
	noQuery = []string{}
	perTest = []string{"test"}
)

// apiRoutes returns the routes that openapi.yaml documents.
func (s *server) apiRoutes() []route {
	return []route{
		{"GET", "/healthz", nil, serveJSON(func() any { return map[string]bool{"ok": true} })},
		{"GET", "/openapi.yaml", nil, serveBody("application/yaml", openAPI)},
		{"GET", "/v1/status", noQuery, serveJSON(s.currentStatus)},
		{"GET", "/v1/journal", append(slices.Clone(filterParams), "limit", "offset"), s.listExchanges},
		{"DELETE", "/v1/journal", perTest, s.clearJournal},
		{"GET", "/v1/journal/feed", perTest, s.streamEvents},
		{"GET", "/v1/journal/{id}", noQuery, s.getExchange},
		{"POST", "/v1/verify", []string{"test", "after"}, s.verifyCalls},
		{"POST", "/v1/wait", noQuery, s.waitForExchanges},
		{"GET", "/v1/streams", perTest, s.listStreams},
		{"GET", "/v1/streams/{id}", noQuery, s.onStream(getStream)},
		{"POST", "/v1/streams/{id}/hold", noQuery, s.onStream(holdStream)},
		{"POST", "/v1/streams/{id}/next", noQuery, s.onStream(stepStream)},
		{"POST", "/v1/streams/{id}/release", noQuery, s.onStream(releaseStream)},
		{"POST", "/v1/streams/{id}/inject", noQuery, s.onStream(injectFrame)},
		{"POST", "/v1/streams/{id}/end", noQuery, s.endStream},
		{"GET", "/v1/scripts", perTest, s.getScripts},
		{"PUT", "/v1/scripts", perTest, s.putScripts},
		{"DELETE", "/v1/scripts", perTest, s.deleteScripts},
		{"POST", "/v1/scripts/check", noQuery, s.checkScripts},
		{"GET", "/v1/scripts/schema", noQuery, serveBody("application/schema+json", script.Schema())},
		{"GET", "/v1/settings", perTest, s.getSettings},
		{"PUT", "/v1/settings", perTest, s.putSettings},
		{"PATCH", "/v1/settings", perTest, s.patchSettings},
		{"DELETE", "/v1/settings", perTest, s.deleteSettings},
		{"GET", "/v1/state", perTest, s.getState},
		{"PUT", "/v1/state", perTest, s.putState},
		{"GET", "/v1/clock", noQuery, serveJSON(s.currentTime)},
		{"PUT", "/v1/clock", noQuery, s.putClock},
		{"POST", "/v1/reset", perTest, s.resetMock},
		{"GET", "/v1/faults", noQuery, serveJSON(allFaults)},
	}
}

// pageRoutes returns the routes of the HTML pages.
func (s *server) pageRoutes() []route {
	return []route{
		{"GET", "/{$}", pageFilters, s.servePage},
		{"GET", "/exchanges/{id}", noQuery, s.serveExchangePage},
		{"GET", "/page.js", noQuery, serveBody("text/javascript; charset=utf-8", pageScript)},
		{"GET", "/page.css", noQuery, serveBody("text/css; charset=utf-8", pageStyle)},
	}
}

// newMux returns a handler that passes each request to the route for its path and method. If no
// route has the path, it responds with status 404.
func (s *server) newMux() http.Handler {
	mux := http.NewServeMux()
	byPath := map[string]methodRoutes{}
	for _, at := range append(s.apiRoutes(), s.pageRoutes()...) {
		if byPath[at.path] == nil {
			byPath[at.path] = methodRoutes{}
			mux.Handle(at.path, byPath[at.path])
		}
		byPath[at.path][at.method] = at
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, problemf(http.StatusNotFound, "unknown path %.100q (see /openapi.yaml)", r.URL.Path))
	})
	return mux
}

// A methodRoutes handles the requests to one path. It maps each HTTP method that the path supports
// to the route of that method.
type methodRoutes map[string]route

// ServeHTTP calls the handler for the method of the request, and sends the error if the handler
// returns one. The handler for GET also serves HEAD. ServeHTTP responds with status 405 if no route
// has the method, and with status 400 if the query is invalid.
func (routes methodRoutes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	at, ok := routes[method]
	if !ok {
		allow := strings.Join(slices.Sorted(maps.Keys(routes)), ", ")
		w.Header().Set("Allow", allow)
		writeError(w, problemf(http.StatusMethodNotAllowed, "method %.20q is not allowed (want %s)", r.Method, allow))
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	query, err := parseQuery(r, at.query)
	if err == nil {
		err = at.handler(w, r, query)
	}
	if err != nil {
		writeError(w, err)
	}
}

// serveJSON returns a handler that calls get for each request and responds with the JSON encoding
// of the result.
func serveJSON[T any](get func() T) routeHandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, query url.Values) error { return writeJSON(w, get()) }
}

// serveBody returns a handler that responds with status 200 and the given media type and body.
func serveBody(media string, body []byte) routeHandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, query url.Values) error {
		writeBody(w, http.StatusOK, media, body)
		return nil
	}
}
