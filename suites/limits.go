package suites

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// Limits bound the time and the size of responses, and the time of the whole run. A response that
// exceeds a limit leads to a finding. A field that is zero selects the default of its limit.
type Limits struct {
	// IdleTimeout is how long a response may send nothing. The default is [DefaultIdleTimeout], but
	// at most Target.Timeout.
	IdleTimeout time.Duration
	RunTimeout  time.Duration // how long the whole run may take; the default is no limit
	// MaxBytes is the maximum size of one response body in bytes; the default is 64 MiB. All streams
	// together may have four times that size, or 256 MiB if that is more. The same limit applies to
	// all other responses together.
	MaxBytes int
	// MaxEvents is the maximum number of events of one stream, comments included; the default is
	// 200,000. All streams together may have twice that number, or 400,000 if that is more.
	MaxEvents int
}

// The defaults of Target.Parallel and Target.Timeout, and of the limits on one response in
// [Limits].
const (
	DefaultParallel    = 16                       // scenarios that are played at the same time
	DefaultTimeout     = 30 * time.Second         // duration of one exchange
	DefaultIdleTimeout = 15 * time.Second         // how long a response may send nothing
	DefaultMaxBytes    = wire.DefaultMaxBodyBytes // bytes of one response body
	DefaultMaxEvents   = wire.DefaultMaxEvents    // events of one stream
)

// withDefaults returns a copy of l with defaults in place of the fields IdleTimeout, MaxBytes and
// MaxEvents that are zero. The default idle timeout is not longer than timeout, which is the time
// limit of one exchange.
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

// maxLargeConversations is the maximum number of conversations that may hold bodies of the largest
// allowed size in memory at the same time.
const maxLargeConversations = 1

// maxOverruns is how many responses of one kind, streams or other replies, must exceed a limit
// before the client stops sending requests for that kind. Even then, the client goes on as long as
// at least as many responses of that kind have stayed within the limits as have exceeded one.
const maxOverruns = 2

// Limits on all streams together, and on all other responses together, as multiples of the limit on
// one response or of its default, whichever is larger. Once one of them is exceeded, no more
// requests for that kind of response are sent. Otherwise, a server whose responses all stay just
// below the limits would take too long to test.
const (
	fullSizedStreams   = 2 // limit on the total number of events, as a multiple of Limits.MaxEvents
	fullSizedResponses = 4 // limit on the total number of bytes, as a multiple of Limits.MaxBytes
)

// A sharedRunState holds what all conversations of a run share: the limits on the memory for
// recorded responses and on the total bytes and events of all responses, and what some of the
// conversations have shown about the server.
type sharedRunState struct {
	memory   *wire.MemoryLimiter
	trackers map[bool]*limitTracker // true: of event streams; false: of all other responses
	judgeCtx context.Context        // evaluations stop when it ends

	historyMissing atomic.Bool  // a history that was requested repeatedly did not appear in time
	leavesOpen     atomic.Bool  // a stream stayed open after the end of its run
	busyRefusals   atomic.Int64 // number of requests that were repeated because the server was busy, and refused again

	openStreams chan struct{} // has an element for each stream that the user has open; nil if there is no known limit
}

// A limitTracker adds up the sizes of the responses of one kind, streams or other replies, and
// decides when no more requests for that kind are sent. Its methods may be called concurrently.
type limitTracker struct {
	kind    string                  // "stream" or "reply"
	max     responseVolume          // limit on all responses of the kind together
	stopped context.Context         // ends when no more requests for the kind are to be sent
	stop    context.CancelCauseFunc // ends stopped

	mu                     sync.Mutex
	withinLimit, overLimit int            // number of responses within all limits, and number of the others
	total                  responseVolume // of all responses of the kind so far
}

// A responseVolume holds the total number of events and of bytes in one or more responses, after
// removal of content codings.
type responseVolume struct{ events, bytes int }

// newRunResources returns the state that the conversations of a new run share. l holds the limits
// on each single response. The stream limit is the number of streams that a user may have open at
// once, or 0 if it is unknown.
func newRunResources(l Limits, streamLimit int) *sharedRunState {
	b := &sharedRunState{
		memory:   wire.NewMemoryLimiter(maxLargeConversations, l.MaxBytes),
		trackers: map[bool]*limitTracker{}, judgeCtx: context.Background(),
	}
	if streamLimit > 0 {
		b.openStreams = make(chan struct{}, streamLimit)
	}
	for streams, kind := range map[bool]string{true: "stream", false: "reply"} {
		e := &limitTracker{kind: kind, max: responseVolume{
			events: fullSizedStreams * max(DefaultMaxEvents, l.MaxEvents),
			bytes:  fullSizedResponses * max(DefaultMaxBytes, l.MaxBytes),
		}}
		e.stopped, e.stop = context.WithCancelCause(context.Background())
		b.trackers[streams] = e
	}
	return b
}

