package reference

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/identity"
	"github.com/streamassay/streamassay/internal/metrics"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A requestContext holds one request and what the server has determined about it so far.
type requestContext struct {
	w        http.ResponseWriter
	r        *http.Request
	op       *dialect.Operation // the operation that the request matches; see unrouted
	unrouted bool               // the request matches no operation: op only determines how errors are encoded
	user     string             // the authenticated user; "" if the operation requires no credentials
	event    spec.Event         // the decoded request; empty before dispatch decodes it
	override Override           // the result of Config.Intercept
}

// ServeHTTP decodes a request and serves the operation that it matches. Error responses
// have the form that the dialect defines.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &requestContext{w: w, r: r, op: s.defaultOperation, unrouted: true}
	if !s.beginWork() {
		s.refuse(c, http.StatusServiceUnavailable, "", errShutdown.text)
		return
	}
	defer s.active.Done()
	target, ok := s.target(r)
	if !ok {
		s.refuse(c, http.StatusNotFound, "", "no operation at "+r.URL.Path)
		return
	}
	req := spec.Request{Method: r.Method, Target: target, Header: headerOf(r.Header)}
	if s.cfg.Files != nil && s.acceptsUploads && strings.HasPrefix(target, filesPath) {
		s.cfg.Files.ServeHTTP(deadlineExtender{w}, r)
		return
	}
	if c.op = s.findOperation(&req); c.op == nil {
		s.refuseUnrouted(c, req)
		return
	}
	c.unrouted = false
	if c.user, ok = s.authenticate(c); !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.refuse(c, http.StatusUnauthorized, "", "missing or invalid bearer token in header Authorization")
		return
	}
	var err error
	if req.Body, err = s.readBody(c); err != nil {
		s.refuseIncomplete(c, err)
		return
	}
	s.dispatch(c, req)
}

// authenticate returns the user who sent a request, or "" if the request needs no credentials. If
// the credentials are missing or invalid, ok is false and the caller must refuse the request. If
// Config.Authenticator is set, all operations except those of kind opInfo require credentials, even
// if the dialect's document does not.
func (s *Server) authenticate(c *requestContext) (user string, ok bool) {
	if !c.op.RequiresCredentials && (s.cfg.Authenticator == nil || !c.op.StartsRun && s.kinds[c.op] == opInfo) {
		return "", true
	}
	token, ok := identity.Bearer(c.r.Header)
	if !ok && s.cfg.EventSource && s.kinds[c.op] == opListen {
		token = c.r.URL.Query().Get("access_token")
		ok = token != ""
	}
	if !ok {
		return "", false
	}
	if s.cfg.Authenticator == nil {
		return identity.TokenAsName.Authenticate(c.r.Context(), token)
	}
	return s.cfg.Authenticator.Authenticate(c.r.Context(), token)
}

// readBody returns the request body, and any error from reading it. If the body is larger than
// maxBody, the result consists of the first maxBody+1 bytes.
func (s *Server) readBody(c *requestContext) ([]byte, error) {
	control := http.NewResponseController(c.w) // setting a deadline fails only for writers without deadlines
	_ = control.SetReadDeadline(time.Now().Add(readTimeout))
	limit := s.maxBody(c.op) + 1
	var body bytes.Buffer
	if size := c.r.ContentLength; size > 0 {
		body.Grow(int(min(size, limit)) + bytes.MinRead)
	}
	if _, err := body.ReadFrom(io.LimitReader(c.r.Body, limit)); err != nil {
		return nil, err // the deadline also limits how long net/http waits for the rest of the body
	}
	_ = control.SetReadDeadline(time.Time{})
	return body.Bytes(), nil
}

// refuseIncomplete refuses a request because readBody returned err. The status is 408 if reading
// the body exceeded readTimeout, and otherwise 400.
func (s *Server) refuseIncomplete(c *requestContext, err error) {
	s.cfg.Log.Debug("incomplete request body", "dialect", s.dialect.Name, "op", c.op.Name, "err", err)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.refuse(c, http.StatusRequestTimeout, "", fmt.Sprintf("the body did not arrive within %v", readTimeout))
		return
	}
	s.refuse(c, http.StatusBadRequest, "", "the body is incomplete")
}

// maxBody returns the maximum size, in bytes, of the body of a request for the operation o.
func (s *Server) maxBody(o *dialect.Operation) int64 {
	if s.kinds[o] == opAttach || s.kinds[o] == opTranscribe {
		return max(s.cfg.Limits.RequestBytes, maxUploadRequest)
	}
	return s.cfg.Limits.RequestBytes
}

func headerOf(h http.Header) spec.Header {
	out := make(spec.Header, 0, len(h))
	for name, values := range h {
		for _, v := range values {
			out = append(out, spec.HeaderField{Name: name, Value: v})
		}
	}
	return out
}

// findOperation returns the operation that matches a request, or nil if none does. If a HEAD
// request matches only an operation for GET, findOperation returns that operation and sets the
// method in req to GET.
func (s *Server) findOperation(req *spec.Request) *dialect.Operation {
	o := s.dialect.Operation(*req)
	if o == nil && req.Method == http.MethodHead {
		get := *req
		get.Method = http.MethodGet
		if o = s.dialect.Operation(get); o != nil {
			*req = get
		}
	}
	return o
}

