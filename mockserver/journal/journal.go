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
	cfg       Config
	secrets   secretNames
	heldBytes atomic.Int64  // bytes of all that is kept
	forgotten atomic.Uint64 // exchanges that went over the bounds
	feed      feed
	waiters   waiters

	mu          sync.Mutex // never taken while a slot is locked
	lastID      uint64
	entries     []*entryBuffer   // by number
	oldFindings []LocatedFinding // what was found in exchanges that are no longer kept
	freeBuffers []*entryBuffer   // ended and forgotten: their memory is used again
}

// New makes a journal.
func New(cfg Config) *Journal {
	cfg.Entries = cmp.Or(max(cfg.Entries, 0), defaultEntries)
	cfg.Bytes = cmp.Or(max(cfg.Bytes, 0), defaultBytes)
	cfg.Body = cmp.Or(max(cfg.Body, 0), defaultBody)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Journal{cfg: cfg, secrets: secretNames{extra: cfg.Secrets}}
}

// Forgotten is how many exchanges are no longer kept because they were too many, or
// took too much memory. Those of a Reset are not among them.
func (j *Journal) Forgotten() uint64 { return j.forgotten.Load() }

// Bytes is how much memory the exchanges take, about.
func (j *Journal) Bytes() int64 { return j.heldBytes.Load() }

// Reset forgets the exchanges of one test, and of no other. Those that are still going
// on are forgotten too.
func (j *Journal) Reset(test string) {
	j.dropTests(func(in string) bool { return in == test })
	j.publish(Note{Kind: NoteReset, Test: test})
}

// Clear forgets everything.
func (j *Journal) Clear() {
	j.dropTests(func(string) bool { return true })
	j.publish(Note{Kind: NoteReset})
}

func (j *Journal) dropTests(gone func(test string) bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.oldFindings = slices.DeleteFunc(j.oldFindings, func(of LocatedFinding) bool { return gone(of.Test) })
	j.entries = slices.DeleteFunc(j.entries, func(s *entryBuffer) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !gone(s.test) {
			return false
		}
		j.recycle(s)
		return true
	})
}

// recycle gives a slot's memory back. Both locks are held. Where the exchange goes on,
// nothing more of it is written: the slot has another number.
func (j *Journal) recycle(s *entryBuffer) {
	j.heldBytes.Add(-s.countedBytes)
	s.reset()
	if len(j.freeBuffers) < maxFreeBuffers {
		j.freeBuffers = append(j.freeBuffers, s)
	}
}

// maxFreeBuffers is how many slots wait for their next use, and maxIdleBytes how much memory one
// of them may keep meanwhile.
const (
	maxFreeBuffers = 64
	maxIdleBytes   = 8 << 10
)

// enforceLimits forgets what is too much. The lock is held.
func (j *Journal) enforceLimits() {
	n := 0
	for n < len(j.entries) && (len(j.entries)-n > j.cfg.Entries || j.heldBytes.Load() > j.cfg.Bytes) {
		s := j.entries[n]
		s.mu.Lock()
		j.keepFindings(s)
		j.recycle(s)
		s.mu.Unlock()
		n++
	}
	if n > 0 {
		j.forgotten.Add(uint64(n))
		j.entries = j.entries[:copy(j.entries, j.entries[n:])]
	}
}

// A entryRef is one exchange; the slot may meanwhile be another's.
type entryRef struct {
	buffer *entryBuffer
	id     uint64
}

// lock locks the slot, if it is still that of the exchange.
func (r entryRef) lock() bool {
	r.buffer.mu.Lock()
	if r.buffer.id == r.id {
		return true
	}
	r.buffer.mu.Unlock()
	return false
}

// entryRefs are the exchanges that are kept, by number.
func (j *Journal) entryRefs() []entryRef {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := make([]entryRef, len(j.entries))
	for i, s := range j.entries {
		all[i] = entryRef{s, s.id} // it changes only under this lock
	}
	return all
}
