package reference

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/reference/meter"
	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
)

// run opens a run. Its stream is the answer, or it is accepted and told elsewhere.
func (s *Server) run(c *call) {
	if c.ask.Thread == "" {
		c.ask.Thread = s.id(c)
	}
	fresh := c.ask.Run == ""
	if fresh {
		c.ask.Run = s.id(c)
	}
	if s.foreign(c) {
		s.refuse(c, http.StatusUnprocessableEntity, "", "the image was not uploaded here")
		return
	}
	if !c.o.IsStream {
		r, begun, ok := s.open(c, fresh)
		if r != nil {
			go s.lead(c, r)
		}
		if ok {
			s.accept(c, begun)
		}
		return
	}
	out, ok := s.hub.admit(c.user)
	if !ok {
		s.crowded(c)
		return
	}
	defer out()
	r, _, ok := s.open(c, fresh)
	switch {
	case !ok:
	case s.inline():
		s.lead(c, r)
	default:
		go s.lead(c, r)
		l := &listener{s: s, w: c.w, r: c.r, o: c.o, told: r}
		if l.tell(); !s.resumes { // nobody can hear the rest
			r.cancel(errLeft)
		}
	}
}

// mostNames is how often another id is made for a run where there is one of that name.
const mostNames = 10

// open begins a run, unless it was asked for before, and says what the store found. ok is
// false where it was refused; fresh says that the run's id was made here. A run that is
// given back has to be led.
func (s *Server) open(c *call, fresh bool) (r *run, begun state.Begun, ok bool) {
	if !s.enter() {
		s.refuse(c, http.StatusServiceUnavailable, "", errShutdown.text)
		return nil, begun, false
	}
	now := s.cfg.Now()
	r = &run{ref: s.ref(c.ask.Thread, c.ask.Run), id: c.ask.Run}
	b := state.Beginning{Owner: c.user, At: now, Logged: s.resumes}
	if !c.o.IsStream {
		b.Task = s.id(c)
	} else if !fresh { // asked again, it is another run
		r.ref.Run = s.id(c)
	}
	b.Ref, b.Said = r.ref, s.heard(c)
	begun, err := s.hub.store.Begin(c.r.Context(), b)
	for n := 0; err == nil && begun.Again && c.o.IsStream; n++ { // made here, it is no name of the client's
		if n == mostNames {
			err = errors.New("no new run id could be made")
			break
		}
		r.ref.Run = s.id(c)
		if b.Ref = r.ref; fresh {
			r.id, c.ask.Run = r.ref.Run, r.ref.Run
		}
		begun, err = s.hub.store.Begin(c.r.Context(), b)
	}
	if err != nil || begun.Again {
		s.work.Done()
	}
	if err != nil {
		s.failed(c, err)
		return nil, begun, false
	}
	if begun.Again {
		return nil, begun, true
	}
	within := s.ctx
	if c.o.IsStream && s.inline() {
		within = c.r.Context() // nobody else listens; Shutdown ends it as well
	}
	r.ctx, r.cancel = context.WithCancelCause(within)
	r.late = time.AfterFunc(s.cfg.Limits.Run, func() { r.cancel(errLate) })
	s.hub.join(r)
	if s.ctx.Err() != nil {
		r.cancel(errShutdown)
	}
	r.turn = s.turn(c.ask, r.ref.Thread, begun.First)
	return r, begun, true
}

// lead plays a run. There may be thousands at a time, so what is on the stack meanwhile is
// kept small.
func (s *Server) lead(c *call, r *run) {
	defer s.work.Done()
	defer r.cancel(nil)
	defer r.late.Stop()
	defer s.hub.leave(r)
	switch {
	case c.o.IsStream && s.inline():
		s.stage(c, r)
	case s.resumes:
		s.play(c, r, newScribe(s, r))
	default:
		s.play(c, r, &slate{run: r, store: s.hub.store})
	}
}

// id makes one for a request.
func (s *Server) id(c *call) string { return s.cfg.IDs(c.r.Context()) }

