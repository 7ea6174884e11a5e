package reference

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/streamassay/streamassay/spec"
)

// mostKept bounds the bytes of finished runs that are kept, however few they are.
const mostKept = 256 << 20

// A store remembers conversations and their runs, in memory. Finished runs are
// forgotten oldest first; a conversation is forgotten with its last run.
type store struct {
	mu       sync.Mutex
	threads  map[string]*thread
	numbers  int // threads made so far
	finished []kept
	size     int // bytes of the finished
	retain   int
	replay   bool // finished runs can be listened to
}

// A kept is a finished run: where it stands, and the bytes that it holds.
type kept struct {
	thread *thread
	key    string // "" if there is nothing left of it
	size   int
}

// A thread is one conversation. But for issued, the store's lock guards it.
type thread struct {
	name   string
	number int
	issued atomic.Int64 // places handed out so far

	runs   map[string]*run
	count  int // runs that are not forgotten
	before string
	asked  bool
	more   chan struct{} // closed when a run is added
}

// cursor spells a place in the thread. It names the thread as well: a cursor of
// another one is of no use here.
func (t *thread) cursor(at int64) string { return fmt.Sprintf("%d-%d", at, t.number) }

// place reads a cursor back; ok is whether it was handed out in this thread.
func (t *thread) place(cursor string) (at int64, ok bool) {
	first, _, _ := strings.Cut(cursor, "-")
	at, err := strconv.ParseInt(first, 10, 64)
	return at, err == nil && at > 0 && at <= t.issued.Load() && t.cursor(at) == cursor
}

// find is the thread and the run of those names; either may be unknown. If the run
// is, more is closed when the thread gets another.
func (s *store) find(thread, run string) (t *thread, r *run, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.threads[thread]; t == nil {
		return nil, nil, nil
	}
	if r = t.runs[run]; r == nil && t.more == nil {
		t.more = make(chan struct{})
	}
	return t, r, t.more
}

// add puts a run into its thread, which is made if there is none; accept hears
// which, before anybody can find the run. A run whose key is there already is not
// added: was is that one. What the user says in ask is remembered; the turn says
// what was remembered before.
func (s *store) add(r *run, ask spec.Event, accept func(made bool)) (turn Turn, was *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.threads[ask.Thread]
	made := t == nil
	if made {
		t = &thread{name: ask.Thread, number: s.numbers, runs: map[string]*run{}}
		s.threads[ask.Thread] = t
		s.numbers++
	}
	if was = t.runs[r.key]; was != nil {
		return turn, was
	}
	accept(made)
	r.thread = t
	t.runs[r.key] = r
	t.count++
	if t.more != nil {
		close(t.more)
		t.more = nil
	}
	return t.remember(ask), nil
}

// remember makes the turn that a request is, and keeps what the user says in it.
func (t *thread) remember(ask spec.Event) Turn {
	turn := Turn{Event: ask, Before: t.before, Asked: t.asked}
	var users []string // clients may repeat the history
	for _, part := range ask.Parts {
		if part.Kind == spec.AskUser {
			users = append(users, part.Text)
		}
	}
	prompt, ok := ask.Prompt()
	switch n := len(users); {
	case ok && n > 1:
		turn.Before, turn.Asked = users[n-2], true
	case !ok && n > 0:
		turn.Before, turn.Asked = users[n-1], true
	}
	if ok {
		t.before, t.asked = prompt, true
	}
	return turn
}

// finish keeps a run that has ended, and forgets the oldest if there are too many.
func (s *store) finish(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := kept{thread: r.thread}
	if s.replay {
		k.key, k.size = r.key, r.size
	} else {
		delete(r.thread.runs, r.key) // whoever listens has the run itself
	}
	s.finished = append(s.finished, k)
	s.size += k.size
	for len(s.finished) > s.retain || s.size > mostKept && len(s.finished) > 1 {
		s.forget(s.finished[0])
		s.finished = s.finished[1:]
	}
}

func (s *store) forget(k kept) {
	s.size -= k.size
	if k.key != "" {
		delete(k.thread.runs, k.key)
	}
	if k.thread.count--; k.thread.count == 0 {
		delete(s.threads, k.thread.name)
	}
}

// named lists the runs of a thread that have a name, or all if it is "".
func (s *store) named(thread, run string) (all []*run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.threads[thread]; t != nil {
		for _, r := range t.runs {
			if run == "" || r.id == run {
				all = append(all, r)
			}
		}
	}
	return all
}
