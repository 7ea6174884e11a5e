package suites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Conversation sends the requests of one scenario and records the exchanges. It ends when an
// error occurs, a response exceeds a limit, or the context is done; its methods then send no more
// requests. Only [Conversation.Send], [Conversation.Sleep] and [Conversation.NewID] may be called
// concurrently with other methods.
//
// Methods with a parameter template build a request from the dialect's template of that name. The
// fields of the event e are the values for the placeholders of the template.
type Conversation struct {
	Thread string // id of the current thread; each scenario starts with a new thread
	Run    string // id of the current run, which is the last one started; "" before the first run

	ctx         context.Context
	target      *Target
	dialect     *dialect.Dialect
	clients     map[spec.Principal]*wire.Client
	rng         *rand.Rand
	accepted    bool                            // the server accepted the last request of StartRun
	acceptedAny bool                            // the server accepted at least one request of StartRun
	conflicts   int                             // number of requests that StartRun has repeated
	testsLimit  bool                            // requests may exceed the stream limit, so refused ones are not repeated
	idPrefix    string                          // beginning of the results of NewID
	form        func(spec.Request) spec.Request // rewrites each request for which the result is valid; nil: no rewriting

	mu           sync.Mutex // guards the fields below: exchanges may overlap
	trace        spec.Trace
	err          error                    // the error that ended the conversation; nil if there was none
	busyError    error                    // not nil if the server was busy until the last repetition of a request
	limitReached bool                     // a response exceeded a limit, which ended the conversation
	largeDecoded bool                     // a body is larger than maxRetained after removal of its content coding
	judgesForm   bool                     // checks judge only the form of the replies, not their content
	concurrent   bool                     // other conversations may have streams open at the same time
	abortCause   error                    // the reason why the conversation was stopped; nil if it was not
	turns        map[string][]historyTurn // by thread id: the messages that requests repeat; see remember
	unread       []spec.Exchange          // exchanges whose messages are not in turns yet
}

// PromptEvent returns an event whose Text is the prompt for the scenario with the given name. A
// test prompt (see docs/prompts.md) ends with args: for the scenario "slow" and the args "8 80",
// Text is "conformance:slow 8 80". PromptEvent ignores args for test prompts without arguments, for
// prompts in [Target.PromptOverrides] and if the style of the prompts is [NaturalPrompts].
func (t *Conversation) PromptEvent(scenario, args string) spec.Event {
	return spec.Event{Text: t.target.promptText(scenario, args)}
}

// StartRun sets t.Run to a new id, sends the request that [Conversation.BuildRequest] returns for
// the same arguments, and reads the response to its end. If the server refuses the request because
// of a conflict (status 409), StartRun may repeat the request once, with a new run id. StartRun
// reports whether the last response is successful (status 2xx).
func (t *Conversation) StartRun(template string, e spec.Event) bool {
	t.Run = t.NewID()
	t.accepted = t.SendTemplate(template, e)
	// The server may not have finished the previous run of the thread yet.
	isConflict := !t.accepted && t.lastStatus() == http.StatusConflict
	if isConflict && t.conflicts < maxConflicts && t.Sleep(conflictDelay) {
		t.conflicts++
		t.Run = t.NewID()
		t.accepted = t.SendTemplate(template, e)
	}
	t.acceptedAny = t.acceptedAny || t.accepted
	return t.accepted
}

// lastStatus returns the status of the last response, or 0 if there was none.
func (t *Conversation) lastStatus() int { return t.LastEvent(spec.HTTPResponse).StatusCode }

// conflictDelay is the time after which the client repeats a request that the server refused with
// status 409, 429 or 503. It is longer than the time after the end of a run during which checks
// allow such a refusal.
const conflictDelay = 300 * time.Millisecond

// maxConflicts is the maximum number of requests that StartRun repeats in one conversation. Without
// it, a server that refuses all requests would delay the test run for long.
const maxConflicts = 4

// IsInconclusive reports whether err, a [ScenarioResult.IncompleteReason], means that the test run
// cannot show that the server is correct. This is the case if the run reached [Limits.RunTimeout],
// if too many responses exceeded a limit, or if the server was too busy.
func IsInconclusive(err error) bool {
	_, isBusy := errors.AsType[busyError](err)
	_, isLimit := errors.AsType[requestsStoppedError](err)
	return IsRunTimeout(err) || isLimit || isBusy
}

// SendTemplate sends the request that [Conversation.BuildRequest] returns for the same arguments,
// in the same way as [Conversation.Send], and returns the result of Send. It does not change the
// current thread and run.
func (t *Conversation) SendTemplate(template string, e spec.Event) bool {
	return t.Send(t.BuildRequest(template, e))
}

// Send sends a request with the credentials of r.Principal, reads the response to its end and
// records the exchange. It reports whether the response is successful (status 2xx). If the
// conversation has ended, Send sends nothing and returns false.
func (t *Conversation) Send(r spec.Request) bool { return t.send(r, wire.StopWhen{}) }

// HasTemplate reports whether the dialect has the template with the given name.
func (t *Conversation) HasTemplate(template string) bool {
	_, ok := t.dialect.TemplateOperation(template)
	return ok
}