// accept says that a run will be told elsewhere.
func (s *Server) accept(c *call, begun state.Begun) {
	made := begun.Made || begun.Again && begun.First == 1 // asked again, the answer is the same
	s.answer(c, spec.Event{
		Kind: spec.RunAccepted, Thread: c.ask.Thread, Run: c.ask.Run, ID: begun.Task,
		Created: cmp.Or(c.o.FormatTime(spec.RunAccepted, "created", begun.At), strconv.FormatBool(made)),
	})
}

// ref names a run in the store, which other dialects may share.
func (s *Server) ref(thread, run string) state.Ref {
	return state.Ref{Thread: s.dialect.Name + "/" + thread, Run: run}
}

// turn is what the agent is told.
func (s *Server) turn(ask spec.Event, thread string, first int64) *Turn {
	turn := &Turn{Event: ask, Earlier: func(ctx context.Context) ([]state.Message, error) {
		if first <= 1 {
			return nil, nil
		}
		return s.hub.store.Messages(ctx, thread, first, mostSaid)
	}}
	if s.offers {
		for _, part := range ask.Parts {
			if part.Kind == spec.InputTool && part.Name != "" {
				turn.Offers = append(turn.Offers, part.Name)
			}
		}
	}
	return turn
}

// A paper is what a run is told on.
type paper interface {
	blank() []byte // room for the next frame
	tell(data []byte)
	pause() // nothing comes for a while
	keep(said []state.Message)
	close() error // all is said; what is told after that is how it ended
	end()
}

// A slate is for runs that nobody can listen to later: what is told is shown at once, and only what was said is
// remembered.
type slate struct {
	run   *run
	store state.Store
	said  []state.Message
}

func (p *slate) blank() []byte             { return frameRoom() }
func (p *slate) tell(data []byte)          { p.run.append(data) }
func (p *slate) keep(said []state.Message) { p.said = append(p.said, said...) }
func (p *slate) pause()                    {}
func (p *slate) end()                      {}

// close remembers what was said.
func (p *slate) close() error {
	_, _, err := p.store.Tell(context.WithoutCancel(p.run.ctx), p.run.ref, state.Told{Said: p.said, Over: true})
	return err
}

// play lets the agent talk until the run is over.
func (s *Server) play(c *call, r *run, on paper) {
	defer r.end()
	s.count.RunBegun()
	size := 0
	tell := func(data []byte) {
		if size += len(data); size > s.cfg.Limits.Log || len(data) > s.cfg.Limits.Event {
			r.cancel(errLong)
		}
		s.count.Told(1, len(data))
		on.tell(data)
	}
	telling := Telling{Event: func(e *spec.Event) { tell(s.spell(on.blank(), e)) }, End: func() {}}
	if c.as.Tell != nil {
		telling = c.as.Tell(func(e *spec.Event) []byte { return s.spell(frameRoom(), e) }, tell)
	}
	t := s.voice.teller(r.turn.Thread, r.turn.Run, s.cfg.Now, telling.Event)
	agent := s.agent
	if c.as.Agent != nil {
		agent = c.as.Agent
	}
	s.perform(r, agent, t, on)
	on.keep(t.said.rest())
	if err := on.close(); err != nil {
		s.cfg.Log.Error("what a run said could not be kept", "dialect", s.dialect.Name, "run", r.id, "err", err)
		t.fails(errForgot) // whoever was told that it ended well would count on it
	}
	how := outcome(&t.in)
	t.listen(&t.in)
	telling.End()
	on.end()
	s.count.RunEnded(how)
}

// outcome is how a run ended, for those who count.
func outcome(final *spec.Event) meter.Outcome {
	switch {
	case final.Kind == spec.RunEnd:
		return meter.Finished
	case final.Code == runCanceled:
		return meter.Canceled
	}
	return meter.Failed
}

// perform is the agent's part, up to how it ends: that is t.in.
func (s *Server) perform(r *run, agent Agent, t *teller, on paper) {
	defer func() {
		if broken := recover(); broken != nil {
			s.cfg.Log.Error("the agent failed", "dialect", s.dialect.Name, "run", r.turn.Run, "panic", broken)
			t.fails(errAgent)
		}
	}()
	for e := range agent(r.ctx, *r.turn) {
		if r.ctx.Err() != nil {
			break
		}
		if e.Kind == "" {
			on.pause()
			continue
		}
		t.in = e // here, or each event would be one more to collect
		if e.Kind == spec.RunEnd || e.Kind == spec.RunError {
			return
		}
		t.listen(&t.in)
		on.keep(t.said.take())
	}
	if cause := context.Cause(r.ctx); cause != nil {
		t.fails(cause)
		return
	}
	t.ends()
}

