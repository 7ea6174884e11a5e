package mutation

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A dialectHandler is an HTTP handler together with the dialect that it speaks. The handler is a
// server or a middleware in front of a server.
type dialectHandler struct {
	http.Handler
	dialect *dialect.Dialect
}

// A middleware returns a handler that wraps the server next and speaks the same dialect. The
// handler can change the requests that next receives and the responses that clients receive.
type middleware = func(next dialectHandler) dialectHandler

// A parsedRequest is an HTTP request together with its decoded form in the dialect of the server.
type parsedRequest struct {
	dialect     *dialect.Dialect
	raw         spec.Request       // as received, with a target relative to the base path of the dialect
	event       spec.Event         // *parsed(), or the zero Event if the body exceeds maxEagerBody
	parsed      func() *spec.Event // returns the decoded request, with its violations
	httpRequest *http.Request      // with the body still to be read
}

// maxEagerBody is the maximum size, in bytes, of a request body that is decoded when the request
// arrives. Decoding a larger body takes long, so it is done only when a middleware calls
// parsedRequest.parsed.
const maxEagerBody = 1 << 20

// maxRequestBody is the maximum size, in bytes, of a request body that middlewares read. No
// document of a dialect allows more.
const maxRequestBody = 32 << 20

// interceptRequests returns a middleware that decodes each request and has serve respond to it. The
// function serve writes the response to w. The argument v is the request. The argument next is the
// server, to which serve can pass v.httpRequest or other requests. If the body of a request cannot
// be read, or is larger than maxRequestBody, serve is not called, and the response has status 400
// or 413.
func interceptRequests(serve func(w http.ResponseWriter, v parsedRequest, next http.Handler)) middleware {
	return func(next dialectHandler) dialectHandler {
		return dialectHandler{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBody))
			if err != nil {
				status := http.StatusBadRequest // the client may have aborted the request
				if _, isLarge := errors.AsType[*http.MaxBytesError](err); isLarge {
					status = http.StatusRequestEntityTooLarge
				}
				http.Error(w, err.Error(), status)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			serve(w, parseRequest(next.dialect, r, body), next)
		}), next.dialect}
	}
}

// editRequests returns a middleware that passes on the result of edit(v) in place of each request
// v. The result is v.httpRequest if the request is not to be changed.
func editRequests(edit func(v parsedRequest) *http.Request) middleware {
	return interceptRequests(func(w http.ResponseWriter, v parsedRequest, next http.Handler) {
		next.ServeHTTP(w, edit(v))
	})
}

// parseRequest returns r together with the event to which dialect d decodes it; a request that is
// not valid is decoded as far as possible. The caller has already read the body of r and passes it
// as the argument body.
func parseRequest(d *dialect.Dialect, r *http.Request, body []byte) parsedRequest {
	target := cmp.Or(strings.TrimPrefix(r.URL.EscapedPath(), d.Base), "/")
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	req := spec.Request{Method: r.Method, Target: target, Body: body}
	for name, values := range r.Header {
		for _, v := range values {
			req.Header = append(req.Header, spec.HeaderField{Name: name, Value: v})
		}
	}
	v := parsedRequest{dialect: d, raw: req, httpRequest: r}
	v.parsed = sync.OnceValue(func() *spec.Event { return new(d.ParseRequest(req)) }) // slow for a large file
	if len(body) <= maxEagerBody {
		v.event = *v.parsed()
	}
	return v
}

// isOperation reports whether v is a request for the operation to which requests of the given
// template are sent. A template is the name under which the dialect describes requests of one sort,
// such as "prompt", "history" or "cancel"; see [dialect.Dialect.BuildRequest]. The result is false
// if the dialect does not have the template.
func (v parsedRequest) isOperation(template string) bool {
	o, ok := v.dialect.TemplateOperation(template)
	return ok && v.dialect.Operation(v.raw) == o
}

// startsRun reports whether the request is for an operation that starts a run.
func (v parsedRequest) startsRun() bool {
	o := v.dialect.Operation(v.raw)
	return o != nil && o.StartsRun
}

// expectedRefusals returns what the requirement with the given id demands of the refusal of the
// request. The result is empty if it demands nothing, or if the request has several violations.
//
// The argument status is the status of the response. It shows the reason for which a valid request
// was denied, and is ignored for an invalid request.
func (v parsedRequest) expectedRefusals(requirement string, status int) []spec.RefusalRequirement {
	switch violations := v.parsed().Violations; len(violations) {
	case 0:
		return refusalsAbout(requirement, v.parsed().Facts().Denials[v.denialReason(status)])
	case 1:
		return refusalsAbout(requirement, violations[0].Refusals)
	}
	return nil
}

// denialReason returns the reason for which a valid request was denied, as the status of the
// response shows it. The status 401 means that the sender is unknown or, if the request has no
// Authorization header, anonymous. The status 403 means that the request is about the data of a
// different user, and 429 that the sender has too many open streams. Any other status is not a
// denial, and the result is "".
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

// user returns the value of the Authorization header, which identifies the user. It returns "" if
// there is none.
func (v parsedRequest) user() string { return v.httpRequest.Header.Get("Authorization") }

// withRequest returns a copy of v.httpRequest with the method, the target, the header and the body
// of r. The Authorization header is that of v; an Authorization field in r is ignored.
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

// asUser returns a copy of v.httpRequest whose Authorization header has the given value.
func (v parsedRequest) asUser(authorization string) *http.Request {
	r := v.withRequest(v.raw)
	r.Header.Set("Authorization", authorization)
	return r
}

// A threadOwners records which users started which threads. It identifies a user by the value of
// the Authorization header, and a thread by its id. The caller must hold mu to use the other
// fields.
type threadOwners struct {
	mu         sync.Mutex
	known      map[string]bool         // set of the ids of the threads of all users
	threadsOf  map[string][]string     // user → ids of the threads that the user started, oldest first
	messagesOf map[string][]spec.Event // thread id → messages of its history, as the server last returned them
}

// trackThreads returns a middleware that records the threads of each user in m, and then passes
// each request on to the middleware that wrap(m) returns. The function wrap is called once per
// server. A thread is recorded when a valid request with credentials starts the first run of the
// thread.
func trackThreads(wrap func(m *threadOwners) middleware) middleware {
	return func(next dialectHandler) dialectHandler {
		m := &threadOwners{
			known: map[string]bool{}, threadsOf: map[string][]string{}, messagesOf: map[string][]spec.Event{},
		}
		return editRequests(func(v parsedRequest) *http.Request {
			who, thread := v.user(), v.parsed().Thread
			m.mu.Lock()
			defer m.mu.Unlock()
			if v.startsRun() && v.parsed().Valid() && who != "" && !m.known[thread] {
				m.known[thread] = true
				m.threadsOf[who] = append(m.threadsOf[who], thread)
			}
			return v.httpRequest
		})(wrap(m)(next))
	}
}

// editHistoryRequests returns a middleware that makes the server return a different history from
// the requested one. It calls edit for each valid request v for a history. The argument history
// contains only the thread and the day in v, and edit may change both. The server then receives a
// request for the history of that thread and day.
func editHistoryRequests(edit func(v parsedRequest, history *spec.Event)) middleware {
	return editRequests(func(v parsedRequest) *http.Request {
		if v.isOperation("history") && v.parsed().Valid() {
			asked := spec.Event{Thread: v.parsed().Thread, Day: v.parsed().Day}
			edit(v, &asked)
			if other, err := v.dialect.BuildRequest("history", asked); err == nil {
				return v.withRequest(other)
			}
		}
		return v.httpRequest
	})
}
