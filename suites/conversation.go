package suites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Conversation sends the requests of one scenario and records the exchanges. After an error,
// after a response that exceeded a limit, or after the end of the context, its methods send nothing
// more. Only [Conversation.Send], [Conversation.Sleep] and [Conversation.NewID] may be called
// concurrently with other methods.
type Conversation struct {
	Thread string // id of the thread that requests belong to; a new one at the start of a scenario
	Run    string // id of the run that was started last; "" before the first

	ctx      context.Context
	target   *Target
	dialect  *dialect.Dialect
	clients  map[spec.Principal]*wire.Client
	rng      *rand.Rand
	accepted bool                            // the server accepted the run that StartRun started last
	form     func(spec.Request) spec.Request // another form in which to send valid requests; nil: as they are

	mu           sync.Mutex // guards the fields below: exchanges may overlap
	trace        spec.Trace
	err          error
	limitReached bool              // the server exceeded a limit: no more requests are sent
	largeDecoded bool              // a body is large without its content coding
	concurrent   bool              // other conversations may have streams open at the same time
	abortCause   error             // why the client stopped sending requests, nil if it did not
	turns        map[string][]turn // by thread: what requests repeat, see remember
	unread       []spec.Exchange   // exchanges that turns does not have yet
}

// PromptEvent returns an event whose text is the prompt for a scenario: the user message that asks
// the agent to do what the scenario needs. args are the arguments of the conformance prompt; the
// other prompt styles ignore them.
func (t *Conversation) PromptEvent(scenario, args string) spec.Event {
	return spec.Event{Text: t.target.promptText(scenario, args)}
}

// StartRun gives the conversation a new run id, sends the request of the template with the values
// in e in place of its placeholders, and reads the response to its end. It reports whether the
// response is a success (2xx).
func (t *Conversation) StartRun(template string, e spec.Event) bool {
	t.Run = t.NewID()
	t.accepted = t.SendTemplate(template, e)
	return t.accepted
}

// SendTemplate builds the request of the template, with the values in e in place of its
// placeholders, and sends it like [Conversation.Send], whose result it returns. The current thread
// and run stay the same.
func (t *Conversation) SendTemplate(template string, e spec.Event) bool {
	return t.Send(t.BuildRequest(template, e))
}

// Send sends a request with the credentials of r.Principal, reads the response to its end and
// records the exchange. It reports whether the status is a success (2xx). It returns false, and
// sends nothing, if the conversation has failed or was stopped.
func (t *Conversation) Send(r spec.Request) bool { return t.send(r, wire.StopWhen{}) }

// HasTemplate reports whether the dialect has the template with the given name.
func (t *Conversation) HasTemplate(template string) bool {
	_, ok := t.dialect.TemplateOperation(template)
	return ok
}

