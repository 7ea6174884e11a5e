package reference

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/reference/identity"
	"github.com/streamassay/streamassay/reference/meter"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A call is one request, as far as it is understood.
type call struct {
	w    http.ResponseWriter
	r    *http.Request
	o    *dialect.Operation
	lost bool   // it asks for nothing that there is: o only says how it is refused
	user string // whose it is; "" is anybody's
	ask  spec.Event
	as   Direction
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{w: w, r: r, o: s.asks, lost: true}
	if !s.enter() {
		s.refuse(c, http.StatusServiceUnavailable, "", errShutdown.text)
		return
	}
	defer s.work.Done()
	target, ok := s.target(r)
	if !ok {
		s.refuse(c, http.StatusNotFound, "", "nothing is served at "+r.URL.Path)
		return
	}
	req := spec.Request{Method: r.Method, Target: target, Header: headerOf(r.Header)}
	if s.cfg.Files != nil && s.uploads && strings.HasPrefix(target, linked) {
		s.cfg.Files.ServeHTTP(w, r)
		return
	}
	if c.o = s.operation(&req); c.o == nil {
		s.missing(c, req)
		return
	}
	c.lost = false
	if c.user, ok = s.who(c); !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		s.refuse(c, http.StatusUnauthorized, "", "a bearer token is needed, as header Authorization")
		return
	}
	var err error
	if req.Body, err = s.read(c); err != nil {
		s.cfg.Log.Debug("no whole request came", "dialect", s.dialect.Name, "op", c.o.Name, "err", err)
		return
	}
	s.serve(c, req)
}

// who is the user that asks. Where the document wants no credentials they are asked
// for only if there are users to tell apart.
func (s *Server) who(c *call) (user string, ok bool) {
	if !c.o.RequiresCredentials && (s.cfg.Users == nil || !c.o.StartsRun && s.roles[c.o] == tells) {
		return "", true
	}
	token, ok := identity.Bearer(c.r.Header)
	if !ok && s.cfg.EventSource && s.roles[c.o] == listen {
		token = c.r.URL.Query().Get("access_token")
		ok = token != ""
	}
	if !ok {
		return "", false
	}
	if s.cfg.Users == nil {
		return identity.Anyone.Who(c.r.Context(), token)
	}
	return s.cfg.Users.Who(c.r.Context(), token)
}

// read is the body, or one byte more of it than is taken.
func (s *Server) read(c *call) ([]byte, error) {
	control := http.NewResponseController(c.w) // not everything has deadlines: what cannot be set is not
	_ = control.SetReadDeadline(time.Now().Add(readWait))
	most := s.most(c.o) + 1
	var body bytes.Buffer
	if size := c.r.ContentLength; size > 0 {
		body.Grow(int(min(size, most)) + bytes.MinRead)
	}
	_, err := body.ReadFrom(io.LimitReader(c.r.Body, most))
	_ = control.SetReadDeadline(time.Time{})
	return body.Bytes(), err
}

// most is how many bytes the body of a request may have.
func (s *Server) most(o *dialect.Operation) int64 {
	if s.roles[o] == attach || s.roles[o] == transcribe {
		return max(s.cfg.Limits.Body, mostUpload)
	}
	return s.cfg.Limits.Body
}

func headerOf(h http.Header) spec.Header {
	out := make(spec.Header, 0, len(h))
	for name, values := range h {
		for _, v := range values {
			out = append(out, spec.Field{Name: name, Value: v})
		}
	}
	return out
}

