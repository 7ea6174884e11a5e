package mutation

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
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

// decodeReply returns the response a, which is not a stream, as an event. If it is not successful, ok
// is false.
func (v parsedRequest) decodeReply(a *plainResponse) (reply spec.Event, ok bool) {
	response := spec.Response{Status: a.status, Body: a.body}
	for name, values := range a.header {
		response.Header = append(response.Header, spec.Field{Name: name, Value: values[0]})
	}
	recorded := spec.Trace{Exchanges: []spec.Exchange{{Request: v.raw, Response: response}}}
	for e := range v.dialect.Events(recorded) {
		switch e.Kind {
		case spec.HTTPRequest, spec.HTTPResponse, spec.BodyEnd:
		default:
			reply = e
		}
	}
	return reply, reply.Kind != "" && a.status/100 == 2
}

// encodeReply replaces the body of a by the encoding of e in the dialect.
func (v parsedRequest) encodeReply(a *plainResponse, e spec.Event) {
	a.body = v.dialect.Operation(v.raw).EncodeResponse(e).Body
}

// editReplies returns a middleware that calls edit to change each successful reply of the given kind
// to a request v. The reply is decoded and encoded again, in the words of the dialect.
func editReplies(kind spec.Kind, edit func(v parsedRequest, e *spec.Event)) middleware {
	return editResponses(func(v parsedRequest, a *plainResponse) {
		if e, ok := v.decodeReply(a); ok && e.Kind == kind {
			edit(v, &e)
			v.encodeReply(a, e)
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
	ownerOf    map[string]string       // thread → user, as in the header
	threadsOf  map[string][]string     // user → threads, oldest first
	messagesOf map[string][]spec.Event // thread → messages that were returned

	firstUser string // the user who started the first thread
}

// trackThreads returns a middleware that records each thread in a registry when the first run of
// the thread is started. Requests are then served by the middleware with(m), where m is the
// registry.
func trackThreads(with func(m *threadRegistry) middleware) middleware {
	return func(next http.Handler) http.Handler {
		m := &threadRegistry{
			ownerOf: map[string]string{}, threadsOf: map[string][]string{}, messagesOf: map[string][]spec.Event{},
		}
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

// editHistoryRequests returns a middleware that calls edit to change which history each valid request
// v asks for. asked has the thread and the day of the request.
func editHistoryRequests(edit func(v parsedRequest, asked *spec.Event)) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		r := v.httpRequest
		if v.isOperation("history") && v.parsed().Valid() {
			asked := spec.Event{Thread: v.parsed().Thread, Day: v.parsed().Day}
			edit(v, &asked)
			if other, err := v.dialect.BuildRequest("history", asked); err == nil {
				r = v.withRequest(other)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// setNotFound turns the response into a refusal with status 404, for an unknown thread.
func (a *plainResponse) setNotFound(v parsedRequest) {
	problem := spec.Event{Kind: spec.Problem, StatusCode: http.StatusNotFound, Text: "conversation not found"}
	encoded := v.dialect.Operation(v.raw).EncodeResponse(problem)
	a.status, a.body = encoded.Status, encoded.Body
	a.header.Set("Content-Type", encoded.MediaType)
}
