package state

import (
	"slices"
	"sync"
)

// maxCanceled is the capacity of the channel that Canceled returns, in runs. If the channel is
// full, further canceled runs are dropped; the processes that execute those runs then learn from
// Append that they were canceled.
const maxCanceled = 1024

// A Notifier implements the methods Watch and Canceled of [Store] for stores that only one process
// uses.
type Notifier struct {
	mu       sync.Mutex
	watchers map[string][]chan struct{} // by thread
	canceled chan RunRef                // what Canceled returns
}

// NewNotifier returns a notifier without watchers.
func NewNotifier() *Notifier {
	return &Notifier{watchers: map[string][]chan struct{}{}, canceled: make(chan RunRef, maxCanceled)}
}

func (b *Notifier) Canceled() <-chan RunRef { return b.canceled }

func (b *Notifier) Watch(thread string) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.watchers[thread] = append(b.watchers[thread], c)
	return c, func() { b.removeWatcher(thread, c) }
}

func (b *Notifier) removeWatcher(thread string, c chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := slices.DeleteFunc(b.watchers[thread], func(other chan struct{}) bool { return other == c })
	if b.watchers[thread] = rest; len(rest) == 0 {
		delete(b.watchers, thread)
	}
}

// Notify wakes all watchers of a thread by sending to their channels. It never blocks.
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

// NotifyCanceled sends run to the channel that Canceled returns, or drops it if the channel is
// full.
func (b *Notifier) NotifyCanceled(run RunRef) {
	select {
	case b.canceled <- run:
	default:
	}
}
