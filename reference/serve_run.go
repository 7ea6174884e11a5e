package reference

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/internal/metrics"
	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
)

// serveRun starts a run. The response is the event stream of the run. In dialects in which a
// different operation streams runs, the response is a confirmation that the run was accepted.
func (s *Server) serveRun(c *requestContext) {
	if c.event.Thread == "" {
		c.event.Thread = s.newID(c)
	}
	idGenerated := c.event.Run == ""
	if idGenerated {
		c.event.Run = s.newID(c)
	}
	if err := s.checkImages(c); err != nil {
		s.refuseFile(c, err)
		return
	}
	if !c.op.IsStream {
		r, info, ok := s.startRun(c, idGenerated)
		if r != nil {
			go s.executeRun(c, r)
		}
		if ok {
			s.respondAccepted(c, info)
		}
		return
	}
	releaseStream, ok := s.openStream(c)
	if !ok {
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
		l := &streamWriter{requestContext: c, s: s, events: r}
		if l.stream(); !s.resumable { // no client can receive the rest
			r.cancel(errClientLeft)
		}
	}
}

// maxIDAttempts is the maximum number of further attempts to generate a run id if the first id is
// already in use.
const maxIDAttempts = 10

// startRun adds a run to the store and returns it. The caller must execute the run. In dialects in
// which a different operation streams runs, a request with the id of an existing run repeats the
// request for that run: r is nil and info describes the existing run. If startRun refused the
// request, ok is false. The argument idGenerated states whether the server generated the id of the
// run.
func (s *Server) startRun(c *requestContext, idGenerated bool) (r *run, info state.StartRunResult, ok bool) {
	if !s.beginWork() {
		s.refuse(c, http.StatusServiceUnavailable, "", errShutdown.text)
		return nil, info, false
	}
	now := s.cfg.Now()
	r = &run{ref: s.runRef(c.event.Thread, c.event.Run), id: c.event.Run}
	b := state.StartRunRequest{Owner: c.user, StartedAt: now, KeepEvents: s.resumable}
	if !c.op.IsStream {
		b.TaskID = s.newID(c)
	} else if !idGenerated { // a repeated request starts another run
		r.ref.Run = s.newID(c)
	}
	b.RunRef, b.Messages = r.ref, s.requestMessages(c)
	info, err := s.registry.store.StartRun(c.r.Context(), b)
	for n := 0; err == nil && info.Existed && c.op.IsStream; n++ { // ref.Run is generated: try another
		if n == maxIDAttempts {
			err = errors.New("cannot generate an unused run id")
			break
		}
		r.ref.Run = s.newID(c)
		if b.RunRef = r.ref; idGenerated {
			r.id, c.event.Run = r.ref.Run, r.ref.Run
		}
		info, err = s.registry.store.StartRun(c.r.Context(), b)
	}
	if err != nil || info.Existed {
		s.active.Done()
		if err != nil {
			s.refuseStoreError(c, err)
		}
		return nil, info, err == nil
	}
	parent := s.ctx
	if c.op.IsStream && s.playsInline() {
		parent = c.r.Context() // this request is the only listener; Shutdown cancels the run as well
	}
	r.ctx, r.cancel = context.WithCancelCause(parent)
	r.timeoutTimer = time.AfterFunc(s.cfg.Limits.RunDuration, func() { r.cancel(errRunTimeout) })
	s.registry.addRun(r)
	if s.ctx.Err() != nil {
		r.cancel(errShutdown)
	}
	r.turn = s.newTurn(c.event, r.ref.Thread, info.FirstMessage)
	return r, info, true
}

// executeRun executes the run r, which the request c started, and returns when the run has ended.
func (s *Server) executeRun(c *requestContext, r *run) {
	defer s.active.Done()
	defer r.cancel(nil)
	defer r.timeoutTimer.Stop()
	defer s.registry.removeRun(r)
	switch {
	case c.op.IsStream && s.playsInline():
		s.streamInline(c, r)
	case s.resumable:
		s.streamRun(c, r, newRunLogWriter(s, r))
	default:
		s.streamRun(c, r, &unresumableSink{run: r, store: s.registry.store})
	}
}

// newID returns a new id, made by Config.NewID, for something that the server creates while it
// handles the request c, such as a run.
func (s *Server) newID(c *requestContext) string { return s.cfg.NewID(c.r.Context()) }

// respondAccepted responds that the run described by info was accepted, with the reply of kind
// [spec.RunAccepted] that the dialect's document specifies for c.op. If a request names the same
// run as an earlier one, the response is the same as to the earlier one.
func (s *Server) respondAccepted(c *requestContext, info state.StartRunResult) {
	threadCreated := info.ThreadCreated || info.Existed && info.FirstMessage == 1
	s.respond(c, spec.Event{
		Kind: spec.RunAccepted, Thread: c.event.Thread, Run: c.event.Run, ID: info.TaskID,
		Created: cmp.Or(c.op.FormatTime(spec.RunAccepted, "created", info.StartedAt), strconv.FormatBool(threadCreated)),
	})
}

