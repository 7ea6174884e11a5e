package mutation

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A dialectHandler is a server, or a handler in front of one, with the dialect that it serves.
type dialectHandler struct {
	http.Handler
	dialect *dialect.Dialect
}

// A middleware returns a handler in front of the server next, for the same dialect.
type middleware = func(next dialectHandler) dialectHandler

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

// interceptRequests returns a middleware that parses each request and calls serve with it and with
// the server, next.
func interceptRequests(serve func(w http.ResponseWriter, v parsedRequest, next http.Handler)) middleware {
	return func(next dialectHandler) dialectHandler {
		return dialectHandler{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
			if err != nil {
				return // the client aborted the request
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			serve(w, parseRequest(next.dialect, r, body), next)
		}), next.dialect}
	}
}

// parseRequest returns r with its interpretation in dialect d. The argument body is the body of r,
// which has already been read.
func parseRequest(d *dialect.Dialect, r *http.Request, body []byte) parsedRequest {
	target := cmp.Or(strings.TrimPrefix(r.URL.EscapedPath(), d.Base), "/")
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

// isOperation reports whether the request is for the operation that has the template with the name
// phrase, such as "history".
func (v parsedRequest) isOperation(phrase string) bool {
	o, ok := v.dialect.TemplateOperation(phrase)
	return ok && v.dialect.Operation(v.raw) == o
}

// startsRun reports whether the request is for an operation that starts a run.
func (v parsedRequest) startsRun() bool {
	o := v.dialect.Operation(v.raw)
	return o != nil && o.StartsRun
}

// expectedRefusals returns the refusals of the request that the given requirement prescribes: those
// for the violation of an invalid request, if it has exactly one, or those for the reason for which
// a valid request is denied with the given status. For an invalid request, status is ignored.
func (v parsedRequest) expectedRefusals(requirement string, status int) []spec.RefusalRequirement {
	switch violations := v.parsed().Violations; len(violations) {
	case 0:
		return refusalsAbout(requirement, v.parsed().Facts().Denials[v.denialReason(status)])
	case 1:
		return refusalsAbout(requirement, violations[0].Refusals)
	}
	return nil
}

// denialReason returns the reason for which the server denies a valid request with the given
// status, or "" if it does not deny requests with that status.
func (v parsedRequest) denialReason(status int) spec.DenialReason {
	switch status {
	case http.StatusUnauthorized:
		if v.user() == "" {
			return spec.DeniedAnonymous
		}
		return spec.DeniedUnknownUser
	case http.StatusForbidden:
		return spec.DeniedOtherUser
	case http.StatusTooManyRequests:
		return spec.DeniedStreamLimit
	}
	return ""
}

// user returns the value of the Authorization header, which identifies the user, or "" if there is
// none.
func (v parsedRequest) user() string { return v.httpRequest.Header.Get("Authorization") }

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

// asUser returns the HTTP request with other credentials: the given value of the Authorization
// header.
func (v parsedRequest) asUser(authorization string) *http.Request {
	r := v.withRequest(v.raw)
	r.Header.Set("Authorization", authorization)
	return r
}

// A threadRegistry records which users started which threads. Users are identified by the value of
// their Authorization header.
type threadRegistry struct {
	mu         sync.Mutex
	known      map[string]bool         // threads of all users
	threadsOf  map[string][]string     // user → threads, oldest first
	messagesOf map[string][]spec.Event // thread → messages that were returned
}

// trackThreads returns a middleware that records each thread in a registry when the first run of
// the thread is started. Requests are then served by the middleware with(m), where m is the
// registry.
func trackThreads(with func(m *threadRegistry) middleware) middleware {
	return func(next dialectHandler) dialectHandler {
		m := &threadRegistry{
			known: map[string]bool{}, threadsOf: map[string][]string{}, messagesOf: map[string][]spec.Event{},
		}
		return interceptRequests(func(w http.ResponseWriter, v parsedRequest, inner http.Handler) {
			if who, thread := v.user(), v.parsed().Thread; v.startsRun() && v.parsed().Valid() && who != "" {
				m.mu.Lock()
				if !m.known[thread] {
					m.known[thread] = true
					m.threadsOf[who] = append(m.threadsOf[who], thread)
				}
				m.mu.Unlock()
			}
			inner.ServeHTTP(w, v.httpRequest)
		})(with(m)(next))
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

// editHistoryRequests returns a middleware that calls edit for each valid request v for a history. The
// event asked holds the thread and the day whose history is requested; edit changes it to have another
// history returned.
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
