package suites

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Limits are the limits on the time and size of responses, and on the time of the whole test run. A
// response that exceeds a limit leads to a finding. A zero field selects the default.
type Limits struct {
	// IdleTimeout is the maximum time for which a response may send nothing. The default is
	// [DefaultIdleTimeout] or Target.Timeout, whichever is shorter.
	IdleTimeout time.Duration
	RunTimeout  time.Duration // maximum duration of the whole test run; default: no limit
	RunElapsed  time.Duration // part of RunTimeout that has already passed, in the test runs of other dialects or rounds
	// MaxBytes is the maximum size of one response body in bytes; default: 64 MiB. The limit on the
	// total size of all streams is four times MaxBytes, but at least 256 MiB. The same limit
	// applies to the total size of all other responses.
	MaxBytes int
	// MaxEvents is the maximum number of events of one stream, including comments; default:
	// 200,000. The limit on the total number of events of all streams is ten times MaxEvents, but at
	// least 2,000,000, because some servers send each character in an event of its own.
	MaxEvents int
}

// The defaults of Target.Parallel and Target.Timeout, and of the fields of [Limits].
const (
	DefaultParallel    = 16                       // number of scenarios that are played at the same time
	DefaultTimeout     = 30 * time.Second         // maximum duration of one exchange
	DefaultIdleTimeout = 15 * time.Second         // maximum time for which a response may send nothing
	DefaultMaxBytes    = wire.DefaultMaxBodyBytes // maximum size of one response body in bytes
	DefaultMaxEvents   = wire.DefaultMaxEvents    // maximum number of events of one stream
)

// withDefaults returns a copy of l in which the fields IdleTimeout, MaxBytes and MaxEvents, if they
// are zero, are replaced by their defaults. The default of IdleTimeout is at most timeout, the
// maximum duration of one exchange.
func (l Limits) withDefaults(timeout time.Duration) Limits {
	l.IdleTimeout = cmp.Or(l.IdleTimeout, min(DefaultIdleTimeout, timeout))
	l.MaxBytes, l.MaxEvents = cmp.Or(l.MaxBytes, DefaultMaxBytes), cmp.Or(l.MaxEvents, DefaultMaxEvents)
	return l
}

// validate returns an error if a limit is negative, and nil otherwise.
func (l Limits) validate() error {
	if l.IdleTimeout < 0 || l.RunTimeout < 0 || l.MaxBytes < 0 || l.MaxEvents < 0 {
		return errors.New("a limit is negative (0 for the default)")
	}
	return nil
}

// maxLargeConversations is the number of conversations that may have more than 1 MiB of response
// bodies in memory at the same time.
const maxLargeConversations = 1

// maxOverruns is the number of responses of one kind (streams or other replies) that must exceed a
// limit before the client sends no more requests for that kind. The client continues, however, if
// at least half of the responses of that kind were within the limits.
const maxOverruns = 2

// Limits on the totals of all streams, and of all other responses, as multiples of the limit on one
// response or of its default, whichever is larger. After a total exceeds its limit, the client
// sends no more requests for that kind of response. These limits bound the duration of a test run
// against a server whose responses are all slightly below the limits on one response.
const (
	fullSizedStreams   = 10 // limit on the total number of events, as a multiple of Limits.MaxEvents
	fullSizedResponses = 4  // limit on the total number of bytes, as a multiple of Limits.MaxBytes
)

// A sharedRunState contains the state that all conversations of a test run share: limits on memory
// and on the total size of responses, and observations about the server.
type sharedRunState struct {
	memory   *wire.MemoryLimiter
	budgets  map[bool]*responseSizeBudget // true: budget of event streams; false: budget of all other responses
	judgeCtx context.Context              // evaluations stop when it is done

	historyMissing atomic.Bool  // a conversation has waited for a history that did not appear in time
	leavesOpen     atomic.Bool  // a stream stayed open after the end of its run
	acceptsRuns    atomic.Bool  // the server accepted a request for a run or for a stream
	busyRefusals   atomic.Int64 // number of requests that were still refused, with 429 or 503, at their last repetition

	streams streamSlots // counts the open streams of the user
}

// A responseSizeBudget adds up the sizes of the responses of one kind, streams or other replies,
// and decides when to stop sending requests for that kind. Its methods may be called concurrently.
type responseSizeBudget struct {
	kind    string                  // "stream" or "reply"
	max     responseVolume          // limit on the total size of all responses of the kind
	stopped context.Context         // done when no more requests for the kind are to be sent
	stop    context.CancelCauseFunc // cancels stopped

	mu                     sync.Mutex
	withinLimit, overLimit int            // numbers of responses that exceeded no limit, and that exceeded one
	total                  responseVolume // total size of all responses of the kind so far
}

// A responseVolume is the total number of events and bytes in one or more responses, after removal
// of content codings.
type responseVolume struct{ events, bytes int }

// newRunResources returns the shared state of a new test run. The argument l contains the limits on
// one response, and streamLimit is the number of streams that a user may have open at the same
// time, or 0 if that is unknown.
func newRunResources(l Limits, streamLimit int) *sharedRunState {
	b := &sharedRunState{
		memory:  wire.NewMemoryLimiter(maxLargeConversations, l.MaxBytes),
		budgets: map[bool]*responseSizeBudget{}, judgeCtx: context.Background(),
		streams: streamSlots{limit: streamLimit, isKnown: streamLimit > 0},
	}
	for streams, kind := range map[bool]string{true: "stream", false: "reply"} {
		e := &responseSizeBudget{kind: kind, max: responseVolume{
			events: fullSizedStreams * max(DefaultMaxEvents, l.MaxEvents),
			bytes:  fullSizedResponses * max(DefaultMaxBytes, l.MaxBytes),
		}}
		e.stopped, e.stop = context.WithCancelCause(context.Background())
		b.budgets[streams] = e
	}
	return b
}

