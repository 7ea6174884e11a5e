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
	ref    state.Ref
	id     string // as the client named it
	ctx    context.Context
	cancel context.CancelCauseFunc
	turn   *Turn
	late   *time.Timer

	mu   sync.Mutex
	told []state.Entry
	size int
	over bool
	more chan struct{} // closed when something was added; nil if nobody waits
}

// add shows what was told to those who listen. Places rise.
func (r *run) add(first int64, told ...[]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, data := range told {
		r.told = append(r.told, state.Entry{At: first + int64(i), Data: data})
		r.size += len(data)
	}
	r.wake()
}

// append is add with the next place, of runs that nobody else numbers.
func (r *run) append(data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, state.Entry{At: int64(len(r.told)) + 1, Data: data})
	r.size += len(data)
	r.wake()
}

// end says that nothing will be added any more.
func (r *run) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.wake()
}

func (r *run) wake() {
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// after is what was told beyond a place in the thread. If that is nothing yet, more
// is closed when there is.
func (r *run) after(at int64) (told []state.Entry, over bool, more <-chan struct{}, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.told, at+1, func(e state.Entry, at int64) int { return cmp.Compare(e.At, at) })
	if !r.over && r.more == nil {
		r.more = make(chan struct{})
	}
	return r.told[i:len(r.told):len(r.told)], r.over, r.more, nil
}

// An ending is why a run ends that its agent has not ended.
type ending struct{ text, code, status string }

func (e *ending) Error() string { return e.text }

const runCanceled = "RUN_CANCELED"

var (
	errCanceled = &ending{"the run was canceled", runCanceled, "canceled"}
	errLeft     = &ending{"the client left", runCanceled, "canceled"}
	errShutdown = &ending{"the server is shutting down", runCanceled, "canceled"}
	errLate     = &ending{"the run took too long", "", ""}
	errLong     = &ending{"the run said too much", "", ""}
	errAgent    = &ending{"the agent failed", "", ""}
	errOrphan   = &ending{"the server that ran it is gone", "", ""}
	errForgot   = &ending{"the conversation could not be kept", "", ""}
)
