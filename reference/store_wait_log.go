package reference

import (
	"sync"
	"time"
)

// A storeWaitLog logs warnings when runs wait for an unavailable store. It logs at most one warning
// per storeWaitLogInterval, regardless of the number of runs that wait.
type storeWaitLog struct {
	mu          sync.Mutex
	waiting     map[*run]time.Time // the time at which each waiting run began to wait
	warned      bool               // a warning was logged since the store was last available
	nextWarning time.Time          // no warning is logged before this time
}

// storeWaitLogInterval is the minimum time between two warnings about waiting runs.
const storeWaitLogInterval = 10 * time.Second

// noteWaiting records that the store did not accept events of the run r for the given reason. It
// logs a warning unless one was logged within the last storeWaitLogInterval.
func (l *storeWaitLog) noteWaiting(s *Server, r *run, reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if _, known := l.waiting[r]; !known {
		l.waiting[r] = now
	}
	if now.Before(l.nextWarning) {
		return
	}
	l.nextWarning, l.warned = now.Add(storeWaitLogInterval), true
	s.cfg.Log.Warn("a run waits for its store", "dialect", s.dialect.Name, "run", r.id,
		"waited", now.Sub(l.waiting[r]).Round(time.Millisecond), "waiting", len(l.waiting), "err", reason)
}

// noteDone records that the run r no longer waits for the store. If kept is false, the events of
// the run were not stored, and noteDone logs an error. Otherwise, if no other run waits and a
// warning was logged, it logs that the store is available again. It does nothing if r did not wait.
func (l *storeWaitLog) noteDone(s *Server, r *run, kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, waited := l.waiting[r]
	if !waited {
		return
	}
	delete(l.waiting, r)
	took := time.Since(since).Round(time.Millisecond)
	switch {
	case !kept:
		s.cfg.Log.Error("a run was given up: the store did not accept its events", "dialect", s.dialect.Name, "run", r.id, "waited", took)
	case l.warned && len(l.waiting) == 0:
		s.cfg.Log.Info("the store is available again", "dialect", s.dialect.Name, "run", r.id, "waited", took)
		l.warned = false
	}
}
