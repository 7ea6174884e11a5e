package reference

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamassay/streamassay/reference/state"
)

// What may wait to be written of one run, and how long is waited for a store that
// is gone.
const (
	maxPendingBytes = 4 << 20 // bytes
	minRetryWait    = 100 * time.Millisecond
	maxRetryWait    = 2 * time.Second
)

// A logWriter writes down what is told of a run, in as few pieces as the store is slow,
// and only then shows it to those who listen: what was heard is never forgotten.
type logWriter struct {
	server *Server
	run    *run
	store  state.Store

	mu           sync.Mutex
	pending      state.RunUpdate
	pendingBytes int
	ready        chan struct{} // has room for one: there is something to write
	space        chan struct{} // closed when there is room again; nil if nobody waits
	done         chan struct{} // closed when all is written
}

func newLogWriter(s *Server, r *run) *logWriter {
	w := &logWriter{server: s, run: r, store: s.registry.store, ready: make(chan struct{}, 1), done: make(chan struct{})}
	go w.writeLoop()
	return w
}

// writeFrame hands over an event. It waits while too much waits to be written.
func (w *logWriter) writeFrame(data []byte) {
	w.mu.Lock()
	for w.pendingBytes > maxPendingBytes && w.run.ctx.Err() == nil {
		if w.space == nil {
			w.space = make(chan struct{})
		}
		room := w.space
		w.mu.Unlock()
		select {
		case <-room:
		case <-w.run.ctx.Done():
		}
		w.mu.Lock()
	}
	w.pending.Events = append(w.pending.Events, data)
	w.pendingBytes += len(data)
	w.mu.Unlock()
	w.notify()
}

// addMessages hands over messages that are whole.
func (w *logWriter) addMessages(messages []state.Message) {
	if len(messages) == 0 {
		return
	}
	w.mu.Lock()
	w.pending.Messages = append(w.pending.Messages, messages...)
	w.mu.Unlock()
}

func (w *logWriter) frameBuffer() []byte { return newFrameBuffer() }
func (w *logWriter) flush()              {}
func (w *logWriter) commit() error       { return nil } // it is written with the end

// finish says that nothing comes any more, and waits until all is written.
func (w *logWriter) finish() {
	w.mu.Lock()
	w.pending.End = true
	w.mu.Unlock()
	w.notify()
	<-w.done
}

func (w *logWriter) notify() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// takePending is what waits.
func (w *logWriter) takePending() state.RunUpdate {
	w.mu.Lock()
	defer w.mu.Unlock()
	update := w.pending
	w.pending, w.pendingBytes = state.RunUpdate{}, 0
	if w.space != nil {
		close(w.space)
		w.space = nil
	}
	return update
}

func (w *logWriter) writeLoop() {
	defer close(w.done)
	last := int64(0) // the place that was written last
	for range w.ready {
		update := w.takePending()
		if len(update.Events) == 0 && !update.End {
			continue
		}
		first, ok := w.appendWithRetry(update, last)
		if !ok {
			w.run.cancel(errNotStored)
			return
		}
		if n := len(update.Events); n > 0 {
			w.run.publish(first, update.Events...)
			last = first + int64(n) - 1
		}
		if update.End {
			return
		}
	}
}

// appendWithRetry writes until it is written, or the store will not have it. A store that is
// gone is waited for as long as the run may take: what is told stays here meanwhile.
func (w *logWriter) appendWithRetry(update state.RunUpdate, last int64) (first int64, ok bool) {
	wait := minRetryWait
	bounded := context.WithoutCancel(w.run.ctx)
	bounded, cancel := context.WithTimeout(bounded, maxStoreOutage)
	defer cancel()
	defer func() { w.server.registry.storeWaits.noteDone(w.server, w.run, ok) }()
	for {
		ctx, stop := context.WithTimeout(bounded, storeTimeout)
		first, canceled, err := w.store.Append(ctx, w.run.ref, update)
		stop()
		if canceled {
			w.run.cancel(errCanceled)
		}
		if err == nil {
			return first, true
		}
		if first, ok = w.wasStored(bounded, update, last); ok {
			return first, true
		}
		if errors.Is(err, state.ErrNotFound) { // it was forgotten, or buried by another
			return 0, false
		}
		w.server.registry.storeWaits.noteWaiting(w.server, w.run, err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-bounded.Done():
			timer.Stop()
			return 0, false
		}
		wait = min(2*wait, maxRetryWait)
	}
}

// maxStoreOutage is how long a store may be gone before a run is given up.
const maxStoreOutage = 10 * time.Minute

// wasStored says whether something was written although the store could not say so.
func (w *logWriter) wasStored(ctx context.Context, update state.RunUpdate, last int64) (first int64, ok bool) {
	ctx, stop := context.WithTimeout(ctx, storeTimeout)
	defer stop()
	entries, over, err := w.store.EventsAfter(ctx, w.run.ref, last, 1)
	switch {
	case err != nil:
		return 0, false
	case len(update.Events) == 0:
		return 0, update.End && over
	case len(entries) == 0 || !bytes.Equal(entries[0].Data, update.Events[0]): // what another wrote is not ours
		return 0, false
	}
	return entries[0].Position, true
}
