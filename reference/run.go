package reference

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/streamassay/streamassay/reference/state"
)

// A run is one that is played here: all that was told of it so far, spelled and
// ready to be sent, for whoever comes to listen. It is only ever added to: listeners
// never hold each other, or the run, up.
type run struct {
	ref          state.RunRef
	id           string // as the client named it
	ctx          context.Context
	cancel       context.CancelCauseFunc
	turn         *Turn
	timeoutTimer *time.Timer

	mu      sync.Mutex
	events  []state.LogEntry
	size    int
	ended   bool
	changed chan struct{} // closed when something was added; nil if nobody waits
}

// publish shows what was told to those who listen. Places rise.
func (r *run) publish(first int64, frames ...[]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, data := range frames {
		r.events = append(r.events, state.LogEntry{Position: first + int64(i), Data: data})
		r.size += len(data)
	}
	r.notify()
}

// appendFrame is add with the next place, of runs that nobody else numbers.
func (r *run) appendFrame(data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, state.LogEntry{Position: int64(len(r.events)) + 1, Data: data})
	r.size += len(data)
	r.notify()
}

// finish says that nothing will be added any more.
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

// eventsAfter is what was told beyond a place in the thread. If that is nothing yet, more
// is closed when there is.
func (r *run) eventsAfter(position int64) (events []state.LogEntry, ended bool, changed <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.events, position+1, func(e state.LogEntry, position int64) int { return cmp.Compare(e.Position, position) })
	if !r.ended && r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.events[i:len(r.events):len(r.events)], r.ended, r.changed, nil
}

// An stopReason is why a run ends that its agent has not ended.
type stopReason struct{ text, code, status string }

func (e *stopReason) Error() string { return e.text }

const codeRunCanceled = "RUN_CANCELED"

var (
	errCanceled    = &stopReason{"the run was canceled", codeRunCanceled, "canceled"}
	errClientLeft  = &stopReason{"the client left", codeRunCanceled, "canceled"}
	errShutdown    = &stopReason{"the server is shutting down", codeRunCanceled, "canceled"}
	errRunTimeout  = &stopReason{"the run took too long", "", ""}
	errRunTooLarge = &stopReason{"the run said too much", "", ""}
	errAgentFailed = &stopReason{"the agent failed", "", ""}
	errOrphaned    = &stopReason{"the server that ran it is gone", "", ""}
	errNotStored   = &stopReason{"the conversation could not be kept", "", ""}
)
