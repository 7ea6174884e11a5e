package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
)

// A memory keeps everything in maps, under one lock: what is done under it takes less
// than a microsecond, so more of them would only cost.
type memory struct {
	*bell
	runs, bytes int64 // how many of those that are over are kept
	secret      [32]byte

	mu      sync.Mutex
	tag     uint32 // of the thread made last
	named   func(thread string) uint32
	threads map[string]*memThread
	all     map[Ref]*memRun
	owners  map[string]*memThread // the thread in which the owner's latest run was begun

	oldest, newest *memRun // those that are over, linked by next
	over, size     int64   // how many they are, and their bytes
}

// A memThread is in a ring of its owner's threads, the latest first.
type memThread struct {
	Thread
	name       string
	said       []*Message // nobody changes one
	dropped    int64      // messages that came before
	runs       int        // that are kept
	live       []*memRun  // that are not over
	prev, next *memThread
}

type memRun struct {
	ref     Ref
	thread  *memThread
	begun   Begun
	log     []Entry
	size    int64
	slot    int // in the thread's live ones
	logged  bool
	over    bool
	stopped bool    // Cancel was asked for
	next    *memRun // that was over next
}

// Memory is a store that ends with the process. It keeps the events it is told, and
// gives them to those who ask, without copying them: nobody may change them.
func Memory(cfg Config) Forgetful {
	m := &memory{
		bell:    newBell(),
		runs:    int64(cmp.Or(cfg.Runs, 1000)),
		bytes:   cmp.Or(cfg.Bytes, 256<<20),
		tag:     seed(),
		named:   cfg.Tag,
		threads: map[string]*memThread{},
		all:     map[Ref]*memRun{},
		owners:  map[string]*memThread{},
	}
	_, _ = rand.Read(m.secret[:]) // it never fails
	return m
}

func (m *memory) Begin(ctx context.Context, b Beginning) (Begun, error) {
	if err := ctx.Err(); err != nil {
		return Begun{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.threads[b.Thread]
	if t != nil && t.Owner != b.Owner {
		return Begun{}, ErrOwner
	}
	if r := m.all[b.Ref]; r != nil {
		again := r.begun
		again.Made, again.Again = false, true
		return again, nil
	}
	made := t == nil
	if made {
		t = m.make(b)
	}
	m.front(t)
	r := &memRun{ref: b.Ref, thread: t, logged: b.Logged, slot: len(t.live)}
	r.begun = Begun{Made: made, Task: b.Task, At: b.At, First: t.dropped + int64(len(t.said)) + 1}
	m.all[b.Ref] = r
	t.runs++
	t.live = append(t.live, r)
	t.say(b.Said)
	m.ring(b.Thread)
	return r.begun, nil
}

func (m *memory) make(b Beginning) *memThread {
	m.tag++
	if m.named != nil {
		m.tag = m.named(b.Thread)
	}
	t := &memThread{Thread: Thread{Owner: b.Owner, Tag: m.tag}, name: b.Thread}
	t.prev, t.next = t, t
	m.threads[b.Thread] = t
	return t
}

// front makes a thread its owner's latest.
func (m *memory) front(t *memThread) {
	first := m.owners[t.Owner]
	if first == t {
		return
	}
	m.owners[t.Owner] = t
	if first != nil {
		t.prev.next, t.next.prev = t.next, t.prev
		t.prev, t.next = first.prev, first
		t.prev.next, t.next.prev = t, t
	}
}

func (t *memThread) say(said []Message) {
	kept := slices.Clone(said)
	for i := range kept {
		kept[i].Seq = t.dropped + int64(len(t.said)) + 1
		t.said = append(t.said, &kept[i])
	}
	if more := len(t.said) - mostSaid; more > saidStep {
		t.said = slices.Clone(t.said[more:]) // others may read what was
		t.dropped += int64(more)
	}
}

func (m *memory) Tell(ctx context.Context, run Ref, told Told) (first int64, canceled bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.all[run]
	if r == nil || r.over {
		return 0, false, ErrUnknown
	}
	t := r.thread
	first = t.Last + 1
	if r.logged {
		r.log = slices.Grow(r.log, len(told.Data))
		for _, data := range told.Data {
			t.Last++
			r.log = append(r.log, Entry{At: t.Last, Data: data})
			r.size += int64(len(data))
		}
	}
	t.say(told.Said)
	if told.Over {
		m.end(r)
	}
	m.ring(run.Thread)
	return first, r.stopped, nil
}

// end puts a run behind those that are over, and forgets the oldest of them while
// there are too many.
func (m *memory) end(r *memRun) {
	live := r.thread.live
	last := live[len(live)-1]
	live[r.slot], last.slot = last, r.slot
	live[len(live)-1] = nil
	r.thread.live = live[:len(live)-1]

	r.over = true
	if m.newest != nil {
		m.newest.next = r
	} else {
		m.oldest = r
	}
	m.newest = r
	m.over++
	for m.size += r.size; m.over > m.runs || m.size > m.bytes; {
		m.forget()
	}
}

func (m *memory) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.oldest != nil {
		m.forget()
	}
}

// forget drops the oldest run that is over, and its thread if it was the last one.
func (m *memory) forget() {
	r := m.oldest
	if m.oldest = r.next; m.oldest == nil {
		m.newest = nil
	}
	m.over--
	m.size -= r.size
	delete(m.all, r.ref)
	t := r.thread
	if n := len(r.log); n > 0 {
		t.Lost = max(t.Lost, r.log[n-1].At)
	}
	if t.runs--; t.runs > 0 {
		return
	}
	delete(m.threads, t.name)
	switch first := m.owners[t.Owner]; {
	case t.next == t:
		delete(m.owners, t.Owner)
	case first == t:
		m.owners[t.Owner] = t.next
	}
	t.prev.next, t.next.prev = t.next, t.prev
}

func (m *memory) Cancel(ctx context.Context, run Ref) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if run.Run != "" {
		if r := m.all[run]; r != nil && !r.over {
			r.stopped = true
			m.ask(run)
		}
		return nil
	}
	if t := m.threads[run.Thread]; t != nil {
		for _, r := range t.live {
			r.stopped = true
			m.ask(r.ref)
		}
	}
	return nil
}
