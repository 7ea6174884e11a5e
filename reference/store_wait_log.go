package reference

import (
	"sync"
	"time"
)

// A storeWaitLog logs that runs wait for a store that is unavailable. It writes at most one warning
// per storeWaitLogInterval, however many runs wait.
type storeWaitLog struct {
	mu          sync.Mutex
	waiting     map[*run]time.Time // since when each run waits
	warned      bool               // a warning was logged, but not yet that the store is available again
	nextWarning time.Time          // no warning is logged before this time
}

// storeWaitLogInterval is the shortest time between two warnings that runs wait for the store.
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

// noteDone records that the run r no longer waits for the store. It does nothing if r did not wait.
// kept states whether the run's events were stored; if not, the run was given up, and noteDone logs
// an error.
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
