package state

import (
	"slices"
	"sync"
)

// MaxCanceled is the capacity of the channel that [Store].Canceled returns, in stores that are used
// by only one process.
const MaxCanceled = 1024

// A Notifier implements the methods Watch and Canceled of [Store].
type Notifier struct {
	mu         sync.Mutex
	watchers   map[string][]chan struct{}        // channels returned by Watch, by thread
	canceled   chan RunRef                       // what Canceled returns
	setWatched func(thread string, watched bool) // as for NewNotifier; never nil
}

// NewNotifier returns a notifier without watchers. The parameter maxCanceled is the capacity of the
// channel that Canceled returns. If setWatched is not nil, the notifier calls setWatched(thread,
// true) when a thread gets its first watcher, and setWatched(thread, false) when its last watcher
// stops. Calls of setWatched do not overlap; setWatched must not call methods of the notifier.
func NewNotifier(maxCanceled int, setWatched func(thread string, watched bool)) *Notifier {
	if setWatched == nil {
		setWatched = func(string, bool) {}
	}
	return &Notifier{
		watchers: map[string][]chan struct{}{}, canceled: make(chan RunRef, maxCanceled), setWatched: setWatched,
	}
}

func (b *Notifier) Canceled() <-chan RunRef { return b.canceled }

func (b *Notifier) Watch(thread string) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watchers[thread] = append(b.watchers[thread], c); len(b.watchers[thread]) == 1 {
		b.setWatched(thread, true)
	}
	return c, sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		rest := slices.DeleteFunc(b.watchers[thread], func(other chan struct{}) bool { return other == c })
		if b.watchers[thread] = rest; len(rest) == 0 {
			delete(b.watchers, thread)
			b.setWatched(thread, false)
		}
	})
}

// Notify wakes all watchers of a thread: it sends a value to each of their channels that is not
// full. It never blocks.
func (b *Notifier) Notify(thread string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.watchers[thread] {
		select {
		case c <- struct{}{}:
		default: // it has a notification that was not received yet
		}
	}
}

// NotifyCanceled sends run to the channel that Canceled returns. If the channel is full,
// NotifyCanceled does nothing; the process that executes the run then learns of the cancellation
// from Append.
func (b *Notifier) NotifyCanceled(run RunRef) {
	select {
	case b.canceled <- run:
	default:
	}
}