// refuseUnrouted responds to a request that matches no operation. The status is 404 if the path has
// no operation. Otherwise the header Allow lists the allowed methods, and the status is 204 for the
// method OPTIONS and 405 for other methods.
func (s *Server) refuseUnrouted(c *requestContext, req spec.Request) {
	var allowed []string
	c.op, c.unrouted = s.defaultOperation, true
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		other := spec.Request{Method: method, Target: req.Target}
		if o := s.findOperation(&other); o != nil {
			allowed, c.op = append(allowed, method), o
		}
	}
	if len(allowed) == 0 {
		s.refuse(c, http.StatusNotFound, "", "no operation at "+req.Target)
		return
	}
	c.w.Header().Set("Allow", strings.Join(allowed, ", "))
	if req.Method == http.MethodOptions {
		s.writeResponse(c, dialect.NonStreamResponse{Status: http.StatusNoContent})
		return
	}
	s.refuse(c, http.StatusMethodNotAllowed, "", req.Method+" is not allowed here")
}

// dispatch decodes a request and calls the handler for its operation. It responds itself if
// Config.Intercept refuses or serves the request, or if the request violates the dialect's document
// and the document specifies how to refuse it. If the body exceeds maxBody, dispatch responds with
// status 413, unless the document has a limit that is at least as strict.
func (s *Server) dispatch(c *requestContext, req spec.Request) {
	// If the document has a limit that is at least as strict, ParseRequest finds the violation.
	maxBytes, documented := s.maxBody(c.op), int64(c.op.MaxBodyBytes())
	if int64(len(req.Body)) > maxBytes && (documented == 0 || documented > maxBytes) {
		s.refuse(c, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the body exceeds %d bytes", maxBytes))
		return
	}
	c.event = s.dialect.ParseRequest(req)
	if !s.intercept(c, req) {
		return
	}
	for _, violation := range c.event.Violations {
		if len(violation.Refusals) > 0 { // violations without a documented refusal are accepted
			s.refuseViolation(c, violation)
			return
		}
	}
	handlers[s.kinds[c.op]](s, c)
}

// handlers maps the kind of an operation to the method that serves it.
var handlers = map[string]func(*Server, *requestContext){
	opInfo:       func(s *Server, c *requestContext) { s.respond(c, spec.Event{Kind: spec.Health}) },
	opRun:        (*Server).serveRun,
	opListen:     (*Server).serveListen,
	opCancel:     (*Server).serveCancel,
	opHistory:    (*Server).serveHistory,
	opAttach:     (*Server).serveAttach,
	opSign:       (*Server).serveSign,
	opTranscribe: (*Server).serveTranscribe,
}

// openStream registers an open stream of the user. The caller must call release when the stream
// ends. If the user already has Limits.StreamsPerUser open streams, openStream refuses the request
// with status 429 and returns false.
func (s *Server) openStream(c *requestContext) (release func(), ok bool) {
	if release, ok = s.registry.acquireStream(c.user); !ok {
		c.w.Header().Set("Retry-After", "1")
		s.refuse(c, http.StatusTooManyRequests, "", fmt.Sprintf("%d streams are open already", s.cfg.Limits.StreamsPerUser))
	}
	return release, ok
}

// respond sends e, in the encoding of the dialect, as the successful response to the request.
func (s *Server) respond(c *requestContext, e spec.Event) { s.writeResponse(c, c.op.EncodeResponse(e)) }

// writeResponse sends the encoded response a to the client and counts it in the metrics.
func (s *Server) writeResponse(c *requestContext, a dialect.NonStreamResponse) {
	name, w := c.op.Name, c.w
	if c.unrouted {
		name = metrics.OtherOperation
	}
	s.metrics.ResponseSent(name, a.Status)
	if a.MediaType != "" {
		media := a.MediaType
		if strings.HasPrefix(media, "text/") {
			media += "; charset=utf-8"
		}
		w.Header().Set("Content-Type", media)
	}
	if a.Status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	extendWriteDeadline(w)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // an error means that the client left
}

// refuseViolation refuses a request that violates the dialect's document. It uses the first status,
// the first code and the first text in violation.Refusals. The default status is 400, the default
// text describes the violation, and refuse determines the default code.
func (s *Server) refuseViolation(c *requestContext, violation spec.Violation) {
	status, code, text := 0, "", ""
	for _, d := range violation.Refusals {
		for _, want := range d.Status {
			if n, err := strconv.Atoi(want); err == nil && status == 0 {
				status = n
			}
		}
		if len(d.Code) > 0 {
			code = cmp.Or(code, d.Code[0])
		}
		text = cmp.Or(text, d.Text)
	}
	s.refuse(c, cmp.Or(status, http.StatusBadRequest), code, cmp.Or(text, violation.String()))
}

// refuse responds with an error that has the given status. The body is the error that the dialect's
// document defines for that status or, if it defines none, for another error status. If the
// document defines no errors, the body is the text. If code is "", the error has the code that the
// document assigns to the status or, if there is none, http.StatusText(status).
func (s *Server) refuse(c *requestContext, status int, code, text string) {
	problem := spec.Event{
		Kind: spec.Problem, Text: text, Code: cmp.Or(code, c.op.RefusalCode(status), http.StatusText(status)), Status: strconv.Itoa(status),
	}
	a := dialect.NonStreamResponse{MediaType: "text/plain", Body: []byte(text)}
	for _, op := range []*dialect.Operation{c.op, s.defaultOperation} {
		encodes := func(as int) bool {
			problem.StatusCode, problem.Created = as, op.FormatTime(spec.Problem, "created", s.cfg.Now())
			response := op.EncodeResponse(problem)
			if response.MediaType != "" {
				a = response
			}
			return response.MediaType != ""
		}
		if slices.ContainsFunc([]int{status, 422, 400, 404, 500}, encodes) {
			break
		}
	}
	a.Status = status
	s.writeResponse(c, a)
}