// runRef returns the key of a run in the store. The arguments are the ids that the client knows.
// The key of the thread begins with the name of the dialect and "/", because servers of several
// dialects may share the store.
func (s *Server) runRef(thread, run string) state.RunRef {
	return state.RunRef{Thread: s.dialect.Name + "/" + thread, Run: run}
}

// newTurn returns the agent's input for a request. The argument thread is the key of the request's
// thread in the store, and first is the number of the first message that the request added to the
// thread.
func (s *Server) newTurn(request spec.Event, thread string, first int64) *Turn {
	turn := &Turn{Event: request, EarlierMessages: func(ctx context.Context) ([]state.Message, error) {
		if first <= 1 {
			return nil, nil
		}
		return s.registry.store.Messages(ctx, thread, first, maxEarlierMessages)
	}}
	results := s.features.resultMessage
	turn.OnlyClient = !results.exists && !results.standalone
	if s.hasClientTools {
		for _, part := range request.Parts {
			if part.Kind == spec.InputTool && part.Name != "" {
				turn.ClientTools = append(turn.ClientTools, part.Name)
			}
		}
	}
	return turn
}

// A runFrameSink receives the encoded frames of one run.
type runFrameSink interface {
	frameBuffer() []byte                  // returns an empty buffer for encoding the next frame
	writeFrame(data []byte)               // sends or queues a frame; the caller must not use data afterwards
	flush()                               // sends buffered frames to the client; called before the agent pauses
	addMessages(messages []state.Message) // adds complete messages of the run; commit or finish stores them
	commit() error                        // called before the terminal event; an error makes the run fail
	finish()                              // sends or stores the remaining frames; called after the last frame
}

// An unresumableSink is the sink of a run whose stream cannot be resumed. It publishes frames
// immediately and does not store them. The method commit stores the messages of the run.
type unresumableSink struct {
	run      *run
	store    state.Store
	messages []state.Message
}

func (p *unresumableSink) frameBuffer() []byte           { return newFrameBuffer() }
func (p *unresumableSink) writeFrame(data []byte)        { p.run.appendFrame(data) }
func (p *unresumableSink) addMessages(m []state.Message) { p.messages = append(p.messages, m...) }
func (p *unresumableSink) flush()                        {}
func (p *unresumableSink) finish()                       {}

// commit stores the messages and the end of the run. It returns any error from the store.
func (p *unresumableSink) commit() error {
	update := state.AppendBatch{Messages: p.messages, End: true}
	ctx, stop := context.WithTimeout(context.WithoutCancel(p.run.ctx), storeTimeout)
	defer stop()
	_, _, err := p.store.Append(ctx, p.run.ref, update)
	return err
}

// streamRun runs the agent for the run r, which the request c started, and writes the encoded
// events to out. If the agent emits no terminal event, streamRun adds one.
func (s *Server) streamRun(c *requestContext, r *run, out runFrameSink) {
	defer r.finish()
	s.metrics.RunsStarted.Inc()
	size := 0
	send := func(data []byte) {
		if size += len(data); size > s.cfg.Limits.RunBytes || len(data) > s.cfg.Limits.EventBytes {
			r.cancel(errRunTooLarge)
		}
		s.metrics.Events.Inc()
		s.metrics.EventBytes.Add(len(data))
		out.writeFrame(data)
	}
	events := EventSink{Event: func(e *spec.Event) { send(s.encodeEvent(out.frameBuffer(), e)) }, End: func() {}}
	if c.override.NewSink != nil {
		events = c.override.NewSink(func(e *spec.Event) []byte { return s.encodeEvent(newFrameBuffer(), e) }, send)
	}
	t := s.features.newEncoder(r.turn.Thread, r.turn.Run, s.cfg.Now, events.Event)
	agent := s.agent
	if c.override.Agent != nil {
		agent = c.override.Agent
	}
	cause := s.runAgent(r, agent, t, out)
	out.addMessages(t.messages.takeAll())
	if err := out.commit(); err != nil {
		s.cfg.Log.Error("the messages of a run could not be stored", "dialect", s.dialect.Name, "run", r.id, "err", err)
		cause = errNotStored // a client that receives a successful end relies on the history
	}
	outcome := t.encodeTerminal(cause)
	events.End()
	out.finish()
	s.metrics.RunsEnded[outcome].Inc()
}