// Sleep waits for d and returns true. If the context of the conversation ends first, it returns
// false at once.
func (t *Conversation) Sleep(d time.Duration) bool {
	select {
	case <-t.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// ReadStream requests the stream of the last run from the given cursor, or from the beginning if
// cursor is "". It closes the connection after the given number of events; 0 means to read to the
// end.
func (t *Conversation) ReadStream(cursor string, events int) {
	t.send(t.BuildRequest("listen", spec.Event{Cursor: cursor}), wire.StopWhen{Frames: events})
}

// SendAndRead starts a run with the request of the template, with the values in e in place of its
// placeholders. If the server accepts the request, it reads the stream of the run. Depending on the
// dialect, the stream is the response to the same request or to a second one.
func (t *Conversation) SendAndRead(template string, e spec.Event) {
	if t.StartRun(template, e) && !t.respondsWithStream(template) {
		t.ReadStream("", 0)
	}
}

// respondsWithStream reports whether the response to the request of a template is itself the event
// stream of the run.
func (t *Conversation) respondsWithStream(template string) bool {
	o, ok := t.dialect.TemplateOperation(template)
	return ok && o.IsStream
}

// BuildRequest returns the request of the template, with the values in e in place of its
// placeholders. The request is for the current run and, unless e names another thread, for the
// current thread. It does not send the request. If the request cannot be built, the conversation
// fails and sends nothing more.
func (t *Conversation) BuildRequest(template string, e spec.Event) spec.Request {
	if e.Thread == "" {
		e.Thread = t.Thread
	}
	e.Run = t.Run
	r, err := t.dialect.BuildRequestAfter(t.history(e.Thread), template, e)
	if err != nil {
		t.fail(err)
	} else if t.form != nil {
		if other := t.form(r); len(t.dialect.ValidateRequest(other)) == 0 {
			return other
		}
	}
	return r
}

// keepAlive makes the conversation reuse connections. It must be called before anything is sent.
func (t *Conversation) keepAlive() {
	cfg := t.target.wireConfig()
	cfg.KeepAlive = true
	clients, err := t.target.newClients(cfg, rand.New(rand.NewPCG(t.rng.Uint64(), 1)))
	if err != nil {
		t.fail(err)
		return
	}
	t.clients = clients
}

// fail ends the conversation with an error. Only the first error is kept.
func (t *Conversation) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}

// LastEvent returns the last event, or part of an event, of kind k in the response of the last
// exchange. It returns the zero event if there is none.
func (t *Conversation) LastEvent(k spec.Kind) (last spec.Event) {
	for e := range t.Events(1) {
		for _, part := range append(slices.Clone(e.Parts), e) {
			if part.Kind == k && e.Kind != spec.HTTPRequest {
				last = part
			}
		}
	}
	return last
}

// Cursors returns the cursors in the response of the last exchange, in order.
func (t *Conversation) Cursors() (all []string) {
	for e := range t.Events(1) {
		if e.IsFrame() && e.Cursor != "" {
			all = append(all, e.Cursor)
		}
	}
	return all
}

// Events returns an iterator over the events of the last n exchanges, in the order in which their
// requests were sent, or over those of all exchanges if there are fewer. Responses are not validated,
// as in [dialect.Dialect.Contents]. Once a response has
// exceeded a limit, the iterator yields nothing: the conversation sends no more requests that could
// depend on the events.
func (t *Conversation) Events(n int) iter.Seq[spec.Event] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limitReached { // no more requests depend on them, and decoding would be expensive
		return func(func(spec.Event) bool) {}
	}
	all := t.trace.Exchanges
	return spec.UntilDone(t.ctx, t.dialect.Contents(spec.Trace{Exchanges: slices.Clone(all[max(0, len(all)-n):])}))
}

// send is like [Conversation.Send], but reads the response only until limit makes the client leave.
func (t *Conversation) send(r spec.Request, limit wire.StopWhen) bool {
	return t.doExchange(t.clients[r.Principal], r, r.Target, limit)
}

// doExchange is like [Conversation.send], but uses the given client and sends target in place of
// r.Target. The recorded exchange contains r.Target.
func (t *Conversation) doExchange(client *wire.Client, r spec.Request, target string, limit wire.StopWhen) bool {
	tracker := t.tracker(r)
	t.mu.Lock()
	if t.abortCause == nil && t.err == nil && !t.limitReached {
		if t.abortCause = context.Cause(t.ctx); t.abortCause == nil {
			t.abortCause = tracker.stopCause()
		}
	}
	i, failed := len(t.trace.Exchanges), t.err != nil || t.limitReached || t.abortCause != nil
	if !failed {
		t.trace.Exchanges = append(t.trace.Exchanges, spec.Exchange{Request: r})
	}
	t.mu.Unlock()
	if failed {
		return false
	}
	guard := idleGuard{maxEventBytes: t.target.MaxEventBytes, next: limit.Until}
	var abandonCause error                     // why a stream is not read beyond its head
	limit.Until = func(r spec.Response) bool { // called after the head, and after each piece of the body
		if guard.isStream(r) && limit.Frames == 0 {
			abandonCause = t.target.budget.trackers[true].stopCause()
		}
		return abandonCause != nil || guard.shouldLeave(r)
	}
	if limit.Linger == nil {
		limit.Linger = t.lingerAfterEnd(r)
	}
	sent := r
	sent.Target = target
	ctx, stop := tracker.withContext(t.ctx)
	x, err := client.Do(ctx, sent, limit)
	cause := context.Cause(ctx)
	stop()
	if err != nil && cause == nil {
		t.fail(err)
		return false
	}
	x.Request.Target = r.Target
	if err == nil {
		t.target.budget.noteOpenStream(x.Response)
		cause = t.recordCost(&x.Response, tracker, guard)
	}
	if cause != nil {
		abandon(&x.Response, cause)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case cause != nil:
		t.abortCause = cause
	case abandonCause != nil:
		t.abortCause = abandonCause
	}
	t.trace.Exchanges[i] = x
	t.unread = append(t.unread, x)
	t.limitReached = t.limitReached || guard.tripped ||
		isOverLimit(x.Response.End) || wire.IsMemoryExceeded(x.Response.End)
	return cause == nil && x.Response.Status/100 == 2
}

