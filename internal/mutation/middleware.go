package mutation

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A middleware wraps the handler of a server in another handler.
type middleware = func(next http.Handler) http.Handler

// A parsedRequest is an HTTP request together with its interpretation in the dialect of the server.
type parsedRequest struct {
	dialect     *dialect.Dialect
	raw         spec.Request
	event       spec.Event         // the parsed request, without large bodies
	parsed      func() *spec.Event // the parsed request with its violations
	httpRequest *http.Request
}

// maxEagerBody is the maximum size, in bytes, of a request body that is parsed at once. A larger
// body is parsed only when a middleware asks for the result, because that takes long.
const maxEagerBody = 1 << 20

// maxRequestBody is the maximum size of a request body in bytes. No document of a dialect allows
// more.
const maxRequestBody = 32 << 20

// A dialectNamer is a handler that can name the dialects it serves, such as a mock.
type dialectNamer interface{ Dialects() []*dialect.Dialect }

// An interceptor is a handler in front of a server, which serves the same dialects. It can itself be
// wrapped.
type interceptor struct {
	dialectNamer
	http.HandlerFunc
}

// interceptRequests returns a middleware that parses each request and calls serve with it; next is
// the wrapped handler. A handler that does not serve exactly one dialect is not wrapped but
// returned unchanged, so that the mutant survives.
func interceptRequests(serve func(w http.ResponseWriter, v parsedRequest, next http.Handler)) middleware {
	return func(next http.Handler) http.Handler {
		server, ok := next.(dialectNamer)
		if !ok || len(server.Dialects()) != 1 {
			return next
		}
		d := server.Dialects()[0]
		return interceptor{server, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
			if err != nil {
				return // the client aborted the request
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			serve(w, parseRequest(d, r, body), next)
		}}
	}
}

// parseRequest returns r with its interpretation in dialect d. The argument body is the body of r,
// which has already been read.
func parseRequest(d *dialect.Dialect, r *http.Request, body []byte) parsedRequest {
	target := strings.TrimPrefix(r.URL.EscapedPath(), d.Base)
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	req := spec.Request{Method: r.Method, Target: target, Body: body}
	for name, values := range r.Header {
		for _, v := range values {
			req.Header = append(req.Header, spec.Field{Name: name, Value: v})
		}
	}
	v := parsedRequest{dialect: d, raw: req, httpRequest: r}
	v.parsed = sync.OnceValue(func() *spec.Event { // parsing a large file is slow
		e := d.ParseRequest(req)
		return &e
	})
	if len(body) <= maxEagerBody {
		v.event = *v.parsed()
	}
	return v
}

// isOperation reports whether the request is for a certain operation. phrase is the name of the
// template of that operation, such as "history".
func (v parsedRequest) isOperation(phrase string) bool {
	o, ok := v.dialect.TemplateOperation(phrase)
	return ok && v.dialect.Operation(v.raw) == o
}

// startsRun reports whether the request is for an operation that starts a run.
func (v parsedRequest) startsRun() bool {
	o := v.dialect.Operation(v.raw)
	return o != nil && o.StartsRun
}

// expectedRefusals returns the refusals that the given requirement prescribes for the request. It
// returns nil unless the request has exactly one violation.
func (v parsedRequest) expectedRefusals(requirement string) []spec.RefusalRequirement {
	if len(v.parsed().Violations) != 1 {
		return nil
	}
	return refusalsOf(v.parsed().Violations[0], requirement)
}

// exercises reports whether the request is valid and exercises the requirement with the given id,
// so that the response shows whether the server meets that requirement.
func (v parsedRequest) exercises(requirement string) bool {
	return v.parsed().Valid() && slices.Contains(v.parsed().Exercised, requirement)
}

// withRequest returns an HTTP request with the method, target, header and body of r, to the server
// of v and with the credentials of v. Credentials in r are ignored.
func (v parsedRequest) withRequest(r spec.Request) *http.Request {
	out := v.httpRequest.Clone(v.httpRequest.Context())
	out.Method, out.RequestURI = r.Method, v.dialect.Base+r.Target
	if u, err := url.ParseRequestURI(out.RequestURI); err == nil {
		u.Host, u.Scheme = v.httpRequest.URL.Host, v.httpRequest.URL.Scheme
		out.URL = u
	}
	out.Header = http.Header{}
	for _, f := range r.Header {
		if f.Name != "Authorization" {
			out.Header.Add(f.Name, f.Value)
		}
	}
	if own := v.httpRequest.Header.Values("Authorization"); len(own) > 0 {
		out.Header["Authorization"] = own
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(r.Body)), int64(len(r.Body))
	return out
}

// A plainResponse is a complete response, with status, header and body, that is not a stream.
type plainResponse struct {
	status int
	header http.Header
	body   []byte
}

// editResponses returns a middleware that calls edit to change each response before it is sent,
// except streams. a is the response and v the request.
func editResponses(edit func(v parsedRequest, a *plainResponse)) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		h := &bufferedResponse{w: w, header: http.Header{}}
		next.ServeHTTP(h, v.httpRequest)
		if h.isStream || h.status == 0 {
			return
		}
		a := plainResponse{status: h.status, header: h.header, body: h.body.Bytes()}
		edit(v, &a)
		a.send(w)
	})
}