// A requestsStoppedError is the reason why no more requests for one kind of response are sent.
// Either too many responses of that kind exceeded a limit, or their total size was too large.
type requestsStoppedError struct {
	kind       string         // "stream" or "reply"
	overruns   int            // number of responses that exceeded a limit
	last       error          // error of the last response that exceeded a limit; nil if total exceeds max
	total, max responseVolume // total size of all responses of the kind, and its limit; zero if last is not nil
}

func (g requestsStoppedError) Error() string {
	plural := map[string]string{"stream": "streams", "reply": "replies"}[g.kind]
	how := spec.DescribeOverrun(g.last)
	if large, is := errors.AsType[eventTooLargeError](g.last); is {
		how = large.Error()
	}
	switch {
	case g.last != nil:
		return fmt.Sprintf("no more %s were requested: %d exceeded a limit, and the last one %s", plural, g.overruns, how)
	case g.total.events > g.max.events:
		return fmt.Sprintf(
			"no more %s were requested: they had %d events together, more than %d (see --max-events)",
			plural, g.total.events, g.max.events)
	}
	return fmt.Sprintf(
		"no more %s were requested: they had %d bytes together, more than %d (see --max-bytes)",
		plural, g.total.bytes, g.max.bytes)
}

// record adds a response of the given size to the totals of the budget. The argument end is the
// error with which the response ended, or nil. If a total is now too large, or too many responses
// have exceeded a limit, stopCause returns an error from then on.
func (e *responseSizeBudget) record(end error, size responseVolume) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total.events, e.total.bytes = e.total.events+size.events, e.total.bytes+size.bytes
	if e.total.events > e.max.events || e.total.bytes > e.max.bytes {
		e.stop(requestsStoppedError{kind: e.kind, total: e.total, max: e.max})
	}
	_, large := errors.AsType[eventTooLargeError](end)
	if !large && !isOverLimit(end) {
		e.withinLimit++
		return
	}
	if e.overLimit++; e.overLimit >= maxOverruns && e.overLimit > e.withinLimit {
		e.stop(requestsStoppedError{kind: e.kind, overruns: e.overLimit, last: end})
	}
}

// overrunText returns the message and the advice for c, a cause of the kind [symptomEventTooLarge]
// or [symptomNotEnded]. The argument t is the target that sent the stream.
func (c Cause) overrunText(t Target) (message, advice string) {
	o := c.exchange
	if c.Kind == symptomEventTooLarge {
		limit := printable.Bytes(cmp.Or(t.MaxEventBytes, dialect.MaxEventBytes))
		return fmt.Sprintf("the first event of %s has more than %s, the limit of --max-event", o.operation, limit),
			"if events may be that large, raise --max-event of streamassay run or lint"
	}
	overrun, advice := spec.DescribeOverrun(o.end), "end the stream when the run has ended"
	_, flag, _ := strings.Cut(overrun, ", the limit of ")
	switch {
	case errors.Is(o.end, spec.ErrIdleTimeout):
		flag = "--idle-timeout"
	case strings.HasPrefix(overrun, "had not ended"):
		flag = "--timeout"
	}
	if flag != "" {
		advice = fmt.Sprintf("if runs need more than that, raise %s; if not, %s", flag, advice)
	}
	return fmt.Sprintf("the stream of %s in scenario %s %s", o.operation, c.Scenario, overrun), advice
}

// An eventTooLargeError is the reason why the client stopped reading a stream with an event that
// was too large. Its value is the limit that the event exceeded, in bytes. Checks judge the
// received part of the stream.
type eventTooLargeError int

func (e eventTooLargeError) Error() string {
	return fmt.Sprintf("sent an event of more than %s, the limit of --max-event", printable.Bytes(int(e)))
}

// isOverLimit reports whether end, the error with which a response ended, means that the response
// exceeded a limit of time or size. It returns false if end is nil.
func isOverLimit(end error) bool {
	return errors.Is(end, spec.ErrIdleTimeout) || errors.Is(end, spec.ErrLimitExceeded)
}

// stopCause returns the reason why no more requests for the budget's kind of response are to be
// sent, or nil if such requests may be sent.
func (e *responseSizeBudget) stopCause() error { return context.Cause(e.stopped) }

// withContext returns a copy of parent that is also done when no more requests for the budget's
// kind of response are to be sent. Its cause is then the result of [responseSizeBudget.stopCause].
// The caller must call stop when the request is done.
func (e *responseSizeBudget) withContext(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	unlink := context.AfterFunc(e.stopped, func() { cancel(context.Cause(e.stopped)) })
	return ctx, func() { unlink(); cancel(nil) }
}

// A suiteTimeoutError is the cause of a context that was cancelled because the test run exceeded
// [Limits.RunTimeout]. The field limit is the value of RunTimeout.
type suiteTimeoutError struct{ limit time.Duration }

func (e suiteTimeoutError) Error() string {
	return fmt.Sprintf("the run was stopped after %v (--max-time)", e.limit)
}

// IsRunTimeout reports whether err, such as a [ScenarioResult.IncompleteReason], means that the
// test run was stopped because it exceeded [Limits.RunTimeout].
func IsRunTimeout(err error) bool {
	_, ok := errors.AsType[suiteTimeoutError](err)
	return ok
}
