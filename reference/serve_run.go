package reference

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/reference/metrics"
	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
)

// serveRun opens a run. Its stream is the answer, or it is accepted and told elsewhere.
func (s *Server) serveRun(c *requestContext) {
	if c.event.Thread == "" {
		c.event.Thread = s.newID(c)
	}
	idGenerated := c.event.Run == ""
	if idGenerated {
		c.event.Run = s.newID(c)
	}
	if s.referencesForeignFile(c) {
		s.refuse(c, http.StatusUnprocessableEntity, "", "the image was not uploaded here")
		return
	}
	if !c.op.IsStream {
		r, begun, ok := s.startRun(c, idGenerated)
		if r != nil {
			go s.executeRun(c, r)
		}
		if ok {
			s.respondAccepted(c, begun)
		}
		return
	}
	releaseStream, ok := s.registry.acquireStream(c.user)
	if !ok {
		s.refuseTooManyStreams(c)
		return
	}
	defer releaseStream()
	r, _, ok := s.startRun(c, idGenerated)
	switch {
	case !ok:
	case s.playsInline():
		s.executeRun(c, r)
	default:
		go s.executeRun(c, r)
		l := &streamWriter{s: s, w: c.w, r: c.r, op: c.op, events: r}
		if l.stream(); !s.resumable { // nobody can hear the rest
			r.cancel(errClientLeft)
		}
	}
}

// maxIDAttempts is how often another id is made for a run where there is one of that name.
const maxIDAttempts = 10

// startRun begins a run, unless it was asked for before, and says what the store found. ok is
// false where it was refused; fresh says that the run's id was made here. A run that is
// given back has to be led.
func (s *Server) startRun(c *requestContext, idGenerated bool) (r *run, begun state.RunInfo, ok bool) {
	if !s.beginWork() {
		s.refuse(c, http.StatusServiceUnavailable, "", errShutdown.text)
		return nil, begun, false
	}
	now := s.cfg.Now()
	r = &run{ref: s.runRef(c.event.Thread, c.event.Run), id: c.event.Run}
	b := state.RunRequest{Owner: c.user, StartedAt: now, KeepEvents: s.resumable}
	if !c.op.IsStream {
		b.TaskID = s.newID(c)
	} else if !idGenerated { // asked again, it is another run
		r.ref.Run = s.newID(c)
	}
	b.RunRef, b.Messages = r.ref, s.requestMessages(c)
	begun, err := s.registry.store.StartRun(c.r.Context(), b)
	for n := 0; err == nil && begun.Existed && c.op.IsStream; n++ { // made here, it is no name of the client's
		if n == maxIDAttempts {
			err = errors.New("no new run id could be made")
			break
		}
		r.ref.Run = s.newID(c)
		if b.RunRef = r.ref; idGenerated {
			r.id, c.event.Run = r.ref.Run, r.ref.Run
		}
		begun, err = s.registry.store.StartRun(c.r.Context(), b)
	}
	if err != nil || begun.Existed {
		s.active.Done()
	}
	if err != nil {
		s.refuseStoreError(c, err)
		return nil, begun, false
	}
	if begun.Existed {
		return nil, begun, true
	}
	parent := s.ctx
	if c.op.IsStream && s.playsInline() {
		parent = c.r.Context() // nobody else listens; Shutdown ends it as well
	}
	r.ctx, r.cancel = context.WithCancelCause(parent)
	r.timeoutTimer = time.AfterFunc(s.cfg.Limits.RunDuration, func() { r.cancel(errRunTimeout) })
	s.registry.addRun(r)
	if s.ctx.Err() != nil {
		r.cancel(errShutdown)
	}
	r.turn = s.newTurn(c.event, r.ref.Thread, begun.FirstMessage)
	return r, begun, true
}

// executeRun plays a run. There may be thousands at a time, so what is on the stack meanwhile is
// kept small.
func (s *Server) executeRun(c *requestContext, r *run) {
	defer s.active.Done()
	defer r.cancel(nil)
	defer r.timeoutTimer.Stop()
	defer s.registry.removeRun(r)
	switch {
	case c.op.IsStream && s.playsInline():
		s.streamInline(c, r)
	case s.resumable:
		s.streamRun(c, r, newLogWriter(s, r))
	default:
		s.streamRun(c, r, &memorySink{run: r, store: s.registry.store})
	}
}

// newID makes one for a request.
func (s *Server) newID(c *requestContext) string { return s.cfg.NewID(c.r.Context()) }

