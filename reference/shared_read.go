package reference

import (
	"context"
	"sync"

	"github.com/streamassay/streamassay/reference/state"
)

// sharedReads are the events that were read from a store and that listeners are sending.
// Those who listen to the same run share them: a large event is in memory once, however
// many wait for it to be taken.
type sharedReads struct {
	mu     sync.Mutex
	active map[sharedReadKey]*sharedRead
}

// A sharedReadKey is what was asked for: the events of a run beyond a place. The tag tells
// the run from one of the same name that was forgotten.
type sharedReadKey struct {
	ref       state.RunRef
	threadTag uint32
	position  int64
}

// A sharedRead is what came.
type sharedRead struct {
	key     sharedReadKey
	holders int           // who holds it; under the lock of all
	done    chan struct{} // closed when the rest is there
	events  []state.LogEntry
	ended   bool
	err     error
}

// read returns the events of a run beyond a place, as many as the store gives at once.
// Who asks for what another one holds, or is waiting for, gets the same. It is to be
// released.
func (all *sharedReads) read(ctx context.Context, store state.Store, key sharedReadKey) *sharedRead {
	all.mu.Lock()
	r := all.active[key]
	first := r == nil
	if first {
		r = &sharedRead{key: key, done: make(chan struct{})}
		if all.active == nil {
			all.active = map[sharedReadKey]*sharedRead{}
		}
		all.active[key] = r
	}
	r.holders++
	all.mu.Unlock()
	if !first {
		select {
		case <-r.done:
			return r
		case <-ctx.Done():
			all.release(r)
			return &sharedRead{err: ctx.Err()}
		}
	}
	storeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout) // the others wait for it too
	defer cancel()
	r.events, r.ended, r.err = store.EventsAfter(storeCtx, key.ref, key.position, maxReadEvents)
	if r.err != nil || len(r.events) == 0 { // the next one may find more
		all.forget(r)
	}
	close(r.done)
	return r
}

// release says that a reading is not used any more.
func (all *sharedReads) release(r *sharedRead) {
	if r == nil || r.done == nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if r.holders--; r.holders == 0 && all.active[r.key] == r {
		delete(all.active, r.key)
	}
}

// forget keeps others from getting a reading.
func (all *sharedReads) forget(r *sharedRead) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.active[r.key] == r {
		delete(all.active, r.key)
	}
}
