package reference

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/state"
)

// A run is a turn of the agent that this process executes. It contains the encoded events of the
// turn so far. Events are only appended and never changed, so that listeners can read them without
// copying and do not delay the run or each other.
type run struct {
	ref          state.RunRef // key of the run in the store
	id           string       // the run id that the client uses
	ctx          context.Context
	cancel       context.CancelCauseFunc
	turn         *Turn
	timeoutTimer *time.Timer // cancels the run when it exceeds its time limit

	mu      sync.Mutex
	events  []state.LogEntry
	ended   bool
	changed chan struct{} // closed when events or ended change; nil if no listener waits
}

// publish appends encoded events to the run and wakes its listeners. The events have consecutive
// positions in the thread, starting with first, which must be greater than all earlier positions.
// The run retains the frames, which must not be modified afterwards.
func (r *run) publish(first int64, frames ...[]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, data := range frames {
		r.events = append(r.events, state.LogEntry{Position: first + int64(i), Data: data})
	}
	r.notify()
}

// appendFrame publishes an encoded event at the position after the last one. It is used for runs
// whose events are not stored; otherwise the store assigns the positions. It must not be called
// concurrently.
func (r *run) appendFrame(data []byte) { r.publish(int64(len(r.events))+1, data) }

// finish marks the run as ended and wakes its listeners. No event may be appended afterwards.
func (r *run) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.notify()
}

func (r *run) notify() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// eventsAfter implements runLogReader. The error is always nil. The caller must not modify the
// events.
func (r *run) eventsAfter(position int64) (
	events []state.LogEntry, ended bool, changed <-chan struct{}, err error,
) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.events, position+1, func(e state.LogEntry, want int64) int {
		return cmp.Compare(e.Position, want)
	})
	if !r.ended && r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.events[i:len(r.events):len(r.events)], r.ended, r.changed, nil
}

// An abortReason is the reason why the server, rather than the agent, ends a run. Its text and status
// appear in the terminal event of the run. The status is statusCanceled if the run was canceled,
// and "" if it failed.
type abortReason struct{ text, status string }

func (e *abortReason) Error() string { return e.text }

const statusCanceled = "canceled"

var (
	errCanceled    = &abortReason{"the run was canceled", statusCanceled}
	errClientLeft  = &abortReason{"the client left", statusCanceled}
	errShutdown    = &abortReason{"the server is shutting down", statusCanceled}
	errRunTimeout  = &abortReason{"the run exceeded its time limit", ""}
	errRunTooLarge = &abortReason{"the run exceeded its size limit", ""}
	errAgentFailed = &abortReason{"the agent failed", ""}
	errOrphaned    = &abortReason{"the server that executed the run has stopped", ""}
	errNotStored   = &abortReason{"the conversation could not be stored", ""}
)
