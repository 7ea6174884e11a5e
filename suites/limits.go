package suites

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// Limits bound what a target may cost. What goes over one of an exchange is a finding. A
// zero value takes the default.
type Limits struct {
	IdleTimeout time.Duration // how long an exchange may be silent; 15 s, but no longer than Target.Timeout
	RunTimeout  time.Duration // how long all scenarios may take; 0: no limit
	MaxBytes    int           // of the body of a response; 64 MiB. Of all streams, or replies, together: four times as many, but at least 256 MiB
	MaxEvents   int           // of a stream, comments included; 200,000. Of all streams together: four times as many, but at least 800,000
}

// The defaults of a Target.
const (
	DefaultTimeout     = 30 * time.Second // of one exchange
	DefaultIdleTimeout = 15 * time.Second
	DefaultMaxBytes    = wire.DefaultMaxBodyBytes
	DefaultMaxEvents   = wire.DefaultMaxEvents
)

// withDefaults fills in what was left out.
func (l Limits) withDefaults(timeout time.Duration) Limits {
	if l.IdleTimeout == 0 {
		l.IdleTimeout = min(DefaultIdleTimeout, timeout)
	}
	if l.MaxBytes == 0 {
		l.MaxBytes = DefaultMaxBytes
	}
	if l.MaxEvents == 0 {
		l.MaxEvents = DefaultMaxEvents
	}
	return l
}

func (l Limits) validate() error {
	if l.IdleTimeout < 0 || l.RunTimeout < 0 || l.MaxBytes < 0 || l.MaxEvents < 0 {
		return errors.New("a limit is negative: leave it at 0 for the default")
	}
	return nil
}

// maxLargeConversations is how many large conversations are held in memory at once.
const maxLargeConversations = 1

// maxOverruns is how often a target may go over a limit before it is not asked for more
// of the kind, unless it keeps to the limits more often than not.
const maxOverruns = 2

// What all responses of a kind together may have before a target is not asked for more of
// them: a target that stays just below the limits each time would keep a run busy without
// end, too. It is what this many responses may have at least.
const (
	minResponses = 4
	maxAllEvents = minResponses * DefaultMaxEvents
	maxAllBytes  = minResponses * DefaultMaxBytes
)

// A budget is what a target has cost so far. All its conversations share it.
type budget struct {
	memory   *wire.MemoryLimiter
	trackers map[bool]*limitTracker // by whether the answer is a stream
	judgeCtx context.Context        // ends when nothing is to be judged any more
}

// A limitTracker counts what exchanges of one kind have cost.
type limitTracker struct {
	kind    string
	max     responseVolume  // of all responses of the kind together
	stopped context.Context // ends when no more of the kind is asked for
	stop    context.CancelCauseFunc

	mu                     sync.Mutex
	withinLimit, overLimit int            // exchanges that kept to the limits, and that exceeded one
	total                  responseVolume // of all of them
}

// A responseVolume is the size of responses, without their content coding.
type responseVolume struct{ events, bytes int }

func newBudget(l Limits) *budget {
	b := &budget{
		memory:   wire.NewMemoryLimiter(maxLargeConversations, l.MaxBytes),
		trackers: map[bool]*limitTracker{}, judgeCtx: context.Background(),
	}
	for streams, kind := range map[bool]string{true: "stream", false: "reply"} {
		e := &limitTracker{kind: kind, max: responseVolume{
			events: max(maxAllEvents, minResponses*l.MaxEvents),
			bytes:  max(maxAllBytes, minResponses*l.MaxBytes),
		}}
		e.stopped, e.stop = context.WithCancelCause(context.Background())
		b.trackers[streams] = e
	}
	return b
}

// An overrunError is why a target is not asked for more.
type overrunError struct {
	kind       string
	last       error // how the last response that exceeded a limit ended; nil if none did
	total, max responseVolume
}

func (g overrunError) Error() string {
	plural := map[string]string{"stream": "streams", "reply": "replies"}[g.kind]
	switch {
	case g.last != nil:
		return fmt.Sprintf("not asked for: %d %s went over a limit before, the last one %s", maxOverruns, plural, spec.DescribeOverrun(g.last))
	case g.total.events > g.max.events:
		return fmt.Sprintf("not asked for: the %s before had %d events together, more than %d (see --max-events)", plural, g.total.events, g.max.events)
	}
	return fmt.Sprintf("not asked for: the %s before had %d bytes together, more than %d (see --max-bytes)", plural, g.total.bytes, g.max.bytes)
}

// record counts how an exchange ended, and the size of its response.
func (e *limitTracker) record(end error, size responseVolume) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total.events, e.total.bytes = e.total.events+size.events, e.total.bytes+size.bytes
	if e.total.events > e.max.events || e.total.bytes > e.max.bytes {
		e.stop(overrunError{kind: e.kind, total: e.total, max: e.max})
	}
	if !isOverLimit(end) {
		e.withinLimit++
		return
	}
	if e.overLimit++; e.overLimit >= maxOverruns && e.overLimit > e.withinLimit {
		e.stop(overrunError{kind: e.kind, last: end})
	}
}

func isOverLimit(end error) bool {
	return errors.Is(end, spec.ErrIdleTimeout) || errors.Is(end, spec.ErrLimitExceeded)
}

// stopCause is why no more of the kind is asked for, nil if it is.
func (e *limitTracker) stopCause() error { return context.Cause(e.stopped) }

// withContext is a context that ends with ctx, or when no more of the kind is asked for.
func (e *limitTracker) withContext(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	unlink := context.AfterFunc(e.stopped, func() { cancel(context.Cause(e.stopped)) })
	return ctx, func() { unlink(); cancel(nil) }
}

// A runTimeoutError ends a run that takes longer than it may.
type runTimeoutError struct{ limit time.Duration }

func (e runTimeoutError) Error() string {
	return fmt.Sprintf("the run had taken %v (--max-time)", e.limit)
}

// IsRunTimeout reports whether a scenario was not played because the run had taken as long as
// [Limits] allow.
func IsRunTimeout(err error) bool {
	_, yes := errors.AsType[runTimeoutError](err)
	return yes
}
