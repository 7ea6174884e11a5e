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

// A Conversation sends the requests of one scenario and records the exchanges. After an error,
// after a response that exceeded a limit, or after the end of the context, its methods send nothing
// more. Only [Conversation.Send], [Conversation.Sleep] and [Conversation.NewID] may be called
// concurrently with other methods.
type Conversation struct {
	Thread string // id of the current thread, to which requests belong; a new thread at the start of a scenario
	Run    string // id of the current run, which is the last one started; "" before the first run

	ctx         context.Context
	target      *Target
	dialect     *dialect.Dialect
	clients     map[spec.Principal]*wire.Client
	rng         *rand.Rand
	accepted    bool                            // set by StartRun: the server accepted its request
	acceptedAny bool                            // the server accepted a request of StartRun
	conflicts   int                             // how often StartRun has repeated a request
	busyError   error                           // why the conversation is incomplete if the server was busy; see StartRun
	form        func(spec.Request) spec.Request // rewrites each request, if the result is valid; nil: no rewriting

	mu           sync.Mutex // guards the fields below: exchanges may overlap
	trace        spec.Trace
	err          error                    // why the conversation failed, so that nothing more is sent; nil if it did not
	limitReached bool                     // a response exceeded a limit, so no more requests are sent
	largeDecoded bool                     // a body is larger than maxRetained after removal of its content coding
	judgesForm   bool                     // only the form of the replies is judged, not what they say
	concurrent   bool                     // other conversations may have streams open at the same time
	abortCause   error                    // why the client stopped sending requests; nil if it did not
	turns        map[string][]historyTurn // by thread id: the messages that requests repeat; see remember
	unread       []spec.Exchange          // exchanges whose messages are not yet in turns
}

// PromptEvent returns an event whose Text is the prompt of the scenario with the given name, for
// use with [Conversation.SendAndRead]. The prompt asks the agent to do what the scenario needs. The
// argument args holds the arguments of a conformance prompt, separated by spaces: for the scenario
// "slow" and the args "8 80", the Text is "conformance:slow 8 80". Natural prompts, and those in
// [Target.PromptOverrides], have no arguments; for these, args is ignored.
func (t *Conversation) PromptEvent(scenario, args string) spec.Event {
	return spec.Event{Text: t.target.promptText(scenario, args)}
}

// StartRun gives the conversation a new run id, sends the request of the template, with the values
// in e in place of its placeholders, and reads the response to its end. It reports whether the
// status of the response is a success (2xx). If the server refuses the request but may accept it
// later (see [Conversation.mayRepeat]), StartRun tries once more, with a new run id. If the server
// was busy the first time and still is, checks do not judge the second refusal, but the
// conversation counts as incomplete.
func (t *Conversation) StartRun(template string, e spec.Event) bool {
	t.Run = t.NewID()
	t.accepted = t.SendTemplate(template, e)
	if !t.accepted && t.mayRepeat() && t.Sleep(conflictDelay) {
		wasBusy := isBusyStatus(t.lastStatus())
		t.conflicts++
		t.Run = t.NewID()
		t.accepted = t.SendTemplate(template, e)
		if status := t.lastStatus(); !t.accepted && wasBusy && isBusyStatus(status) {
			t.target.resources.busyRefusals.Add(1)
			t.busyError = busyError(status)
		}
	}
	t.acceptedAny = t.acceptedAny || t.accepted
	return t.accepted
}

// mayRepeat reports whether StartRun repeats the last request, which the server refused. It does if
// the status is 409 (Conflict), because the server may still be finishing the previous run of the
// thread, or if the server is busy but has accepted an earlier request of the conversation. It
// returns false once the limit [maxConflicts] or, if the server is busy, [maxBusyRefusals] is
// reached.
func (t *Conversation) mayRepeat() bool {
	status := t.lastStatus()
	isBusy := isBusyStatus(status) && t.acceptedAny && t.target.resources.busyRefusals.Load() < maxBusyRefusals
	return t.conflicts < maxConflicts && (isBusy || status == http.StatusConflict)
}

// lastStatus returns the status of the last response, or 0 if there was none.
func (t *Conversation) lastStatus() int { return t.LastEvent(spec.HTTPResponse).StatusCode }

// conflictDelay is how long StartRun waits before it repeats a request that was refused with status
// 409, 429 or 503. It is longer than the time after the end of a run for which checks tolerate such
// a refusal.
const conflictDelay = 300 * time.Millisecond

