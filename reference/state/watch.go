package state

import "sync"

// mostCanceled is how many runs that are to be stopped wait for somebody to receive
// them. What nobody receives is left out in the end: Tell says so, too.
const mostCanceled = 1024

// A bell tells those who wait in this process.
type bell struct {
	mu       sync.Mutex
	waiting  map[string][]chan struct{} // by thread
	canceled chan Ref
}

func newBell() *bell {
	return &bell{waiting: map[string][]chan struct{}{}, canceled: make(chan Ref, mostCanceled)}
}

func (b *bell) Canceled() <-chan Ref { return b.canceled }

func (b *bell) Watch(thread string) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[thread] = append(b.waiting[thread], c)
	return c, func() { b.leave(thread, c) }
}

func (b *bell) leave(thread string, c chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.waiting[thread]
	for i := range all {
		if all[i] == c {
			last := len(all) - 1
			all[i], all[last] = all[last], nil
			b.waiting[thread] = all[:last]
			break
		}
	}
	if len(b.waiting[thread]) == 0 {
		delete(b.waiting, thread)
	}
}

// ring wakes those who watch a thread.
func (b *bell) ring(thread string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.waiting[thread] {
		select {
		case c <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}

// ask hands on that a run is to be stopped.
func (b *bell) ask(run Ref) {
	select {
	case b.canceled <- run:
	default:
	}
}