// A limitStopError is the reason why no more requests for one kind of response are sent. Either too
// many responses exceeded a limit, or all responses together were too large.
type limitStopError struct {
	kind       string         // "stream" or "reply"
	overruns   int            // number of responses that exceeded a limit
	last       error          // how the last response that exceeded a limit ended; nil if total exceeds max
	total, max responseVolume // size of all responses of the kind, and the limit on it; zero if last is not nil
}

func (g limitStopError) Error() string {
	plural := map[string]string{"stream": "streams", "reply": "replies"}[g.kind]
	how := spec.DescribeOverrun(g.last)
	if large, is := errors.AsType[largeEventError](g.last); is {
		how = large.Error()
	}
	switch {
	case g.last != nil:
		return fmt.Sprintf("not sent: %d %s exceeded a limit before, the last one %s", g.overruns, plural, how)
	case g.total.events > g.max.events:
		return fmt.Sprintf(
			"not sent: the %s before had %d events together, more than %d (see --max-events)", plural, g.total.events, g.max.events)
	}
	return fmt.Sprintf(
		"not sent: the %s before had %d bytes together, more than %d (see --max-bytes)", plural, g.total.bytes, g.max.bytes)
}

// record adds a response of the given size to the totals of the tracker. The argument end is the
// error with which the response ended early, or nil. If the totals are now too large, or too many
// responses have exceeded a limit, record stops all requests for the tracker's kind of response
// (see [limitTracker.stopCause]).
func (e *limitTracker) record(end error, size responseVolume) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total.events, e.total.bytes = e.total.events+size.events, e.total.bytes+size.bytes
	if e.total.events > e.max.events || e.total.bytes > e.max.bytes {
		e.stop(limitStopError{kind: e.kind, total: e.total, max: e.max})
	}
	_, large := errors.AsType[largeEventError](end)
	if !large && !isOverLimit(end) {
		e.withinLimit++
		return
	}
	if e.overLimit++; e.overLimit >= maxOverruns && e.overLimit > e.withinLimit {
		e.stop(limitStopError{kind: e.kind, overruns: e.overLimit, last: end})
	}
}

// A largeEventError is the reason why the client stopped reading a stream with an event that was
// too large. Its value is the limit that the event exceeded, in bytes. The part of the stream that
// was received is judged.
type largeEventError int

func (e largeEventError) Error() string {
	return fmt.Sprintf("sent an event of more than %d bytes", int(e))
}

// isOverLimit reports whether a response exceeded a limit of time or size. The argument end is the
// error with which the response ended, or nil.
func isOverLimit(end error) bool {
	return errors.Is(end, spec.ErrIdleTimeout) || errors.Is(end, spec.ErrLimitExceeded)
}

// stopCause returns an error that says why no more requests for the tracker's kind of response are
// to be sent. It returns nil if they may still be sent.
func (e *limitTracker) stopCause() error { return context.Cause(e.stopped) }

// withContext returns a context that ends with parent, or earlier if no more requests for the
// tracker's kind of response are to be sent. In the latter case, the cause of the context is the
// error that [limitTracker.stopCause] returns. The caller must call stop when the request is done.
func (e *limitTracker) withContext(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	unlink := context.AfterFunc(e.stopped, func() { cancel(context.Cause(e.stopped)) })
	return ctx, func() { unlink(); cancel(nil) }
}

// A runTimeoutError is the cause of a context that ended because the run reached
// [Limits.RunTimeout], which is the value of the field limit.
type runTimeoutError struct{ limit time.Duration }

func (e runTimeoutError) Error() string {
	return fmt.Sprintf("the run was stopped after %v (--max-time)", e.limit)
}

// IsRunTimeout reports whether err, such as a [ScenarioResult.IncompleteReason], means that the run
// was stopped because it reached [Limits.RunTimeout].
func IsRunTimeout(err error) bool {
	_, ok := errors.AsType[runTimeoutError](err)
	return ok
}
