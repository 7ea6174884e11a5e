package suites

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Conversation is a conversation under way: what a scenario leads. After the first error
// its methods do nothing.
type Conversation struct {
	Thread string // the conversation's id
	Run    string // the id of the run asked for last

	ctx     context.Context
	target  *Target
	dialect *dialect.Dialect
	clients map[spec.Principal]*wire.Client
	rng     *rand.Rand

	mu           sync.Mutex // several exchanges may be under way
	trace        spec.Trace
	err          error
	limitReached bool  // the target went over a limit: nothing more is asked of it
	concurrent   bool  // others may have streams open meanwhile
	abortCause   error // why the client broke the conversation off; nil: it did not
}

// PromptEvent asks for a scenario: the conformance prompt, the target's own words for
// it, or plain words.
func (t *Conversation) PromptEvent(scenario, args string) spec.Event {
	return spec.Event{Text: t.target.promptText(scenario, args)}
}

// StartRun asks, and hears out what the server says to that. It says whether the
// request was accepted.
func (t *Conversation) StartRun(phrase string, e spec.Event) bool {
	t.Run = t.newID()
	return t.send(t.BuildRequest(phrase, e), wire.StopWhen{})
}

// ReadStream hears the run asked for last, from a cursor on ("" is its start), and
// hangs up after so many events; 0 is never.
func (t *Conversation) ReadStream(cursor string, events int) {
	t.send(t.BuildRequest("listen", spec.Event{Cursor: cursor}), wire.StopWhen{Frames: events})
}

// SendAndRead asks and hears the answer, in as many requests as the dialect takes.
func (t *Conversation) SendAndRead(phrase string, e spec.Event) {
	if t.StartRun(phrase, e) && !t.respondsWithStream(phrase) {
		t.ReadStream("", 0)
	}
}

// respondsWithStream says whether the answer to a phrase is itself the stream.
func (t *Conversation) respondsWithStream(phrase string) bool {
	o, ok := t.dialect.TemplateOperation(phrase)
	return ok && o.IsStream
}

// BuildRequest is a request of this conversation that is not sent yet.
func (t *Conversation) BuildRequest(phrase string, e spec.Event) spec.Request {
	if e.Thread == "" {
		e.Thread = t.Thread
	}
	e.Run = t.Run
	r, err := t.dialect.BuildRequest(phrase, e)
	if err != nil {
		t.fail(err)
	}
	return r
}

func (t *Conversation) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}

// LastEvent is the last event of a kind in the last exchange, or a zero one.
func (t *Conversation) LastEvent(k spec.Kind) (last spec.Event) {
	for e := range t.lastExchangeEvents() {
		for _, part := range append(slices.Clone(e.Parts), e) {
			if part.Kind == k && e.Kind != spec.HTTPRequest {
				last = part
			}
		}
	}
	return last
}

// Cursors are those of the last exchange's answer, one to an event.
func (t *Conversation) Cursors() (all []string) {
	for e := range t.lastExchangeEvents() {
		if e.IsFrame() && e.Cursor != "" {
			all = append(all, e.Cursor)
		}
	}
	return all
}

func (t *Conversation) lastExchangeEvents() iter.Seq[spec.Event] { return t.recentEvents(1) }

// recentEvents are those of the last n exchanges.
func (t *Conversation) recentEvents(n int) iter.Seq[spec.Event] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limitReached { // nothing more is asked, so nobody has to know
		return func(func(spec.Event) bool) {}
	}
	all := t.trace.Exchanges
	return spec.UntilDone(t.ctx, t.dialect.Events(spec.Trace{Exchanges: slices.Clone(all[max(0, len(all)-n):])}))
}

// send asks, records, and says whether the answer was a success.
func (t *Conversation) send(r spec.Request, limit wire.StopWhen) bool {
	return t.doExchange(t.clients[r.Principal], r, r.Target, limit)
}