// encodeTerminal encodes the terminal event of the run and returns the outcome of the run. If cause
// is nil, the terminal event is the one that the agent emitted last, or a successful end if the
// agent emitted none. If cause is not nil, the terminal event is stopEvent(cause).
func (t *runEncoder) encodeTerminal(cause error) (outcome metrics.RunOutcome) {
	switch {
	case cause != nil:
		t.last = stopEvent(cause)
	case t.last.Kind != spec.RunEnd && t.last.Kind != spec.RunError:
		t.last = spec.Event{Kind: spec.RunEnd}
	}
	switch {
	case t.last.Kind == spec.RunEnd:
		outcome = metrics.Finished
	case t.last.Status == statusCanceled:
		outcome = metrics.Canceled
	default:
		outcome = metrics.Failed
	}
	t.encode(&t.last)
	return outcome
}

// runAgent runs the agent, encodes its events with t and writes the frames to out. It leaves the
// terminal event in t.last without encoding it. It returns errAgentFailed if the agent panicked,
// and the cause of r.ctx if that context was done before the agent finished. Otherwise it returns
// nil; t.last is not a terminal event if the agent emitted none.
func (s *Server) runAgent(r *run, agent Agent, t *runEncoder, out runFrameSink) (cause error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			s.cfg.Log.Error("the agent failed", "dialect", s.dialect.Name, "run", r.turn.Run, "panic", panicked)
			cause = errAgentFailed
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
		t.last = e // passing a pointer to e itself would allocate each event
		if e.Kind == spec.RunEnd || e.Kind == spec.RunError {
			return nil
		}
		t.encode(&t.last)
		out.addMessages(t.messages.takeCompleted())
	}
	return context.Cause(r.ctx)
}

// stopEvent returns the terminal event of a run that the server ends because of cause. If cause
// wraps no abortReason, the event states that the client left.
func stopEvent(cause error) spec.Event {
	reason, ok := errors.AsType[*abortReason](cause)
	if !ok {
		reason = errClientLeft // a request's context has no further cause
	}
	return spec.Event{Kind: spec.RunError, Text: reason.text, Status: reason.status}
}

// newFrameBuffer returns an empty buffer for a frame. It is used for frames that are retained,
// because their buffers cannot be reused.
func newFrameBuffer() []byte { return make([]byte, 0, 256) }

// encodeEvent appends the frame of e, without the SSE field id, to dst and returns the result. If e
// is already encoded, it returns e.Raw without dst. If e cannot be encoded, it logs the error and
// returns dst.
func (s *Server) encodeEvent(dst []byte, e *spec.Event) []byte {
	if e.Kind == spec.Undecodable { // encoded already
		return e.Raw
	}
	data, err := s.features.op.AppendEvent(dst, e)
	if err != nil {
		s.cfg.Log.Error("an event cannot be encoded", "dialect", s.dialect.Name, "kind", e.Kind, "err", err)
	}
	return data
}

// endOrphan ends a run whose server process no longer exists, by adding an error event to the run
// in the store. It returns false if the store failed and the caller should try again. Otherwise it
// returns true: the run has now ended, had ended before, or does not exist.
func (s *Server) endOrphan(ctx context.Context, ref state.RunRef) bool {
	update := state.AppendBatch{End: true}
	thread := ref.Thread[len(s.dialect.Name)+1:]
	t := s.features.newEncoder(thread, ref.Run, s.cfg.Now, func(e *spec.Event) {
		update.Events = append(update.Events, s.encodeEvent(newFrameBuffer(), e))
	})
	t.started = true
	final := stopEvent(errOrphaned)
	t.encode(&final)
	_, _, err := s.registry.store.Append(ctx, ref, update)
	if err != nil && !errors.Is(err, state.ErrNotFound) {
		s.cfg.Log.Warn("an abandoned run could not be ended", "dialect", s.dialect.Name, "run", ref.Run, "err", err)
		return false
	}
	return true
}

// serveCancel cancels the run that the request names. If the request names no run, it cancels all
// runs of the conversation. Runs that have ended are not affected. serveCancel refuses the request
// if the conversation belongs to another user, or if the request names a run and the conversation
// does not exist.
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

// authorizeThread returns the conversation that the request names, and true if the user may access
// it. If the conversation does not exist and mayBeUnknown is true, authorizeThread returns the zero
// Thread and true. In all other cases, such as a failure of the store, it refuses the request and
// returns false.
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

// refuseStoreError refuses a request because the store returned err. The status is 403 for
// state.ErrNotOwner and 404 for state.ErrNotFound. For any other error the status is 503, and the
// error is logged and counted.
func (s *Server) refuseStoreError(c *requestContext, err error) {
	switch {
	case errors.Is(err, state.ErrNotOwner):
		s.refuse(c, http.StatusForbidden, "", "the conversation belongs to another user")
	case errors.Is(err, state.ErrNotFound):
		s.refuse(c, http.StatusNotFound, "", "unknown conversation "+strconv.Quote(c.event.Thread))
	default:
		s.cfg.Metrics.StoreFailed()
		s.cfg.Log.Error("the store failed", "dialect", s.dialect.Name, "op", c.op.Name, "err", err)
		s.refuse(c, http.StatusServiceUnavailable, "", "the store is unavailable")
	}
}