// recordCost records in tracker the size of response r and whether it exceeded a limit: one of the
// client, or that of guard on the size of one event. It returns nil, except if r has a content
// coding and no more requests for its kind of response are to be sent. recordCost then records
// nothing and returns the reason; the caller must abandon the response.
func (t *Conversation) recordCost(r *spec.Response, tracker *limitTracker, guard idleGuard) error {
	size, stopped := t.checkDecodedSize(r, tracker)
	switch {
	case stopped != nil:
	case guard.tripped:
		tracker.record(largeEventError(guard.maxEventBytes), size)
	default:
		tracker.record(r.End, size)
	}
	return stopped
}

// abandon marks r as a response that the client left before its end, with cause as the reason. If
// cause is an [overrunError], it also drops a body that has a content coding, because decoding that
// body could take as long as all responses before.
func abandon(r *spec.Response, cause error) {
	r.End = fmt.Errorf("%w: %w", spec.ErrClientLeft, cause)
	if _, stopped := errors.AsType[overrunError](cause); stopped && dialect.HasContentCoding(*r) {
		r.Body, r.Arrivals = nil, nil
	}
}

// tracker returns the limit tracker for the kind of response that a request asks for: an event
// stream or any other reply.
func (t *Conversation) tracker(r spec.Request) *limitTracker {
	o := t.dialect.Operation(r)
	return t.target.budget.trackers[o != nil && o.IsStream]
}

// checkDecodedSize returns the size of response r without its content coding. It waits for memory
// before it decodes the body. If the decoded body exceeds a limit, it sets r.End to the error that
// says so. If the decoded body is merely large, it stops the conversation, because decoding the
// body repeatedly would be expensive. stopped is nil, or the reason why no more requests for this
// kind of response are sent; size is then zero.
func (t *Conversation) checkDecodedSize(r *spec.Response, tracker *limitTracker) (size responseTotals, stopped error) {
	if !dialect.HasContentCoding(*r) {
		return responseTotals{wire.CountEvents(*r), len(r.Body)}, nil
	}
	t.clients[spec.PrimaryUser].Use(t.ctx, func() {
		if stopped = tracker.stopCause(); stopped != nil {
			return
		}
		plain := dialect.DecodeContent(*r)
		size = responseTotals{wire.CountEvents(plain), len(plain.Body)}
		large := len(plain.Body) > maxRetained
		t.mu.Lock()
		defer t.mu.Unlock()
		t.largeDecoded = t.largeDecoded || large
		if isOverLimit(plain.End) {
			r.End = plain.End
		} else if large && r.End == nil {
			r.End = fmt.Errorf("%w: the body is large without its coding", spec.ErrClientLeft)
			t.limitReached = true
		}
	})
	return size, stopped
}

// An idleGuard makes the client leave an event stream that sends one endless event. Bodies that are
// not event streams, or that have a content coding, are bounded only by the general limits.
type idleGuard struct {
	maxEventBytes int // limit of one event
	next          func(spec.Response) bool
	hasHead       bool // stream and encoded are set
	stream        bool
	encoded       bool
	scanned       int // bytes searched
	dataLine      int // offset of the last data line
	tripped       bool
}