// Limits on how often requests are repeated, so that a server that refuses all requests does
// not delay the run for long.
const (
	maxConflicts = 4 // repetitions in one conversation

	// maxStreamRepetitions is how often readWhenFree repeats a request, with pauses that add up to 15
	// times [conflictDelay]. That is about as long as a server may take to notice a closed connection.
	maxStreamRepetitions = 4

	// maxBusyRefusals is how many repetitions, in all conversations together, the server may refuse
	// because it is busy (see isBusyStatus). After that, busy refusals are not repeated.
	maxBusyRefusals = 16
)

// isBusyStatus reports whether status is one with which a server may refuse any request because it
// is busy: 429 (Too Many Requests) or 503 (Service Unavailable).
func isBusyStatus(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// A busyError is the reason why a conversation is incomplete if the server refused valid requests
// with a status for which [isBusyStatus] returns true. Its value is that status.
type busyError int

func (e busyError) Error() string {
	return fmt.Sprintf("the server refused valid requests with status %d", int(e))
}

// IsInconclusive reports whether err, a [ScenarioResult.IncompleteReason], means that the run
// cannot show that the server is correct. This is the case if the run reached [Limits.RunTimeout]
// or a limit on all responses together, or if the server was too busy.
func IsInconclusive(err error) bool {
	_, isBusy := errors.AsType[busyError](err)
	_, isLimit := errors.AsType[limitStopError](err)
	return IsRunTimeout(err) || isLimit || isBusy
}

// SendTemplate sends the request of the template, with the values in e in place of its
// placeholders, in the same way as [Conversation.Send]. It reports whether the status of the
// response is a success (2xx). The current thread and run stay the same.
func (t *Conversation) SendTemplate(template string, e spec.Event) bool {
	return t.Send(t.BuildRequest(template, e))
}

// Send sends a request with the credentials of r.Principal, reads the response to its end and
// records the exchange. It reports whether the status of the response is a success (2xx). If the
// conversation has failed or was stopped, Send sends nothing and returns false.
func (t *Conversation) Send(r spec.Request) bool { return t.send(r, wire.StopWhen{}) }

// HasTemplate reports whether the dialect has the template with the given name.
func (t *Conversation) HasTemplate(template string) bool {
	_, ok := t.dialect.TemplateOperation(template)
	return ok
}

// Sleep waits for the duration d and returns true. If the context of the conversation ends first,
// Sleep stops waiting and returns false. If the conversation sends nothing more anyway, Sleep
// returns false without waiting.
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

// ReadStream requests the stream of the current run after the given cursor, or from its beginning
// if cursor is "". It closes the connection after the given number of events; 0 means to read to
// the end. The exchange is recorded.
func (t *Conversation) ReadStream(cursor string, events int) {
	t.readStream(cursor, wire.StopWhen{Frames: events})
}

// readStream is like [Conversation.ReadStream], but stops reading as soon as a condition in limit is
// met. The function limit.Until must be nil.
func (t *Conversation) readStream(cursor string, limit wire.StopWhen) {
	r := t.BuildRequest("listen", spec.Event{Cursor: cursor})
	if i, ok := t.beginExchange(r); ok {
		t.readWhenFree(i, r, func() wire.StopWhen { return limit })
	}
}

// readWhenFree sends r, a request for an event stream, and records the response in the exchange with
// the index i, which beginExchange returned. If the status is 429 (Too Many Requests), it repeats
// the request up to [maxStreamRepetitions] times, with growing pauses, because the server may not
// have noticed yet that the client has closed earlier streams. It calls limit before each request to
// get the conditions under which the client stops reading.
func (t *Conversation) readWhenFree(i int, r spec.Request, limit func() wire.StopWhen) {
	pause := conflictDelay
	for n := 0; ; n++ {
		t.completeExchange(i, t.clients[r.Principal], r, r.Target, limit())
		if !t.isAtStreamLimit(i) {
			return
		}
		if n == maxStreamRepetitions || t.target.resources.busyRefusals.Load() >= maxBusyRefusals {
			break
		}
		ok := t.Sleep(pause)
		if ok {
			i, ok = t.beginExchange(r)
		}
		if !ok {
			return
		}
		pause *= 2
	}
	t.target.resources.busyRefusals.Add(1)
}

// isAtStreamLimit reports whether the server refused the request of the exchange with the index i
// with status 429 (Too Many Requests), although it has accepted a run of the conversation.
func (t *Conversation) isAtStreamLimit(i int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.acceptedAny && t.trace.Exchanges[i].Response.Status == http.StatusTooManyRequests
}

// SendAndRead starts a run with the request of the template, with the values in e in place of its
// placeholders, and reads the stream of the run to its end. In some dialects, the response to the
// request is the stream. In the others, SendAndRead requests the stream afterwards, but only if the
// server accepts the first request.
func (t *Conversation) SendAndRead(template string, e spec.Event) {
	if t.StartRun(template, e) && !t.respondsWithStream(template) {
		t.ReadStream("", 0)
	}
}

// respondsWithStream reports whether the response to the request of the template is itself the
// event stream of the run. It returns false if the dialect does not have the template.
func (t *Conversation) respondsWithStream(template string) bool {
	o, ok := t.dialect.TemplateOperation(template)
	return ok && o.IsStream
}

// BuildRequest returns the request of the template, with the values in e in place of its
// placeholders, and does not send it. The request is for the current run and, unless e.Thread names
// another thread, for the current thread. If the request cannot be built, the conversation fails
// and sends nothing more.
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

// keepAlive makes all requests of the conversation reuse connections. It must be called before
// anything is sent.
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

// fail ends the conversation with err, so that nothing more is sent. If the conversation has failed
// before, fail does nothing.
func (t *Conversation) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}