// editReplyEvents returns a middleware that calls edit to change each successful reply of the given
// kind, which it decodes and then encodes again, in the words of the dialect.
func editReplyEvents(kind spec.Kind, edit func(e *spec.Event)) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		response := spec.Response{Status: a.status, Body: a.body}
		for name, values := range a.header {
			response.Header = append(response.Header, spec.Field{Name: name, Value: values[0]})
		}
		recorded := spec.Trace{Exchanges: []spec.Exchange{{Request: v.raw, Response: response}}}
		for e := range v.dialect.Events(recorded) {
			if e.Kind == kind && a.status/100 == 2 {
				edit(&e)
				a.body = v.dialect.Operation(v.raw).EncodeResponse(e).Body
			}
		}
	})
}

func (a *plainResponse) send(w http.ResponseWriter) {
	clear(w.Header())
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if a.status == http.StatusNoContent {
		a.body = nil
		w.Header().Del("Content-Length")
	} else {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // an error means that the client has left
}

// editJSON calls edit to change the members of the body in place, if the body is a JSON object. Any
// other body stays unchanged.
func (a *plainResponse) editJSON(edit func(m map[string]any)) {
	var m map[string]any
	in := json.NewDecoder(bytes.NewReader(a.body))
	in.UseNumber()
	if in.Decode(&m) != nil || m == nil {
		return
	}
	edit(m)
	if out, err := json.Marshal(m); err == nil {
		a.body = out
	}
}

// A bufferedResponse is a response writer that keeps a response in memory, so that it can be
// edited, but passes a stream through to the client.
type bufferedResponse struct {
	w        http.ResponseWriter
	header   http.Header
	status   int
	body     bytes.Buffer
	isStream bool
}

func (h *bufferedResponse) Header() http.Header { return h.header }

func (h *bufferedResponse) WriteHeader(status int) {
	if h.status != 0 {
		return
	}
	h.status = status
	if h.isStream = strings.HasPrefix(h.header.Get("Content-Type"), spec.EventStream); h.isStream {
		for name, values := range h.header {
			h.w.Header()[name] = values
		}
		h.w.WriteHeader(status)
	}
}

func (h *bufferedResponse) Write(data []byte) (int, error) {
	if h.WriteHeader(http.StatusOK); h.isStream {
		return h.w.Write(data)
	}
	return h.body.Write(data)
}

// FlushError flushes a stream. It does nothing for a buffered response, which is sent later.
func (h *bufferedResponse) FlushError() error {
	if !h.isStream {
		return nil
	}
	return http.NewResponseController(h.w).Flush()
}

// Unwrap returns the wrapped writer, so that deadlines can be set.
func (h *bufferedResponse) Unwrap() http.ResponseWriter { return h.w }

// A threadRegistry records which users started which threads. Users are identified by the value of
// their Authorization header.
type threadRegistry struct {
	mu         sync.Mutex
	ownerOf    map[string]string   // thread → user, as in the header
	threadsOf  map[string][]string // user → threads, oldest first
	messagesOf map[string][]any    // thread → messages that were returned

	firstUser string // the user who started the first thread
}

// trackThreads returns a middleware that records each thread in a registry when the first run of
// the thread is started. Requests are then served by the middleware with(m), where m is the
// registry.
func trackThreads(with func(m *threadRegistry) middleware) middleware {
	return func(next http.Handler) http.Handler {
		m := &threadRegistry{ownerOf: map[string]string{}, threadsOf: map[string][]string{}, messagesOf: map[string][]any{}}
		inner := with(m)(next)
		note := interceptRequests(func(w http.ResponseWriter, v parsedRequest, _ http.Handler) {
			if who := v.httpRequest.Header.Get("Authorization"); v.startsRun() && v.parsed().Valid() && who != "" {
				m.mu.Lock()
				if _, ok := m.ownerOf[v.parsed().Thread]; !ok {
					m.ownerOf[v.parsed().Thread] = who
					m.threadsOf[who] = append(m.threadsOf[who], v.parsed().Thread)
					if m.firstUser == "" {
						m.firstUser = who
					}
				}
				m.mu.Unlock()
			}
			inner.ServeHTTP(w, v.httpRequest)
		})
		return note(next)
	}
}

func (m *threadRegistry) firstThread(who string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if all := m.threadsOf[who]; len(all) > 0 {
		return all[0]
	}
	return ""
}

// editHistoryQuery returns a middleware that calls edit to change the query parameters of each
// valid request for a history. q contains these parameters, and v is the request.
func editHistoryQuery(edit func(v parsedRequest, q url.Values)) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		r := v.httpRequest
		if v.isOperation("history") && v.parsed().Valid() {
			asked := v.raw
			path, query, _ := strings.Cut(asked.Target, "?")
			q, _ := url.ParseQuery(query)
			edit(v, q)
			asked.Target = path + "?" + q.Encode()
			r = v.withRequest(asked)
		}
		next.ServeHTTP(w, r)
	})
}

// setNotFound turns the response into a refusal with status 404, for an unknown thread.
func (a *plainResponse) setNotFound() {
	a.status = http.StatusNotFound
	a.header.Set("Content-Type", "application/problem+json")
	a.body = []byte(`{"type":"about:blank","title":"Not Found","status":404,"detail":"there is no such conversation","code":"NOT_FOUND"}`)
}
