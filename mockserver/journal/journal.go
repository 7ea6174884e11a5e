// Package journal keeps what was asked of a mock server and what it really delivered,
// bounded by count and by bytes. It judges the client only by what the server heard in
// its requests, and by what it had sent before. It does not know scripts, how a reply
// came about, or what the frames of any dialect mean.
package journal

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Config is how much is kept, and what is not. The zero value has the defaults.
type Config struct {
	Entries int      // how many exchanges: 1000
	Bytes   int64    // how much memory they may take together: 64 MiB
	Body    int      // how much is kept of the body of one request, and of one reply: 64 KiB
	Secrets []string // names of more headers and query parameters that nobody may read, besides those that are known as credentials
	Now     func() time.Time
	Cursor  func(string) string // what a cursor as it stands on the wire means; nil: itself
}

// The defaults.
const (
	defaultEntries = 1000
	defaultBytes   = 64 << 20
	defaultBody    = 64 << 10
)

// A Journal is what was asked and what was delivered. It is safe for concurrent use;
// what is old is forgotten first.
type Journal struct {
	cfg     Config
	names   names
	held    atomic.Int64  // bytes of all that is kept
	forgot  atomic.Uint64 // exchanges that went over the bounds
	feed    feed
	waiters waiters

	mu   sync.Mutex // never taken while a slot is locked
	next uint64
	ring []*slot // by number
	old  []Found // what was found in exchanges that are no longer kept
	free []*slot // ended and forgotten: their memory is used again
}

// New makes a journal.
func New(cfg Config) *Journal {
	cfg.Entries = cmp.Or(max(cfg.Entries, 0), defaultEntries)
	cfg.Bytes = cmp.Or(max(cfg.Bytes, 0), defaultBytes)
	cfg.Body = cmp.Or(max(cfg.Body, 0), defaultBody)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Journal{cfg: cfg, names: names{more: cfg.Secrets}}
}

// Forgotten is how many exchanges are no longer kept because they were too many, or
// took too much memory. Those of a Reset are not among them.
func (j *Journal) Forgotten() uint64 { return j.forgot.Load() }

// Bytes is how much memory the exchanges take, about.
func (j *Journal) Bytes() int64 { return j.held.Load() }

// Reset forgets the exchanges of one test, and of no other. Those that are still going
// on are forgotten too.
func (j *Journal) Reset(test string) {
	j.drop(func(in string) bool { return in == test })
	j.tell(Note{Kind: NoteReset, Test: test})
}

// Clear forgets everything.
func (j *Journal) Clear() {
	j.drop(func(string) bool { return true })
	j.tell(Note{Kind: NoteReset})
}

func (j *Journal) drop(gone func(test string) bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.old = slices.DeleteFunc(j.old, func(of Found) bool { return gone(of.Test) })
	j.ring = slices.DeleteFunc(j.ring, func(s *slot) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !gone(s.test) {
			return false
		}
		j.forget(s)
		return true
	})
}

// forget gives a slot's memory back. Both locks are held. Where the exchange goes on,
// nothing more of it is written: the slot has another number.
func (j *Journal) forget(s *slot) {
	j.held.Add(-s.size)
	s.clear()
	if len(j.free) < mostFree {
		j.free = append(j.free, s)
	}
}

// mostFree is how many slots wait for their next use, and mostIdle how much memory one
// of them may keep meanwhile.
const (
	mostFree = 64
	mostIdle = 8 << 10
)

// bound forgets what is too much. The lock is held.
func (j *Journal) bound() {
	n := 0
	for n < len(j.ring) && (len(j.ring)-n > j.cfg.Entries || j.held.Load() > j.cfg.Bytes) {
		s := j.ring[n]
		s.mu.Lock()
		j.remember(s)
		j.forget(s)
		s.mu.Unlock()
		n++
	}
	if n > 0 {
		j.forgot.Add(uint64(n))
		j.ring = j.ring[:copy(j.ring, j.ring[n:])]
	}
}

// A ref is one exchange; the slot may meanwhile be another's.
type ref struct {
	s *slot
	n uint64
}

// lock locks the slot, if it is still that of the exchange.
func (r ref) lock() bool {
	r.s.mu.Lock()
	if r.s.n == r.n {
		return true
	}
	r.s.mu.Unlock()
	return false
}

// refs are the exchanges that are kept, by number.
func (j *Journal) refs() []ref {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := make([]ref, len(j.ring))
	for i, s := range j.ring {
		all[i] = ref{s, s.n} // it changes only under this lock
	}
	return all
}
