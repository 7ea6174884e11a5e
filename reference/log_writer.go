package reference

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamassay/streamassay/internal/state"
)

// The limit of what a run buffers while its store is unavailable, and the waits before its attempts
// to write again.
const (
	maxPendingBytes = 4 << 20                // size of the encoded events that are not stored yet, in bytes
	minRetryWait    = 100 * time.Millisecond // before the first retry; doubles with each retry, up to maxRetryWait
	maxRetryWait    = 2 * time.Second        // the longest wait before a retry
)

// A runLogWriter is the sink of a resumable run. It appends the run's events to the store in
// batches: the events that arrive during one write form the next batch. It publishes events to
// listeners only after they are stored, so that an event that a client has received is never lost.
type runLogWriter struct {
	server *Server
	run    *run
	store  state.Store

	mu           sync.Mutex
	pending      state.RunUpdate // what is queued for the store
	pendingBytes int             // size of the queued events
	ready        chan struct{}   // capacity 1: receives when there is something to write
	space        chan struct{}   // closed when there is room again; nil if no sender waits
	done         chan struct{}   // closed when writeLoop returns
}

// newRunLogWriter returns a sink for the run r and starts the goroutine that writes to the store.
// The caller must call finish, which waits for that goroutine.
func newRunLogWriter(s *Server, r *run) *runLogWriter {
	w := &runLogWriter{
		server: s, run: r, store: s.registry.store, ready: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go w.writeLoop()
	return w
}

// writeFrame queues an encoded event for the store. It blocks while more than maxPendingBytes bytes
// are queued, unless the run is canceled. It retains data, which must not be modified afterwards.
func (w *runLogWriter) writeFrame(data []byte) {
	w.mu.Lock()
	for w.pendingBytes > maxPendingBytes && w.run.ctx.Err() == nil {
		if w.space == nil {
			w.space = make(chan struct{})
		}
		space := w.space
		w.mu.Unlock()
		select {
		case <-space:
		case <-w.run.ctx.Done():
		}
		w.mu.Lock()
	}
	w.pending.Events = append(w.pending.Events, data)
	w.pendingBytes += len(data)
	w.mu.Unlock()
	w.notify()
}

// addMessages queues complete messages for the store. They are stored together with a later event
// or with the end of the run.
func (w *runLogWriter) addMessages(messages []state.Message) {
	if len(messages) == 0 {
		return
	}
	w.mu.Lock()
	w.pending.Messages = append(w.pending.Messages, messages...)
	w.mu.Unlock()
}

func (w *runLogWriter) frameBuffer() []byte { return newFrameBuffer() }
func (w *runLogWriter) flush()              {}
func (w *runLogWriter) commit() error       { return nil } // messages are stored with the run's end

// finish queues the end of the run. It returns when everything that is queued has been stored, or
// when writeLoop has given up storing it.
func (w *runLogWriter) finish() {
	w.mu.Lock()
	w.pending.End = true
	w.mu.Unlock()
	w.notify()
	<-w.done
}

func (w *runLogWriter) notify() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// takePending returns what is queued and empties the queue. This unblocks waiting calls of
// writeFrame. If neither an event nor the end of the run is queued, ok is false and the queue is
// unchanged, because messages are stored only together with one of these.
func (w *runLogWriter) takePending() (update state.RunUpdate, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	update = w.pending
	if len(update.Events) == 0 && !update.End {
		return state.RunUpdate{}, false
	}
	w.pending, w.pendingBytes = state.RunUpdate{}, 0
	if w.space != nil {
		close(w.space)
		w.space = nil
	}
	return update, true
}

// writeLoop repeatedly stores what is queued and then publishes the stored events to listeners. It
// returns when the end of the run is stored. If something cannot be stored, it cancels the run and
// returns.
func (w *runLogWriter) writeLoop() {
	defer close(w.done)
	last := int64(0) // position of the last stored event
	for range w.ready {
		update, ok := w.takePending()
		if !ok {
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

// appendWithRetry stores an update and returns the position of the update's first event. It retries
// for up to maxStoreOutage. ok is false if all attempts failed, or if the store no longer accepts
// events of the run. last is the position of the run's last event that was stored before, or 0 if
// none was. If the store reports that the run was canceled, for example by another process,
// appendWithRetry cancels the context of the run.
func (w *runLogWriter) appendWithRetry(update state.RunUpdate, last int64) (first int64, ok bool) {
	wait := minRetryWait
	bounded, cancel := context.WithTimeout(context.WithoutCancel(w.run.ctx), maxStoreOutage)
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
		if errors.Is(err, state.ErrNotFound) { // the run was forgotten, or ended by another server
			return 0, false
		}
		w.server.registry.storeWaits.noteWaiting(w.server, w.run, err)
		select {
		case <-time.After(wait):
		case <-bounded.Done():
			return 0, false
		}
		wait = min(2*wait, maxRetryWait)
	}
}

// maxStoreOutage is the longest time that a run waits for an unavailable store. After that, the run
// is canceled.
const maxStoreOutage = 10 * time.Minute

// wasStored checks whether update was stored although Append returned an error. If so, ok is true
// and first is the position of the update's first event, or 0 if the update has no events. ok is
// false if update was not stored, if the store cannot be read, or if update has no events and does
// not end the run, since such an update leaves no trace that could be checked. last is the position
// of the run's last event that was stored before, or 0 if none was.
func (w *runLogWriter) wasStored(ctx context.Context, update state.RunUpdate, last int64) (first int64, ok bool) {
	ctx, stop := context.WithTimeout(ctx, storeTimeout)
	defer stop()
	entries, ended, err := w.store.EventsAfter(ctx, w.run.ref, last, 1)
	switch {
	case err != nil:
		return 0, false
	case len(update.Events) == 0:
		return 0, update.End && ended
	case len(entries) == 0 || !bytes.Equal(entries[0].Data, update.Events[0]): // written by another server
		return 0, false
	}
	return entries[0].Position, true
}
