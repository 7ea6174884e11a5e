package reference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		s.refuse(w, s.asks, http.StatusServiceUnavailable, "", errShutdown.text)
		return
	}
	defer s.work.Done()
	target, ok := s.target(r)
	if !ok {
		s.refuse(w, s.asks, http.StatusNotFound, "", "nothing is served at "+r.URL.Path)
		return
	}
	body, err := s.read(w, r)
	if err != nil {
		s.cfg.Log.Debug("no whole request came", "dialect", s.dialect.Name, "target", target, "err", err)
		return
	}
	req := spec.Request{Method: r.Method, Target: target, Header: headerOf(r.Header), Body: body}
	s.cfg.Log.Debug("asked", "dialect", s.dialect.Name, "method", r.Method, "target", target)
	if o := s.operation(&req); o != nil {
		s.serve(w, r, o, req)
	} else {
		s.missing(w, req)
	}
}

// read is the body, or one byte more of it than is taken.
func (s *Server) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w) // not everything has deadlines: what cannot be set is not
	_ = control.SetReadDeadline(time.Now().Add(readWait))
	body, err := io.ReadAll(io.LimitReader(r.Body, s.cfg.MaxBody+1))
	_ = control.SetReadDeadline(time.Time{})
	return body, err
}

func headerOf(h http.Header) (out spec.Header) {
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
func (s *Server) missing(w http.ResponseWriter, req spec.Request) {
	var allowed []string
	beside := s.asks
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		other := spec.Request{Method: method, Target: req.Target}
		if o := s.operation(&other); o != nil {
			allowed, beside = append(allowed, method), o
		}
	}
	if len(allowed) == 0 {
		s.refuse(w, beside, http.StatusNotFound, "", "nothing is served at "+req.Target)
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	if req.Method == http.MethodOptions {
		send(w, dialect.Answer{Status: http.StatusNoContent})
		return
	}
	s.refuse(w, beside, http.StatusMethodNotAllowed, "", req.Method+" is not allowed here")
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, o *dialect.Operation, req spec.Request) {
	if limit := o.MaxBytes(); int64(len(req.Body)) > s.cfg.MaxBody && (limit == 0 || int64(limit) > s.cfg.MaxBody) {
		s.refuse(w, o, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the body has more than %d bytes", s.cfg.MaxBody))
		return
	}
	ask := s.dialect.Hear(req)
	for _, b := range ask.Broken {
		if len(b.Demands) > 0 { // what nobody wants refused is accepted
			s.refuseAs(w, o, b)
			return
		}
	}
	switch s.roles[o] {
	case runs:
		s.run(w, r, o, ask)
	case listen:
		s.listen(w, r, o, ask)
	case cancel:
		s.cancel(w, o, ask)
	case later:
		s.refuse(w, o, http.StatusNotImplemented, "", "this is not served yet")
	case tells:
		s.answer(w, o, spec.Event{Kind: spec.Health})
	}
}

// run opens a run. Its stream is the answer, or it is accepted and told elsewhere.
func (s *Server) run(w http.ResponseWriter, r *http.Request, o *dialect.Operation, ask spec.Event) {
	ask.Thread = cmp.Or(ask.Thread, s.cfg.IDs())
	ask.Run = cmp.Or(ask.Run, s.cfg.IDs())
	opened, err := s.open(o, ask)
	switch {
	case err != nil:
		s.refuse(w, o, http.StatusServiceUnavailable, "", err.Error())
	case !o.Streams:
		s.answer(w, o, opened.accepted)
	default:
		l := &listener{s: s, w: w, r: r, run: opened}
		if l.tell(); !s.resumes { // nobody can hear the rest
			opened.cancel(errLeft)
		}
	}
}

// open starts a run, or finds it where it was asked for before.
func (s *Server) open(o *dialect.Operation, ask spec.Event) (*run, error) {
	r := &run{id: ask.Run, key: ask.Run}
	if o.Streams { // asked again, it is another run
		r.key = s.cfg.IDs()
	}
	if !s.enter() {
		return nil, errShutdown
	}
	ctx, stop := context.WithTimeoutCause(s.ctx, s.cfg.MaxRun, errLate)
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	now := s.cfg.Now()
	turn, was := s.store.add(r, ask, func(made bool) {
		r.accepted = spec.Event{
			Kind: spec.RunAccepted, Thread: ask.Thread, Run: ask.Run, ID: s.cfg.IDs(),
			Created: cmp.Or(o.Stamp(spec.RunAccepted, "created", now), strconv.FormatBool(made)),
		}
	})
	if was != nil {
		stop()
		r.cancel(nil)
		s.work.Done()
		return was, nil
	}
	if s.offers {
		for _, part := range ask.Parts {
			if part.Kind == spec.AskToolSpec && part.Name != "" {
				turn.Offers = append(turn.Offers, part.Name)
			}
		}
	}
	go func() {
		defer s.work.Done()
		defer stop()
		s.play(r, turn)
	}()
	return r, nil
}

// play lets the agent talk until the run is over.
func (s *Server) play(r *run, turn Turn) {
	defer s.store.finish(r)
	defer r.end()
	t := s.voice.teller(turn.Thread, turn.Run, s.cfg.Now, func(e spec.Event) { s.keep(r, e) })
	defer func() {
		if broken := recover(); broken != nil {
			s.cfg.Log.Error("the agent failed", "dialect", s.dialect.Name, "run", turn.Run, "panic", broken)
			t.fail(errAgent)
		}
	}()
	for e := range s.agent(r.ctx, turn) {
		if r.ctx.Err() != nil {
			break
		}
		if t.hear(e); t.over {
			return
		}
	}
	if cause := context.Cause(r.ctx); cause != nil {
		t.fail(cause)
	} else {
		t.hear(spec.Event{Kind: spec.RunEnd})
	}
}

// fail ends the run for a reason that is not the agent's.
func (t *teller) fail(cause error) {
	var why *ending
	if !errors.As(cause, &why) {
		why = errCanceled
	}
	t.hear(spec.Event{Kind: spec.RunError, Text: why.text, Code: why.code, Status: why.status})
}

// keep spells an event and puts it where listeners find it.
func (s *Server) keep(r *run, e spec.Event) {
	at := r.thread.issued.Add(1)
	if s.resumes {
		e.Cursor = r.thread.cursor(at)
	}
	data, err := s.voice.op.Append(nil, e)
	if err != nil {
		s.cfg.Log.Error("an event cannot be told", "dialect", s.dialect.Name, "kind", e.Kind, "err", err)
		return
	}
	r.add(frame{at, data})
}

// cancel asks for runs to be stopped: the one that is named, or all of a
// conversation where the dialect names no run. One that is over stays as it is.
func (s *Server) cancel(w http.ResponseWriter, o *dialect.Operation, ask spec.Event) {
	if t, _, _ := s.store.find(ask.Thread, ask.Run); t == nil && ask.Run != "" {
		s.unknownThread(w, o, ask)
		return
	}
	for _, r := range s.store.named(ask.Thread, ask.Run) {
		r.cancel(errCanceled)
	}
	s.answer(w, o, spec.Event{Kind: spec.CancelAccepted, Thread: ask.Thread, Run: ask.Run})
}

func (s *Server) unknownThread(w http.ResponseWriter, o *dialect.Operation, ask spec.Event) {
	s.refuse(w, o, http.StatusNotFound, "", "there is no conversation "+strconv.Quote(ask.Thread))
}

// answer sends a reply that the document promises.
func (s *Server) answer(w http.ResponseWriter, o *dialect.Operation, e spec.Event) {
	send(w, o.Answer(e))
}

func send(w http.ResponseWriter, a dialect.Answer) {
	if a.Media != "" {
		media := a.Media
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
func (s *Server) refuseAs(w http.ResponseWriter, o *dialect.Operation, b spec.Broken) {
	status, code, text := 0, "", ""
	for _, d := range b.Demands {
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
	s.refuse(w, o, cmp.Or(status, http.StatusBadRequest), code, cmp.Or(text, b.String()))
}

// refuse answers with a problem, as the document spells those of the operation. A
// status that it does not mention is spelled like one that it does.
func (s *Server) refuse(w http.ResponseWriter, o *dialect.Operation, status int, code, text string) {
	problem := spec.Event{
		Kind: spec.Problem, Text: text, Code: cmp.Or(code, http.StatusText(status)), Status: strconv.Itoa(status),
	}
	a := dialect.Answer{Media: "text/plain", Body: []byte(text)}
	for _, spoken := range []*dialect.Operation{o, s.asks} {
		spelled := func(as int) bool {
			problem.HTTP, problem.Created = as, spoken.Stamp(spec.Problem, "created", s.cfg.Now())
			found := spoken.Answer(problem)
			if found.Media != "" {
				a = found
			}
			return found.Media != ""
		}
		if slices.ContainsFunc([]int{status, 422, 400, 404, 500}, spelled) {
			break
		}
	}
	a.Status = status
	send(w, a)
}
