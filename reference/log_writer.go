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

// A runLogWriter is the sink of a resumable run. It appends the events of the run to the store in
// batches; events that arrive during a write form the next batch. Listeners receive events only
// after these have been stored, so that no received event is ever lost.
type runLogWriter struct {
	server *Server
	run    *run
	store  state.Store

	mu           sync.Mutex
	pending      state.AppendBatch // the queue: events, messages and end of the run that are not stored yet
	pendingBytes int               // total size of the queued events
	ready        chan struct{}     // of capacity 1; contains a value when writeLoop must check the queue
	space        chan struct{}     // closed when the queue is emptied; nil if no call of writeFrame is waiting
	done         chan struct{}     // closed when writeLoop returns
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
// are queued and the run is not canceled. It retains data, which must not be modified afterwards.
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

// addMessages queues complete messages for the store. They are stored together with the next events
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

// finish queues the end of the run and waits for writeLoop to return. The queue has then been
// stored, or storing it has failed.
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

// takePending returns the contents of the queue and empties it. This unblocks waiting calls of
// writeFrame. If the queue contains only messages or nothing, takePending leaves it unchanged and
// ok is false.
func (w *runLogWriter) takePending() (update state.AppendBatch, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	update = w.pending
	if len(update.Events) == 0 && !update.End {
		return state.AppendBatch{}, false
	}
	w.pending, w.pendingBytes = state.AppendBatch{}, 0
	if w.space != nil {
		close(w.space)
		w.space = nil
	}
	return update, true
}

// writeLoop repeatedly stores the contents of the queue and publishes the stored events to
// listeners. It returns when the end of the run has been stored. If storing fails, it cancels the
// run and returns.
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

// appendWithRetry stores an update, with retries for up to maxStoreOutage, and returns the position
// of the update's first event. ok is false if the update could not be stored or the store no longer
// accepts events of the run. last is the position of the run's last stored event, or 0 if there is
// none. If the store reports that the run was canceled, appendWithRetry cancels the context of the
// run.
func (w *runLogWriter) appendWithRetry(update state.AppendBatch, last int64) (first int64, ok bool) {
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

// maxStoreOutage is the longest time for which a run waits for an unavailable store. The run is
// then canceled.
const maxStoreOutage = 10 * time.Minute

// wasStored reports whether update was stored although Append returned an error. If so, first is
// the position of the update's first event, or 0 if it has none. last is the position of the run's
// last event stored before update, or 0 if there is none. ok is false if update was
// not stored, or if that is unknown because the store cannot be read.
func (w *runLogWriter) wasStored(ctx context.Context, update state.AppendBatch, last int64) (first int64, ok bool) {
	ctx, stop := context.WithTimeout(ctx, storeTimeout)
	defer stop()
	entries, ended, err := w.store.EventsAfter(ctx, w.run.ref, last, 1)
	switch {
	case err != nil:
		return 0, false
	case len(update.Events) == 0: // messages alone cannot be found in the store
		return 0, update.End && ended
	case len(entries) == 0 || !bytes.Equal(entries[0].Data, update.Events[0]): // written by another server
		return 0, false
	}
	return entries[0].Position, true
}
