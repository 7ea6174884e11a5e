package reference

import (
	"context"
	"sync"

	"github.com/streamassay/streamassay/reference/state"
)

// readings are the events that were read from a store and that listeners are sending.
// Those who listen to the same run share them: a large event is in memory once, however
// many wait for it to be taken.
type readings struct {
	mu   sync.Mutex
	open map[readingKey]*reading
}

// A readingKey is what was asked for: the events of a run beyond a place. The tag tells
// the run from one of the same name that was forgotten.
type readingKey struct {
	ref state.Ref
	tag uint32
	at  int64
}

// A reading is what came.
type reading struct {
	key   readingKey
	users int           // who holds it; under the lock of all
	done  chan struct{} // closed when the rest is there
	told  []state.Entry
	over  bool
	err   error
}

// read returns the events of a run beyond a place, as many as the store gives at once.
// Who asks for what another one holds, or is waiting for, gets the same. It is to be
// released.
func (all *readings) read(ctx context.Context, store state.Store, key readingKey) *reading {
	all.mu.Lock()
	r := all.open[key]
	first := r == nil
	if first {
		r = &reading{key: key, done: make(chan struct{})}
		if all.open == nil {
			all.open = map[readingKey]*reading{}
		}
		all.open[key] = r
	}
	r.users++
	all.mu.Unlock()
	if !first {
		select {
		case <-r.done:
			return r
		case <-ctx.Done():
			all.release(r)
			return &reading{err: ctx.Err()}
		}
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing) // the others wait for it too
	defer cancel()
	r.told, r.over, r.err = store.After(within, key.ref, key.at, mostTold)
	if r.err != nil || len(r.told) == 0 { // the next one may find more
		all.forget(r)
	}
	close(r.done)
	return r
}

// release says that a reading is not used any more.
func (all *readings) release(r *reading) {
	if r == nil || r.done == nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if r.users--; r.users == 0 && all.open[r.key] == r {
		delete(all.open, r.key)
	}
}

// forget keeps others from getting a reading.
func (all *readings) forget(r *reading) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.open[r.key] == r {
		delete(all.open, r.key)
	}
}