// respondAccepted says that a run will be told elsewhere.
func (s *Server) respondAccepted(c *requestContext, begun state.RunInfo) {
	threadCreated := begun.ThreadCreated || begun.Existed && begun.FirstMessage == 1 // asked again, the answer is the same
	s.respond(c, spec.Event{
		Kind: spec.RunAccepted, Thread: c.event.Thread, Run: c.event.Run, ID: begun.TaskID,
		Created: cmp.Or(c.op.FormatTime(spec.RunAccepted, "created", begun.StartedAt), strconv.FormatBool(threadCreated)),
	})
}

// runRef names a run in the store, which other dialects may share.
func (s *Server) runRef(thread, run string) state.RunRef {
	return state.RunRef{Thread: s.dialect.Name + "/" + thread, Run: run}
}

// newTurn is what the agent is told.
func (s *Server) newTurn(ask spec.Event, thread string, first int64) *Turn {
	turn := &Turn{Event: ask, EarlierMessages: func(ctx context.Context) ([]state.Message, error) {
		if first <= 1 {
			return nil, nil
		}
		return s.registry.store.Messages(ctx, thread, first, maxEarlierMessages)
	}}
	if s.hasClientTools {
		for _, part := range ask.Parts {
			if part.Kind == spec.InputTool && part.Name != "" {
				turn.ClientTools = append(turn.ClientTools, part.Name)
			}
		}
	}
	return turn
}

// A sink is what a run is told on.
type sink interface {
	frameBuffer() []byte // room for the next frame
	writeFrame(data []byte)
	flush() // nothing comes for a while
	addMessages(said []state.Message)
	commit() error // all is said; what is told after that is how it ended
	finish()
}

// A memorySink is for runs that nobody can listen to later: what is told is shown at once, and only what was said is
// remembered.
type memorySink struct {
	run      *run
	store    state.Store
	messages []state.Message
}

func (p *memorySink) frameBuffer() []byte              { return newFrameBuffer() }
func (p *memorySink) writeFrame(data []byte)           { p.run.appendFrame(data) }
func (p *memorySink) addMessages(said []state.Message) { p.messages = append(p.messages, said...) }
func (p *memorySink) flush()                           {}
func (p *memorySink) finish()                          {}

// commit remembers what was said.
func (p *memorySink) commit() error {
	_, _, err := p.store.Append(context.WithoutCancel(p.run.ctx), p.run.ref, state.RunUpdate{Messages: p.messages, End: true})
	return err
}

// streamRun lets the agent talk until the run is over.
func (s *Server) streamRun(c *requestContext, r *run, out sink) {
	defer r.finish()
	s.metrics.RunStarted()
	size := 0
	send := func(data []byte) {
		if size += len(data); size > s.cfg.Limits.RunBytes || len(data) > s.cfg.Limits.EventBytes {
			r.cancel(errRunTooLarge)
		}
		s.metrics.EventsSent(1, len(data))
		out.writeFrame(data)
	}
	events := EventSink{Event: func(e *spec.Event) { send(s.encodeEvent(out.frameBuffer(), e)) }, End: func() {}}
	if c.override.NewSink != nil {
		events = c.override.NewSink(func(e *spec.Event) []byte { return s.encodeEvent(newFrameBuffer(), e) }, send)
	}
	t := s.capabilities.newEncoder(r.turn.Thread, r.turn.Run, s.cfg.Now, events.Event)
	agent := s.agent
	if c.override.Agent != nil {
		agent = c.override.Agent
	}
	s.runAgent(r, agent, t, out)
	out.addMessages(t.messages.takeAll())
	if err := out.commit(); err != nil {
		s.cfg.Log.Error("what a run said could not be kept", "dialect", s.dialect.Name, "run", r.id, "err", err)
		t.setFailure(errNotStored) // whoever was told that it ended well would count on it
	}
	outcome := outcomeOf(&t.last)
	t.encodeInPlace(&t.last)
	events.End()
	out.finish()
	s.metrics.RunEnded(outcome)
}

// outcomeOf is how a run ended, for those who count.
func outcomeOf(final *spec.Event) metrics.Outcome {
	switch {
	case final.Kind == spec.RunEnd:
		return metrics.Finished
	case final.Code == codeRunCanceled:
		return metrics.Canceled
	}
	return metrics.Failed
}

// runAgent is the agent's part, up to how it ends: that is t.in.
func (s *Server) runAgent(r *run, agent Agent, t *runEncoder, out sink) {
	defer func() {
		if panicked := recover(); panicked != nil {
			s.cfg.Log.Error("the agent failed", "dialect", s.dialect.Name, "run", r.turn.Run, "panic", panicked)
			t.setFailure(errAgentFailed)
		}
	}()
	for e := range agent(r.ctx, *r.turn) {
		if r.ctx.Err() != nil {
			break
		}
		if e.Kind == "" {
			out.flush()
			continue
		}
		t.last = e // here, or each event would be one more to collect
		if e.Kind == spec.RunEnd || e.Kind == spec.RunError {
			return
		}
		t.encodeInPlace(&t.last)
		out.addMessages(t.messages.takeCompleted())
	}
	if cause := context.Cause(r.ctx); cause != nil {
		t.setFailure(cause)
		return
	}
	t.setEnd()
}