// Sleep waits for the duration d and returns true. If the context of the conversation is done
// before that, Sleep returns false. If the conversation has already ended, Sleep returns false
// without waiting.
func (t *Conversation) Sleep(d time.Duration) bool {
	t.mu.Lock()
	ended := t.hasEnded()
	t.mu.Unlock()
	if ended {
		return false
	}
	select {
	case <-t.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// ReadStream requests the stream of the current run, after the given cursor or, if cursor is "",
// from the beginning. It reads the given number of events and then closes the connection; if events
// is 0, it reads the stream to its end. If cursors are sent as SSE ids and none of the events has
// one, it reads on until an event with an id, because not every event needs one. It records the
// exchange.
func (t *Conversation) ReadStream(cursor string, events int) {
	o, ok := t.dialect.TemplateOperation("listen")
	t.readStream(cursor, wire.StopWhen{Frames: events, WithID: ok && o.CursorIsID()})
}

// readStream is like [Conversation.ReadStream], but reads until a condition in limit is met, not
// until it has read a number of events.
func (t *Conversation) readStream(cursor string, limit wire.StopWhen) {
	t.send(t.BuildRequest("listen", spec.Event{Cursor: cursor}), limit)
}

// SendAndRead starts a run in the same way as [Conversation.StartRun] and reads the stream of the
// run to its end. If the response to the request is not the stream, and the server accepts the
// request, SendAndRead requests the stream separately.
func (t *Conversation) SendAndRead(template string, e spec.Event) {
	if t.StartRun(template, e) && !t.respondsWithStream(template) {
		t.ReadStream("", 0)
	}
}

// respondsWithStream reports whether the response to a request of the template with the given name
// is the event stream of the run. It returns false if the dialect does not have the template.
func (t *Conversation) respondsWithStream(template string) bool {
	o, ok := t.dialect.TemplateOperation(template)
	return ok && o.IsStream
}

// BuildRequest builds a request from the template with the given name, with the fields of e as the
// values of its placeholders. The request is for the current run, and for the thread e.Thread or,
// if that is "", the current thread. If the dialect does not have the template, the conversation
// ends with an error.
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

// keepAlive makes the conversation reuse connections. It must be called before the first request.
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

// fail ends the conversation with err. If the conversation has already failed, fail does nothing.
func (t *Conversation) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}

// LastEvent returns the last event of kind k in the response of the last exchange. It also finds
// parts of events, such as the messages of a history. LastEvent returns the zero event if there is
// no event of that kind.
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

// Cursors returns the cursors of the events in the response of the last exchange, in the order of
// the events. Events without a cursor are omitted.
func (t *Conversation) Cursors() (all []string) {
	for e := range t.Events(1) {
		if e.IsFrame() && e.Cursor != "" {
			all = append(all, e.Cursor)
		}
	}
	return all
}

// Events returns an iterator over the events of the last n exchanges, or of all exchanges if there
// are fewer, in the order of the requests. The events are not validated; see
// [dialect.Dialect.Contents]. Events returns an empty iterator if a response has exceeded a limit.
func (t *Conversation) Events(n int) iter.Seq[spec.Event] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limitReached { // nothing depends on the events any more, and decoding them would be expensive
		return func(func(spec.Event) bool) {}
	}
	all := t.trace.Exchanges
	return spec.UntilDone(t.ctx, t.dialect.Contents(spec.Trace{Exchanges: slices.Clone(all[max(0, len(all)-n):])}))
}

// send is like [Conversation.Send], but stops reading the response when a condition in limit is
// met.
func (t *Conversation) send(r spec.Request, limit wire.StopWhen) bool {
	return t.doExchange(t.clients[r.Principal], r, r.Target, limit)
}

// finalTrace returns the recording of the conversation, with the properties of the target that
// checks need. It omits exchanges with neither a response nor an error. All exchanges must have
// ended.
func (t *Conversation) finalTrace() spec.Trace {
	t.trace.Exchanges = slices.DeleteFunc(t.trace.Exchanges, func(x spec.Exchange) bool {
		return x.Response.Status == 0 && x.Response.End == nil
	})
	t.trace.TargetFacts = spec.TargetFacts{
		Scripted: t.target.isScripted, StreamLimit: t.target.StreamLimit, NoReplay: t.target.noReplay,
		LackedCapabilities: t.target.LackedCapabilities,
	}
	if t.judgesForm {
		t.trace.Scripted = false
	}
	if t.concurrent {
		t.trace.StreamLimit = 0
	}
	return truncateTimes(t.trace)
}

// DuringStream sends stream, a request for an event stream, and reads the response to its end. When
// the given number of frames with data has arrived, or the response has ended, it calls request
// once. DuringStream returns when both the response and the call have ended.
func (t *Conversation) DuringStream(stream spec.Request, frames int, request func()) {
	started := make(chan struct{})
	var once sync.Once
	start := func() { once.Do(func() { close(started) }) }
	over := make(chan struct{})
	seen, events := 0, 0
	var split sse.FrameSplitter
	go func() {
		defer close(over)
		defer start()
		t.send(stream, wire.StopWhen{Until: func(r spec.Response) bool {
			for frame := range split.Split(r.Body[seen:]) {
				if _, ok := sse.FindField(frame, "data"); ok {
					events++
				}
			}
			seen = len(r.Body)
			if events >= frames {
				start()
			}
			return false
		}})
	}()
	<-started
	request()
	<-over
}

// withNewIDs returns a copy of r in which new ids replace those of the current thread and run, so
// that the server treats the copy as a different request. It does not change t.Thread and t.Run.
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

// NewID returns a new id for a thread or run: t.idPrefix and a random UUID (version 4). The seed of
// the conversation determines the sequence of ids.
func (t *Conversation) NewID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, b := t.rng.Uint64(), t.rng.Uint64()
	return t.idPrefix + fmt.Sprintf(
		"%08x-%04x-4%03x-%x%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, 8+b>>62, b>>48&0xfff, b&0xffffffffffff)
}