// doExchange is send for a client of its own, which knows what is asked for as target.
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
	guard := idleGuard{maxEventBytes: t.target.maxEventBytes(), next: limit.Until}
	var abandonCause error // why a stream is left at its head
	limit.Until = func(heard spec.Response) bool {
		if heard.Header.MediaType() == spec.EventStream && limit.Frames == 0 {
			abandonCause = t.target.budget.trackers[true].stopCause()
		}
		return abandonCause != nil || guard.shouldLeave(heard)
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
		size := t.checkDecodedSize(&x.Response)
		tracker.record(x.Response.End, size)
	} else {
		x.Response.End = fmt.Errorf("%w: %w", spec.ErrClientLeft, cause)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err != nil:
		t.abortCause = cause
	case abandonCause != nil:
		t.abortCause = abandonCause
	}
	t.trace.Exchanges[i] = x
	t.limitReached = t.limitReached || guard.tripped || isOverLimit(x.Response.End) || wire.IsMemoryExceeded(x.Response.End)
	return err == nil && x.Response.Status/100 == 2
}

// tracker is what the kind of a request's answer has cost so far.
func (t *Conversation) tracker(r spec.Request) *limitTracker {
	o := t.dialect.Operation(r)
	return t.target.budget.trackers[o != nil && o.IsStream]
}

// checkDecodedSize returns the size of a body without its content coding. A body that exceeds
// the limits ends there; one that is large ends its conversation.
func (t *Conversation) checkDecodedSize(r *spec.Response) (size responseVolume) {
	if !dialect.HasContentCoding(*r) {
		return responseVolume{wire.CountEvents(*r), len(r.Body)}
	}
	t.clients[spec.PrimaryUser].Use(t.ctx, func() {
		plain := dialect.DecodeContent(*r)
		size = responseVolume{wire.CountEvents(plain), len(plain.Body)}
		if isOverLimit(plain.End) {
			r.End = plain.End
		} else if len(plain.Body) > maxRetained && r.End == nil {
			r.End = fmt.Errorf("%w: the body is large without its coding", spec.ErrClientLeft)
			t.mu.Lock()
			t.limitReached = true
			t.mu.Unlock()
		}
	})
	return size
}

// An idleGuard leaves a stream whose current event has no end. The size of other bodies, and of
// those with a content coding, is a matter of the limits.
type idleGuard struct {
	maxEventBytes int // bytes of one event
	next          func(spec.Response) bool
	scanned       int // bytes searched
	dataLine      int // where the last line of data began
	tripped       bool
}

// maxReadAhead is how many bytes may follow an event before the body is searched again: a few reads.
const maxReadAhead = 1 << 18

func (p *idleGuard) shouldLeave(r spec.Response) bool {
	if r.Header.MediaType() == spec.EventStream && !dialect.HasContentCoding(r) {
		p.findDataLine(r.Body)
		p.tripped = len(r.Body)-p.dataLine > p.maxEventBytes+maxReadAhead
	}
	return p.tripped || p.next != nil && p.next(r)
}

// findDataLine records where the last line of data began; in comments anything may stand. Each
// byte is searched once, except the last ones, which may be the beginning of the field name.
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

// finalTrace is what was recorded, without exchanges that never were.
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

// DuringStream sends a request during a stream, once some of it was heard, and hears the
// stream out.
func (t *Conversation) DuringStream(stream spec.Request, frames int, request func()) {
	started := make(chan struct{})
	var once sync.Once
	start := func() { once.Do(func() { close(started) }) }
	over := make(chan struct{})
	seen, data := 0, []byte("data:")
	go func() {
		defer close(over)
		defer start()
		t.send(stream, wire.StopWhen{Until: func(r spec.Response) bool {
			for frames > 0 && seen < len(r.Body) {
				i := bytes.Index(r.Body[seen:], data)
				if i < 0 {
					seen = max(seen, len(r.Body)-len(data)+1)
					break
				}
				seen += i + len(data)
				frames--
			}
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

// withNewIDs gives a request ids that were not used before, so that it can be asked
// again.
func (t *Conversation) withNewIDs(r spec.Request) spec.Request {
	for _, old := range []string{t.Thread, t.Run} {
		if old == "" {
			continue
		}
		id := t.newID()
		r.Body = bytes.ReplaceAll(r.Body, []byte(old), []byte(id))
		r.Target = strings.ReplaceAll(r.Target, old, id)
	}
	return r
}

// newID is a fresh uuid (version 4).
func (t *Conversation) newID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, b := t.rng.Uint64(), t.rng.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%x%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, 8+b>>62, b>>48&0xfff, b&0xffffffffffff)
}