// setFailure makes a problem the last that is told.
//
//go:noinline
func (t *runEncoder) setFailure(cause error) { t.last = stopEvent(cause) }

// setEnd makes a good end the last that is told.
//
//go:noinline
func (t *runEncoder) setEnd() { t.last = spec.Event{Kind: spec.RunEnd} }

// stopEvent ends a run for a reason that is not the agent's.
func stopEvent(cause error) spec.Event {
	var why *stopReason
	if !errors.As(cause, &why) {
		why = errClientLeft // the request's context says no more
	}
	return spec.Event{Kind: spec.RunError, Text: why.text, Code: why.code, Status: why.status}
}

// newFrameBuffer is for a frame that is kept.
func newFrameBuffer() []byte { return make([]byte, 0, 256) }

// encodeEvent is an event as it goes over the wire, without its place.
func (s *Server) encodeEvent(dst []byte, e *spec.Event) []byte {
	if e.Kind == spec.Undecodable { // it is spelled already
		return e.Raw
	}
	data, err := s.capabilities.op.AppendEvent(dst, e)
	if err != nil {
		s.cfg.Log.Error("an event cannot be told", "dialect", s.dialect.Name, "kind", e.Kind, "err", err)
	}
	return data
}

// endOrphan ends a run whose server is gone, and says whether it is over now.
func (s *Server) endOrphan(ctx context.Context, ref state.RunRef) bool {
	var update state.RunUpdate
	thread := ref.Thread[len(s.dialect.Name)+1:]
	t := s.capabilities.newEncoder(thread, ref.Run, s.cfg.Now, func(e *spec.Event) { update.Events = append(update.Events, s.encodeEvent(newFrameBuffer(), e)) })
	t.started = true
	t.encode(stopEvent(errOrphaned))
	update.End = true
	_, _, err := s.registry.store.Append(ctx, ref, update)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		s.cfg.Log.Warn("an abandoned run could not be ended", "dialect", s.dialect.Name, "run", ref.Run, "err", err)
		return false
	}
	return true
}

// serveCancel asks for runs to be stopped: the one that is named, or all of a
// conversation where the dialect names no run. One that is over stays as it is.
func (s *Server) serveCancel(c *requestContext) {
	ref := s.runRef(c.event.Thread, c.event.Run)
	if _, ok := s.authorizeThread(c, c.event.Run == ""); !ok {
		return
	}
	for _, r := range s.registry.runsOf(ref.Thread) {
		if c.event.Run == "" || r.id == c.event.Run {
			r.cancel(errCanceled)
		}
	}
	if err := s.registry.store.Cancel(c.r.Context(), ref); err != nil {
		s.refuseStoreError(c, err)
		return
	}
	s.respond(c, spec.Event{Kind: spec.CancelAccepted, Thread: c.event.Thread, Run: c.event.Run})
}

// authorizeThread is the conversation that a request is about, as far as its user may know of
// it; ok is false where the request was refused. unknown says that there need be none.
func (s *Server) authorizeThread(c *requestContext, mayBeUnknown bool) (t state.Thread, ok bool) {
	t, err := s.registry.store.Thread(c.r.Context(), s.runRef(c.event.Thread, "").Thread)
	switch {
	case mayBeUnknown && errors.Is(err, state.ErrNotFound):
		return t, true
	case err == nil && t.Owner != c.user:
		err = state.ErrNotOwner
	}
	if err != nil {
		s.refuseStoreError(c, err)
	}
	return t, err == nil
}

// refuseStoreError refuses a request that the store did not answer.
func (s *Server) refuseStoreError(c *requestContext, err error) {
	switch {
	case errors.Is(err, state.ErrNotOwner):
		s.refuse(c, http.StatusForbidden, "", "the conversation is another user's")
	case errors.Is(err, state.ErrNotFound):
		s.refuse(c, http.StatusNotFound, "", "there is no conversation "+strconv.Quote(c.event.Thread))
	default:
		s.cfg.Metrics.StoreFailed()
		s.cfg.Log.Error("the store failed", "dialect", s.dialect.Name, "op", c.op.Name, "err", err)
		s.refuse(c, http.StatusServiceUnavailable, "", "the state cannot be reached")
	}
}
