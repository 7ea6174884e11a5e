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
	Idle   time.Duration // how long an exchange may be silent; 15 s, but no longer than Target.Timeout
	Run    time.Duration // how long all scenarios may take; 0: no limit
	Bytes  int           // of the body of an answer; 64 MiB. Of all streams, or replies, together: four times as many, but at least 256 MiB
	Events int           // of a stream, comments included; 200,000. Of all streams together: four times as many, but at least 800,000
}

// The defaults of a Target.
const (
	DefaultTimeout   = 30 * time.Second // of one exchange
	DefaultIdle      = 15 * time.Second
	DefaultMaxBytes  = wire.DefaultMaxBody
	DefaultMaxEvents = wire.DefaultMaxEvents
)

// withDefaults fills in what was left out.
func (l Limits) withDefaults(timeout time.Duration) Limits {
	if l.Idle == 0 {
		l.Idle = min(DefaultIdle, timeout)
	}
	if l.Bytes == 0 {
		l.Bytes = DefaultMaxBytes
	}
	if l.Events == 0 {
		l.Events = DefaultMaxEvents
	}
	return l
}

func (l Limits) check() error {
	if l.Idle < 0 || l.Run < 0 || l.Bytes < 0 || l.Events < 0 {
		return errors.New("a limit is negative: leave it at 0 for the default")
	}
	return nil
}

// maxLarge is how many large conversations are held in memory at once.
const maxLarge = 1

// maxOverruns is how often a target may go over a limit before it is not asked for more
// of the kind, unless it keeps to the limits more often than not.
const maxOverruns = 2

// What all answers of a kind together may have before a target is not asked for more of
// them: one that stays just below the limits each time would keep a run busy without end,
// too. It is what this many answers may have at the least.
const (
	leastAnswers = 4
	maxAllEvents = leastAnswers * DefaultMaxEvents
	maxAllBytes  = leastAnswers * DefaultMaxBytes
)

// A budget is what a target has cost so far. All its conversations share it.
type budget struct {
	room  *wire.Room
	kinds map[bool]*expense // by whether the answer is a stream
	judge context.Context   // ends when nothing is to be judged any more
}

// An expense is what one kind of exchange has cost.
type expense struct {
	kind   string
	most   volume          // what all of the kind may have
	over   context.Context // ends when no more of the kind is asked for
	giveUp context.CancelCauseFunc

	mu         sync.Mutex
	kept, gone int    // exchanges that kept to the limits, and that went over one
	sum        volume // of all of them
}

// A volume is how large answers are, without their content coding.
type volume struct{ events, bytes int }

func newBudget(l Limits) *budget {
	b := &budget{room: wire.NewRoom(maxLarge, l.Bytes), kinds: map[bool]*expense{}, judge: context.Background()}
	for streams, kind := range map[bool]string{true: "stream", false: "reply"} {
		e := &expense{kind: kind, most: volume{max(maxAllEvents, leastAnswers*l.Events), max(maxAllBytes, leastAnswers*l.Bytes)}}
		e.over, e.giveUp = context.WithCancelCause(context.Background())
		b.kinds[streams] = e
	}
	return b
}

// A givenUp is why a target is not asked for more.
type givenUp struct {
	kind      string
	last      error // how the last one that went over a limit ended; nil: none did
	sum, most volume
}

func (g givenUp) Error() string {
	plural := map[string]string{"stream": "streams", "reply": "replies"}[g.kind]
	how := spec.Overrun(g.last)
	if large, is := errors.AsType[tooLarge](g.last); is {
		how = large.Error()
	}
	switch {
	case g.last != nil:
	case g.sum.events > g.most.events:
		return fmt.Sprintf("not asked for: the %s before had %d events together, more than %d (see --max-events)", plural, g.sum.events, g.most.events)
	default:
		return fmt.Sprintf("not asked for: the %s before had %d bytes together, more than %d (see --max-bytes)", plural, g.sum.bytes, g.most.bytes)
	}
	return fmt.Sprintf("not asked for: %d %s went over a limit before, the last one %s", maxOverruns, plural, how)
}

// note counts how an exchange ended, and how large its answer is.
func (e *expense) note(end error, v volume) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sum.events, e.sum.bytes = e.sum.events+v.events, e.sum.bytes+v.bytes
	if e.sum.events > e.most.events || e.sum.bytes > e.most.bytes {
		e.giveUp(givenUp{kind: e.kind, sum: e.sum, most: e.most})
	}
	_, large := errors.AsType[tooLarge](end)
	if !large && !wentOver(end) {
		e.kept++
		return
	}
	if e.gone++; e.gone >= maxOverruns && e.gone > e.kept {
		e.giveUp(givenUp{kind: e.kind, last: end})
	}
}

// A tooLarge ends a stream whose event has more bytes than it may have; what it has is
// judged.
type tooLarge int

func (e tooLarge) Error() string { return fmt.Sprintf("sent an event of more than %d bytes", int(e)) }

func wentOver(end error) bool { return errors.Is(end, spec.ErrIdle) || errors.Is(end, spec.ErrEndless) }

// gaveUp is why no more of the kind is asked for, nil if it is.
func (e *expense) gaveUp() error { return context.Cause(e.over) }

// within is a context that ends with ctx, or when no more of the kind is asked for.
func (e *expense) within(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	unlink := context.AfterFunc(e.over, func() { cancel(context.Cause(e.over)) })
	return ctx, func() { unlink(); cancel(nil) }
}

// A timeUp ends a run that takes longer than it may.
type timeUp struct{ after time.Duration }

func (e timeUp) Error() string { return fmt.Sprintf("the run had taken %v (--max-time)", e.after) }

// IsTimeUp reports whether a scenario was not played because the run had taken as long as
// [Limits] allow.
func IsTimeUp(err error) bool {
	_, yes := errors.AsType[timeUp](err)
	return yes
}
