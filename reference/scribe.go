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
	mostWaiting = 4 << 20 // bytes
	retry       = 100 * time.Millisecond
	mostRetry   = 2 * time.Second
)

// A scribe writes down what is told of a run, in as few pieces as the store is slow,
// and only then shows it to those who listen: what was heard is never forgotten.
type scribe struct {
	s     *Server
	run   *run
	store state.Store

	mu      sync.Mutex
	waiting state.Told
	size    int
	news    chan struct{} // has room for one: there is something to write
	room    chan struct{} // closed when there is room again; nil if nobody waits
	done    chan struct{} // closed when all is written
}

func newScribe(s *Server, r *run) *scribe {
	w := &scribe{s: s, run: r, store: s.hub.store, news: make(chan struct{}, 1), done: make(chan struct{})}
	go w.write()
	return w
}

// tell hands over an event. It waits while too much waits to be written.
func (w *scribe) tell(data []byte) {
	w.mu.Lock()
	for w.size > mostWaiting && w.run.ctx.Err() == nil {
		if w.room == nil {
			w.room = make(chan struct{})
		}
		room := w.room
		w.mu.Unlock()
		select {
		case <-room:
		case <-w.run.ctx.Done():
		}
		w.mu.Lock()
	}
	w.waiting.Data = append(w.waiting.Data, data)
	w.size += len(data)
	w.mu.Unlock()
	w.notify()
}

// keep hands over messages that are whole.
func (w *scribe) keep(said []state.Message) {
	if len(said) == 0 {
		return
	}
	w.mu.Lock()
	w.waiting.Said = append(w.waiting.Said, said...)
	w.mu.Unlock()
}

func (w *scribe) blank() []byte { return frameRoom() }
func (w *scribe) pause()        {}
func (w *scribe) close() error  { return nil } // it is written with the end

// end says that nothing comes any more, and waits until all is written.
func (w *scribe) end() {
	w.mu.Lock()
	w.waiting.Over = true
	w.mu.Unlock()
	w.notify()
	<-w.done
}

func (w *scribe) notify() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// take is what waits.
func (w *scribe) take() state.Told {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.waiting
	w.waiting, w.size = state.Told{}, 0
	if w.room != nil {
		close(w.room)
		w.room = nil
	}
	return told
}

func (w *scribe) write() {
	defer close(w.done)
	last := int64(0) // the place that was written last
	for range w.news {
		told := w.take()
		if len(told.Data) == 0 && !told.Over {
			continue
		}
		first, ok := w.safe(told, last)
		if !ok {
			w.run.cancel(errForgot)
			return
		}
		if n := len(told.Data); n > 0 {
			w.run.add(first, told.Data...)
			last = first + int64(n) - 1
		}
		if told.Over {
			return
		}
	}
}

// safe writes until it is written, or the store will not have it. A store that is
// gone is waited for as long as the run may take: what is told stays here meanwhile.
func (w *scribe) safe(told state.Told, last int64) (first int64, ok bool) {
	wait := retry
	patience := context.WithoutCancel(w.run.ctx)
	patience, cancel := context.WithTimeout(patience, storeGone)
	defer cancel()
	defer func() { w.s.hub.waiting.done(w.s, w.run, ok) }()
	for {
		ctx, stop := context.WithTimeout(patience, storing)
		first, canceled, err := w.store.Tell(ctx, w.run.ref, told)
		stop()
		if canceled {
			w.run.cancel(errCanceled)
		}
		if err == nil {
			return first, true
		}
		if first, ok = w.was(patience, told, last); ok {
			return first, true
		}
		if errors.Is(err, state.ErrUnknown) { // it was forgotten, or buried by another
			return 0, false
		}
		w.s.hub.waiting.wait(w.s, w.run, err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-patience.Done():
			timer.Stop()
			return 0, false
		}
		wait = min(2*wait, mostRetry)
	}
}

// storeGone is how long a store may be gone before a run is given up.
const storeGone = 10 * time.Minute

// was says whether something was written although the store could not say so.
func (w *scribe) was(ctx context.Context, told state.Told, last int64) (first int64, ok bool) {
	ctx, stop := context.WithTimeout(ctx, storing)
	defer stop()
	entries, over, err := w.store.After(ctx, w.run.ref, last, 1)
	switch {
	case err != nil:
		return 0, false
	case len(told.Data) == 0:
		return 0, told.Over && over
	case len(entries) == 0 || !bytes.Equal(entries[0].Data, told.Data[0]): // what another wrote is not ours
		return 0, false
	}
	return entries[0].At, true
}
