package reference

import (
	"sync"
	"time"
)

// A storeWaitLog logs that runs wait for an unavailable store: one record per interval,
// however many runs wait.
type storeWaitLog struct {
	mu          sync.Mutex
	waiting     map[*run]time.Time // since when each run waits
	warned      bool               // a warning was logged that is not resolved yet
	nextWarning time.Time          // no warning before
}

// storeWaitLogInterval is the least time between two warnings.
const storeWaitLogInterval = 10 * time.Second

// noteWaiting records that the store failed to take events of a run, and may log a
// warning.
func (l *storeWaitLog) noteWaiting(s *Server, r *run, reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.waiting == nil {
		l.waiting = map[*run]time.Time{}
	}
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

// noteDone records that a run no longer waits: its events were stored or, if kept is
// false, given up.
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
