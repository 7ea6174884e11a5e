// Package journal records the requests that a mock server receives and the responses that it sends,
// limited by number and by memory. It judges clients by their requests and by what the server sent
// to them before. The package is independent of scripts and does not decode the frames of any
// dialect.
package journal

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamassay/streamassay/spec/dialect"
)

// A Config sets the limits of a journal and how it treats secrets and cursors. The zero value is
// valid.
type Config struct {
	Entries int   // maximum number of exchanges; 0 or less: 1000
	Bytes   int64 // maximum memory of all exchanges together, in bytes; 0 or less: 64 MiB
	Body    int   // maximum number of bytes kept of each request and response body; 0 or less: 64 KiB

	// Secrets names headers and query parameters whose values are redacted, in addition
	// to those that usually carry credentials.
	Secrets []string

	Dialects []*dialect.Dialect // dialects of the server; those that [dialect.Open] knows need not be listed

	Now    func() time.Time    // clock from which durations are computed; nil: time.Now
	Cursor func(string) string // decodes the id of an event in a response; nil: ids are not encoded
}

// DefaultConfig returns the default limits of a journal.
func DefaultConfig() Config { return Config{Entries: 1000, Bytes: 64 << 20, Body: 64 << 10} }

// A Journal holds the most recent exchanges of a mock server. When a limit is exceeded, the oldest
// exchanges are dropped first. It is safe for concurrent use.
type Journal struct {
	cfg       Config
	secrets   secretNames
	heldBytes atomic.Int64  // memory of all exchanges in bytes
	forgotten atomic.Uint64 // number of exchanges that were dropped because of a limit
	plans     sync.Map      // name of a dialect → [spec.Plan] for judging its clients
	feed      feed
	waiters   waiters

	mu            sync.Mutex // never acquired while a recordedExchange is locked
	lastID        uint64
	entries       []*recordedExchange  // sorted by id
	dropped       []exchangeEvaluation // evaluations of dropped exchanges that have findings
	freeExchanges []*recordedExchange  // unused ones, for reuse
}

// New returns an empty journal with the configuration cfg. It replaces each limit that is 0 or
// negative with its default.
func New(cfg Config) *Journal {
	d := DefaultConfig()
	cfg.Entries = cmp.Or(max(cfg.Entries, 0), d.Entries)
	cfg.Bytes = cmp.Or(max(cfg.Bytes, 0), d.Bytes)
	cfg.Body = cmp.Or(max(cfg.Body, 0), d.Body)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Journal{cfg: cfg, secrets: secretNames{SecretNames: cfg.Secrets}}
}

// Forgotten returns the number of exchanges that were dropped because of a limit. It does not count
// those that Reset or Clear removed.
func (j *Journal) Forgotten() uint64 { return j.forgotten.Load() }

// Bytes returns the approximate memory in bytes that the exchanges use.
func (j *Journal) Bytes() int64 { return j.heldBytes.Load() }

// Reset removes all exchanges whose test has the id test, including exchanges in progress, and all
// findings about them. If test is "", it removes the exchanges that belong to no test.
func (j *Journal) Reset(test string) {
	j.dropTests(func(in string) bool { return in == test })
	j.publish(FeedEvent{Kind: EventReset, Test: test})
}

// Clear removes all exchanges, including those in progress, and all findings.
func (j *Journal) Clear() {
	j.dropTests(func(string) bool { return true })
	j.publish(FeedEvent{Kind: EventReset, All: true})
}

// dropTests removes the exchanges and the stored findings of all tests whose ids satisfy match.
func (j *Journal) dropTests(match func(test string) bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.dropped = slices.DeleteFunc(j.dropped, func(v exchangeEvaluation) bool { return match(v.test) })
	j.entries = slices.DeleteFunc(j.entries, func(s *recordedExchange) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !match(s.test) {
			return false
		}
		j.recycle(s)
		return true
	})
}

// recycle clears s, so that it can hold another exchange. If the exchange in s is still in
// progress, its ExchangeRecorder has no effect from then on. The caller must hold the locks of the
// journal and of s.
func (j *Journal) recycle(s *recordedExchange) {
	j.heldBytes.Add(-s.countedBytes)
	s.reset()
	if len(j.freeExchanges) < maxFreeExchanges {
		j.freeExchanges = append(j.freeExchanges, s)
	}
}

// Limits on the unused exchanges that are kept for reuse: their number, and the size in bytes of
// each slice that an unused exchange may keep.
const (
	maxFreeExchanges = 64
	maxIdleBytes     = 8 << 10
)

// enforceLimits drops the oldest exchanges until the journal is within its limits of number and
// memory. The caller must hold j.mu.
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

// An exchangeHandle refers to an exchange. After the exchange is dropped, the memory at exchange
// may hold another exchange; exchange.id then differs from id.
type exchangeHandle struct {
	exchange *recordedExchange
	id       uint64
}

// lock reports whether r.exchange still holds the exchange with the id of r. If it does, lock
// returns with the lock of r.exchange held, and the caller must release it.
func (r exchangeHandle) lock() bool {
	r.exchange.mu.Lock()
	if r.exchange.id == r.id {
		return true
	}
	r.exchange.mu.Unlock()
	return false
}

// entryRefs returns references to the exchanges in the journal, sorted by id.
func (j *Journal) entryRefs() []exchangeHandle {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := make([]exchangeHandle, len(j.entries))
	for i, s := range j.entries {
		all[i] = exchangeHandle{s, s.id} // s.id changes only while j.mu is held
	}
	return all
}