// fails makes a problem the last that is told.
//
//go:noinline
func (t *teller) fails(cause error) { t.in = problem(cause) }

// ends makes a good end the last that is told.
//
//go:noinline
func (t *teller) ends() { t.in = spec.Event{Kind: spec.RunEnd} }

// problem ends a run for a reason that is not the agent's.
func problem(cause error) spec.Event {
	var why *ending
	if !errors.As(cause, &why) {
		why = errLeft // the request's context says no more
	}
	return spec.Event{Kind: spec.RunError, Text: why.text, Code: why.code, Status: why.status}
}

// frameRoom is for a frame that is kept.
func frameRoom() []byte { return make([]byte, 0, 256) }

// spell is an event as it goes over the wire, without its place.
func (s *Server) spell(room []byte, e *spec.Event) []byte {
	if e.Kind == spec.Undecodable { // it is spelled already
		return e.Raw
	}
	data, err := s.voice.op.AppendEvent(room, e)
	if err != nil {
		s.cfg.Log.Error("an event cannot be told", "dialect", s.dialect.Name, "kind", e.Kind, "err", err)
	}
	return data
}

// bury ends a run whose server is gone, and says whether it is over now.
func (s *Server) bury(ctx context.Context, ref state.Ref) bool {
	var told state.Told
	thread := ref.Thread[len(s.dialect.Name)+1:]
	t := s.voice.teller(thread, ref.Run, s.cfg.Now, func(e *spec.Event) { told.Data = append(told.Data, s.spell(frameRoom(), e)) })
	t.begun = true
	t.hear(problem(errOrphan))
	told.Over = true
	_, _, err := s.hub.store.Tell(ctx, ref, told)
	if err != nil && !errors.Is(err, state.ErrUnknown) {
		s.cfg.Log.Warn("an abandoned run could not be ended", "dialect", s.dialect.Name, "run", ref.Run, "err", err)
		return false
	}
	return true
}

// cancel asks for runs to be stopped: the one that is named, or all of a
// conversation where the dialect names no run. One that is over stays as it is.
func (s *Server) cancel(c *call) {
	ref := s.ref(c.ask.Thread, c.ask.Run)
	if _, ok := s.thread(c, c.ask.Run == ""); !ok {
		return
	}
	for _, r := range s.hub.playing(ref.Thread) {
		if c.ask.Run == "" || r.id == c.ask.Run {
			r.cancel(errCanceled)
		}
	}
	if err := s.hub.store.Cancel(c.r.Context(), ref); err != nil {
		s.failed(c, err)
		return
	}
	s.answer(c, spec.Event{Kind: spec.CancelAccepted, Thread: c.ask.Thread, Run: c.ask.Run})
}

// thread is the conversation that a request is about, as far as its user may know of
// it; ok is false where the request was refused. unknown says that there need be none.
func (s *Server) thread(c *call, unknown bool) (t state.Thread, ok bool) {
	t, err := s.hub.store.Thread(c.r.Context(), s.ref(c.ask.Thread, "").Thread)
	switch {
	case unknown && errors.Is(err, state.ErrUnknown):
		return t, true
	case err == nil && t.Owner != c.user:
		err = state.ErrOwner
	}
	if err != nil {
		s.failed(c, err)
	}
	return t, err == nil
}

// failed refuses a request that the store did not answer.
func (s *Server) failed(c *call, err error) {
	switch {
	case errors.Is(err, state.ErrOwner):
		s.refuse(c, http.StatusForbidden, "", "the conversation is another user's")
	case errors.Is(err, state.ErrUnknown):
		s.refuse(c, http.StatusNotFound, "", "there is no conversation "+strconv.Quote(c.ask.Thread))
	default:
		s.cfg.Meter.StoreFailed()
		s.cfg.Log.Error("the store failed", "dialect", s.dialect.Name, "op", c.o.Name, "err", err)
		s.refuse(c, http.StatusServiceUnavailable, "", "the state cannot be reached")
	}
}