// operation is what is asked for. HEAD is a GET whose body nobody wants.
func (s *Server) operation(req *spec.Request) *dialect.Operation {
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

// missing answers what the document does not have: another method of a path, or
// another path.
func (s *Server) missing(c *call, req spec.Request) {
	var allowed []string
	c.o, c.lost = s.asks, true
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		other := spec.Request{Method: method, Target: req.Target}
		if o := s.operation(&other); o != nil {
			allowed, c.o = append(allowed, method), o
		}
	}
	if len(allowed) == 0 {
		s.refuse(c, http.StatusNotFound, "", "nothing is served at "+req.Target)
		return
	}
	c.w.Header().Set("Allow", strings.Join(allowed, ", "))
	if req.Method == http.MethodOptions {
		s.send(c, dialect.EncodedResponse{Status: http.StatusNoContent})
		return
	}
	s.refuse(c, http.StatusMethodNotAllowed, "", req.Method+" is not allowed here")
}

func (s *Server) serve(c *call, req spec.Request) {
	if most, limit := s.most(c.o), int64(c.o.MaxBodyBytes()); int64(len(req.Body)) > most && (limit == 0 || limit > most) {
		s.refuse(c, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the body has more than %d bytes", most))
		return
	}
	if !s.hear(c, req) {
		return
	}
	switch s.roles[c.o] {
	case runs:
		s.run(c)
	case listen:
		s.listen(c)
	case cancel:
		s.cancel(c)
	case history:
		s.history(c)
	case attach:
		s.attach(c)
	case sign:
		s.sign(c)
	case transcribe:
		s.transcribe(c)
	case tells:
		s.health(c)
	}
}

// hear understands a request; ok is false where it was refused, or answered already.
func (s *Server) hear(c *call, req spec.Request) (ok bool) {
	c.ask = s.dialect.ParseRequest(req)
	if !s.direct(c, req) {
		return false
	}
	for _, b := range c.ask.Violations {
		if len(b.Refusals) > 0 { // what nobody wants refused is accepted
			s.refuseAs(c, b)
			return false
		}
	}
	return true
}

//go:noinline
func (s *Server) health(c *call) { s.answer(c, spec.Event{Kind: spec.Health}) }

// crowded refuses one stream too many.
func (s *Server) crowded(c *call) {
	c.w.Header().Set("Retry-After", "1")
	s.refuse(c, http.StatusTooManyRequests, "", fmt.Sprintf("%d streams are open already", s.cfg.Limits.Streams))
}

// answer sends a reply that the document promises.
func (s *Server) answer(c *call, e spec.Event) { s.send(c, c.o.EncodeResponse(e)) }

func (s *Server) send(c *call, a dialect.EncodedResponse) {
	name := c.o.Name
	if c.lost {
		name = meter.Other
	}
	s.count.Answered(name, a.Status)
	w := c.w
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
	hurry(w)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // who left does not want it
}

// refuseAs refuses a request as the document wants it.
func (s *Server) refuseAs(c *call, b spec.Violation) {
	status, code, text := 0, "", ""
	for _, d := range b.Refusals {
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
	s.refuse(c, cmp.Or(status, http.StatusBadRequest), code, cmp.Or(text, b.String()))
}

// refuse answers with a problem, as the document spells those of the operation. A
// status that it does not mention is spelled like one that it does. Without a code it
// is the one that the document has for the status.
func (s *Server) refuse(c *call, status int, code, text string) {
	problem := spec.Event{
		Kind: spec.Problem, Text: text, Code: cmp.Or(code, c.o.RefusalCode(status), http.StatusText(status)), Status: strconv.Itoa(status),
	}
	a := dialect.EncodedResponse{MediaType: "text/plain", Body: []byte(text)}
	for _, spoken := range []*dialect.Operation{c.o, s.asks} {
		spelled := func(as int) bool {
			problem.StatusCode, problem.Created = as, spoken.FormatTime(spec.Problem, "created", s.cfg.Now())
			found := spoken.EncodeResponse(problem)
			if found.MediaType != "" {
				a = found
			}
			return found.MediaType != ""
		}
		if slices.ContainsFunc([]int{status, 422, 400, 404, 500}, spelled) {
			break
		}
	}
	a.Status = status
	s.send(c, a)
}