// LastEvent returns the last event of kind k in the response of the last exchange. The parts of an
// event, such as the messages of a history, count as events, too. LastEvent returns the zero event
// if the response contains no event of that kind.
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
// the events. Events without a cursor are left out.
func (t *Conversation) Cursors() (all []string) {
	for e := range t.Events(1) {
		if e.IsFrame() && e.Cursor != "" {
			all = append(all, e.Cursor)
		}
	}
	return all
}

// Events returns an iterator over the events of the last n exchanges, or of all exchanges if there
// are fewer, in the order in which the requests were sent. As in [dialect.Dialect.Contents],
// responses are not validated. Once a response has exceeded a limit, the iterator yields nothing,
// because the conversation sends no more requests that could depend on the events.
func (t *Conversation) Events(n int) iter.Seq[spec.Event] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limitReached { // nothing depends on the events any more, and decoding them would be expensive
		return func(func(spec.Event) bool) {}
	}
	all := t.trace.Exchanges
	return spec.UntilDone(t.ctx, t.dialect.Contents(spec.Trace{Exchanges: slices.Clone(all[max(0, len(all)-n):])}))
}

// send sends r, reads the response and records the exchange, as [Conversation.Send] does, but stops
// reading as soon as a condition in limit is met. It reports whether the status of the response is
// a success (2xx).
func (t *Conversation) send(r spec.Request, limit wire.StopWhen) bool {
	return t.doExchange(t.clients[r.Principal], r, r.Target, limit)
}

// finalTrace returns the recording of the conversation, with the facts about the target that the
// checks need. Exchanges with neither a response nor an error are left out. All exchanges must have
// ended before the call.
func (t *Conversation) finalTrace() spec.Trace {
	t.trace.Exchanges = slices.DeleteFunc(t.trace.Exchanges, func(x spec.Exchange) bool {
		return x.Response.Status == 0 && x.Response.End == nil
	})
	t.trace.Scripted, t.trace.StreamLimit = t.target.isScripted, t.target.StreamLimit
	if t.judgesForm {
		t.trace.Scripted = false
	}
	if t.concurrent {
		t.trace.StreamLimit = 0
	}
	return truncateTimes(t.trace)
}

// DuringStream sends stream, a request for an event stream, and reads the response to its end. In
// the meantime it calls the function request once, as soon as the given number of frames with data
// has arrived or the response has ended. DuringStream returns when both the response and the call
// have ended.
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

// withNewIDs returns a copy of r in which new ids replace those of the current thread and run, so
// that the server treats the copy as a different request. The current thread and run stay the same.
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

// NewID returns a new random UUID (version 4), for use as the id of a thread or run. The seed of
// the conversation determines the sequence of ids.
func (t *Conversation) NewID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, b := t.rng.Uint64(), t.rng.Uint64()
	return fmt.Sprintf(
		"%08x-%04x-4%03x-%x%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, 8+b>>62, b>>48&0xfff, b&0xffffffffffff)
}
