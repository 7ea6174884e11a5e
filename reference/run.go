package reference

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/streamassay/streamassay/spec"
)

// A run is all that was told of it, spelled and ready to be sent, for whoever comes
// to listen, whenever. It is only ever added to: listeners never hold each other,
// or the run, up.
type run struct {
	thread   *thread
	id, key  string
	accepted spec.Event // the answer to whoever asked for it
	ctx      context.Context
	cancel   context.CancelCauseFunc

	mu   sync.Mutex
	told []frame
	size int
	over bool
	more chan struct{} // closed when something was added; nil if nobody waits
}

// A frame is one event as it goes over the wire, and its place in the thread, which
// only rises.
type frame struct {
	at   int64
	data []byte
}

func (r *run) add(f frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, f)
	r.size += len(f.data)
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
func (r *run) after(at int64) (frames []frame, over bool, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, _ := slices.BinarySearchFunc(r.told, at+1, func(f frame, at int64) int { return cmp.Compare(f.at, at) })
	if !r.over && r.more == nil {
		r.more = make(chan struct{})
	}
	return r.told[i:len(r.told):len(r.told)], r.over, r.more
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
	errAgent    = &ending{"the agent failed", "", ""}
)
