package state

import (
	"cmp"
	"container/list"
	"context"
	"crypto/rand"
	"slices"
	"sync"
)

// A memory is a Store that keeps everything in maps. One lock guards all maps; no method holds the
// lock while it waits.
type memory struct {
	*Notifier
	maxRuns  int      // maximum number of ended runs
	maxBytes int64    // maximum size of the events of ended runs, in bytes
	secret   [32]byte // what Secret returns

	mu            sync.Mutex
	lastTag       uint32                     // tag of the thread created last
	threadTag     func(thread string) uint32 // Config.ThreadTag; nil: tags are consecutive
	threads       map[string]*memThread      // by name
	runs          map[RunRef]*memRun
	byOwner       map[string]*list.List // threads (*memThread) of each owner, the one with the latest run first
	finished      []*memRun             // ended runs, in the order in which they ended
	finishedBytes int64                 // bytes of their events
}

// A memThread is a thread with its messages and runs.
type memThread struct {
	Thread
	name            string
	messages        []*Message    // the messages are shared with readers and never modified
	droppedMessages int64         // number of messages that were dropped
	runs            int           // number of runs that are kept
	running         []*memRun     // runs that have not ended
	element         *list.Element // this thread in the list memory.byOwner[Owner]
}

// A memRun is a run together with the log of its events.
type memRun struct {
	ref             RunRef
	thread          *memThread
	info            StartRunResult // result of the call of StartRun that started the run
	log             []LogEntry
	size            int64 // bytes of the events in log
	keepEvents      bool  // Append adds events to log
	finished        bool  // the run has ended
	cancelRequested bool  // Cancel was called
}

// MemoryMaxRuns is the default of Config.MaxRuns of a store in memory.
const MemoryMaxRuns = 10_000

// NewMemory returns a store that keeps everything in memory. The store retains the slices of events
// that it receives, and returns the same slices. Callers must not modify them.
func NewMemory(cfg Config) Resetter {
	m := &memory{
		Notifier:  NewNotifier(MaxCanceled, nil),
		maxRuns:   cmp.Or(cfg.MaxRuns, MemoryMaxRuns),
		maxBytes:  cmp.Or(cfg.MaxBytes, 256<<20),
		lastTag:   RandomTag(),
		threadTag: cfg.ThreadTag,
		threads:   map[string]*memThread{},
		runs:      map[RunRef]*memRun{},
		byOwner:   map[string]*list.List{},
	}
	_, _ = rand.Read(m.secret[:]) // never fails
	return m
}

func (m *memory) StartRun(ctx context.Context, b StartRunRequest) (StartRunResult, error) {
	if err := ctx.Err(); err != nil {
		return StartRunResult{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.threads[b.Thread]
	if t != nil && t.Owner != b.Owner {
		return StartRunResult{}, ErrNotOwner
	}
	if r := m.runs[b.RunRef]; r != nil {
		existing := r.info
		existing.ThreadCreated, existing.Existed = false, true
		return existing, nil
	}
	isNew := t == nil
	if isNew {
		t = m.newThread(b)
	}
	m.byOwner[t.Owner].MoveToFront(t.element)
	r := &memRun{ref: b.RunRef, thread: t, keepEvents: b.KeepEvents}
	r.info = StartRunResult{
		ThreadCreated: isNew, TaskID: b.TaskID, StartedAt: b.StartedAt,
		FirstMessage: t.droppedMessages + int64(len(t.messages)) + 1,
	}
	m.runs[b.RunRef] = r
	t.runs++
	t.running = append(t.running, r)
	t.addMessages(b.Messages)
	m.Notify(b.Thread)
	return r.info, nil
}

func (m *memory) newThread(b StartRunRequest) *memThread {
	m.lastTag++
	if m.threadTag != nil {
		m.lastTag = m.threadTag(b.Thread)
	}
	t := &memThread{Thread: Thread{Owner: b.Owner, Tag: m.lastTag}, name: b.Thread}
	m.threads[b.Thread] = t
	if m.byOwner[b.Owner] == nil {
		m.byOwner[b.Owner] = list.New()
	}
	t.element = m.byOwner[b.Owner].PushFront(t)
	return t
}

func (t *memThread) addMessages(messages []Message) {
	kept := slices.Clone(messages)
	for i := range kept {
		kept[i].Seq = t.droppedMessages + int64(len(t.messages)) + 1
		t.messages = append(t.messages, &kept[i])
	}
	if more := len(t.messages) - MaxMessages; more > TrimStep {
		t.messages = slices.Clone(t.messages[more:]) // readers may hold the old slice
		t.droppedMessages += int64(more)
	}
}

func (m *memory) Append(ctx context.Context, run RunRef, update AppendBatch) (first int64, canceled bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[run]
	if r == nil || r.finished {
		return 0, false, ErrNotFound
	}
	t := r.thread
	first = t.LastPosition + 1
	if r.keepEvents {
		r.log = slices.Grow(r.log, len(update.Events))
		for _, data := range update.Events {
			t.LastPosition++
			r.log = append(r.log, LogEntry{Position: t.LastPosition, Data: data})
			r.size += int64(len(data))
		}
	}
	t.addMessages(update.Messages)
	if update.End {
		m.finishRun(r)
	}
	m.Notify(run.Thread)
	return first, r.cancelRequested, nil
}

// finishRun marks a run as ended. It then drops ended runs, oldest first, until the number of ended
// runs and the size of their events are within the limits. The caller must hold m.mu.
func (m *memory) finishRun(r *memRun) {
	t := r.thread
	i := slices.Index(t.running, r)
	t.running = slices.Delete(t.running, i, i+1)
	r.finished = true
	m.finished = append(m.finished, r)
	m.finishedBytes += r.size
	for len(m.finished) > m.maxRuns || m.finishedBytes > m.maxBytes {
		m.forgetOldest()
	}
}

func (m *memory) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.finished) > 0 {
		m.forgetOldest()
	}
}

// forgetOldest drops the run that ended first. If the thread of that run then has no runs,
// forgetOldest drops the thread as well. It panics if no run has ended. The caller must hold m.mu.
func (m *memory) forgetOldest() {
	r := m.finished[0]
	m.finished[0] = nil // frees the run before the slice is copied
	m.finished = m.finished[1:]
	m.finishedBytes -= r.size
	delete(m.runs, r.ref)
	t := r.thread
	if n := len(r.log); n > 0 {
		t.LastForgotten = max(t.LastForgotten, r.log[n-1].Position)
	}
	if t.runs--; t.runs > 0 {
		return
	}
	delete(m.threads, t.name)
	others := m.byOwner[t.Owner]
	if others.Remove(t.element); others.Len() == 0 {
		delete(m.byOwner, t.Owner)
	}
}

func (m *memory) Cancel(ctx context.Context, run RunRef) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if run.Run != "" {
		if r := m.runs[run]; r != nil && !r.finished {
			r.cancelRequested = true
			m.NotifyCanceled(run)
		}
		return nil
	}
	if t := m.threads[run.Thread]; t != nil {
		for _, r := range t.running {
			r.cancelRequested = true
			m.NotifyCanceled(r.ref)
		}
	}
	return nil
}
