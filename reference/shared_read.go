package reference

import (
	"context"
	"sync"

	"github.com/streamassay/streamassay/internal/state"
)

// sharedReads holds the batches of events that were read from a store and are being sent to
// clients. Streams of the same run share a batch, so that a large event is in memory only once,
// even if many slow clients receive it.
type sharedReads struct {
	mu     sync.Mutex
	active map[sharedReadKey]*sharedRead // batches that are being read or sent, by key
}

// A sharedReadKey identifies a batch: the events of a run after a position in its thread.
type sharedReadKey struct {
	ref       state.RunRef
	threadTag uint32 // distinguishes the thread from an earlier one with the same id that the store has dropped
	position  int64
}

// A sharedRead is a batch of events. A call of read has read it or is reading it from the store. If
// reading fails, the sharedRead contains the error.
type sharedRead struct {
	key     sharedReadKey
	holders int              // number of callers of read that have not called release; guarded by sharedReads.mu
	done    chan struct{}    // closed when the fields below are set
	events  []state.LogEntry // results of Store.EventsAfter, like ended and err
	ended   bool
	err     error
}

// read reads the batch of events with the given key from the store. If reading fails, the field err
// of the result is set. Concurrent calls with the same key share one access to the store; a call
// that waits for it returns when ctx is done, with ctx.Err() as the error. The caller must pass the
// result to release.
func (all *sharedReads) read(ctx context.Context, store state.Store, key sharedReadKey) *sharedRead {
	all.mu.Lock()
	r := all.active[key]
	first := r == nil
	if first {
		r = &sharedRead{key: key, done: make(chan struct{})}
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
	storeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout) // others wait for it, too
	defer cancel()
	r.events, r.ended, r.err = store.EventsAfter(storeCtx, key.ref, key.position, maxReadEvents)
	if r.err != nil || len(r.events) == 0 { // a later read may return more
		all.mu.Lock()
		all.forget(r)
		all.mu.Unlock()
	}
	close(r.done)
	return r
}

// release releases r, a result of read. When all callers that received r have released it, r is
// removed from all. release does nothing if r is nil.
func (all *sharedReads) release(r *sharedRead) {
	if r == nil || r.done == nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if r.holders--; r.holders == 0 {
		all.forget(r)
	}
}

// forget removes the batch r, so that later calls of read access the store again. Callers of read
// that have not released r can still use it. The caller must hold all.mu.
func (all *sharedReads) forget(r *sharedRead) {
	if all.active[r.key] == r {
		delete(all.active, r.key)
	}
}