// maxReadAhead is how many bytes after an event the client may already have read when
// [idleGuard.shouldLeave] is called. These bytes do not count toward the limit of one event.
const maxReadAhead = 1 << 18

// isStream reports whether the response is an event stream. The first call determines this from the
// header of r, and later calls return the same result.
func (p *idleGuard) isStream(r spec.Response) bool {
	if !p.hasHead {
		p.hasHead, p.stream, p.encoded = true, r.Header.MediaType() == spec.EventStream, r.Header.ContentCoding() != ""
	}
	return p.stream
}

// shouldLeave reports whether the client should stop reading a response, because one event is too
// large or because the caller's own condition, p.next, returns true. r is the part of the response
// that was read so far.
func (p *idleGuard) shouldLeave(r spec.Response) bool {
	if p.isStream(r) && !p.encoded {
		p.findDataLine(r.Body)
		p.tripped = len(r.Body)-p.dataLine > p.maxEventBytes+maxReadAhead
	}
	return p.tripped || p.next != nil && p.next(r)
}

// findDataLine sets dataLine to the offset of the last line in body that begins with "data". The
// same text inside a line, as in a comment, does not count. Each call continues where the previous
// one ended, so that each byte is searched only once.
func (p *idleGuard) findDataLine(body []byte) {
	name := []byte("data")
	for at := p.scanned; ; at++ {
		i := bytes.Index(body[at:], name)
		if i < 0 {
			break
		}
		at += i
		if at == 0 || body[at-1] == '\n' || body[at-1] == '\r' || at == 3 { // a byte order mark has three bytes
			p.dataLine = at
		}
	}
	p.scanned = max(p.scanned, len(body)-len(name)+1)
}

// finalTrace returns the recording of the conversation: the exchanges and the facts about the
// target that the checks need. It leaves out requests that got neither a response nor an error. It
// must not be called before all exchanges have ended.
func (t *Conversation) finalTrace() spec.Trace {
	t.trace.Exchanges = slices.DeleteFunc(t.trace.Exchanges, func(x spec.Exchange) bool {
		return x.Response.Status == 0 && x.Response.End == nil
	})
	t.trace.Scripted, t.trace.StreamLimit = t.target.isScripted, t.target.StreamLimit
	if t.concurrent {
		t.trace.StreamLimit = 0
	}
	return truncateTimes(t.trace)
}

// DuringStream sends the given stream request and reads the response to its end. Meanwhile it calls
// the function request once, as soon as the given number of frames with data has arrived or the
// response has ended. It returns after both the response and the call have ended.
func (t *Conversation) DuringStream(stream spec.Request, frames int, request func()) {
	started := make(chan struct{})
	var once sync.Once
	start := func() { once.Do(func() { close(started) }) }
	over := make(chan struct{})
	seen := 0
	var split sse.FrameSplitter
	go func() {
		defer close(over)
		defer start()
		t.send(stream, wire.StopWhen{Until: func(r spec.Response) bool {
			for frame := range split.Split(r.Body[seen:]) {
				if _, ok := sse.FindField(frame, "data"); ok {
					frames--
				}
			}
			seen = len(r.Body)
			if frames <= 0 {
				start()
			}
			return false
		}})
	}()
	<-started
	request()
	<-over
}

// withNewIDs returns a copy of request r in which new ids replace those of the current thread and
// run, so that the server treats the copy as a different request. The conversation keeps its ids.
func (t *Conversation) withNewIDs(r spec.Request) spec.Request {
	for _, old := range []string{t.Thread, t.Run} {
		if old == "" {
			continue
		}
		id := t.NewID()
		r.Body = bytes.ReplaceAll(r.Body, []byte(old), []byte(id))
		r.Target = strings.ReplaceAll(r.Target, old, id)
	}
	return r
}

// NewID returns a random UUID (version 4), for a new thread or run. The seed of the conversation
// determines the sequence of ids.
func (t *Conversation) NewID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, b := t.rng.Uint64(), t.rng.Uint64()
	return fmt.Sprintf(
		"%08x-%04x-4%03x-%x%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, 8+b>>62, b>>48&0xfff, b&0xffffffffffff)
}
