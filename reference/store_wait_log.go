package reference

import (
	"sync"
	"time"
)

// storeWaitLog writes down that runs wait for their store: one line now and then, however
// many wait.
type storeWaitLog struct {
	mu          sync.Mutex
	waiting     map[*run]time.Time // since when
	warned      bool               // there was a line, and none yet that it is over
	nextWarning time.Time          // no line before
}

// storeWaitLogInterval is how often there is a line about runs that wait.
const storeWaitLogInterval = 10 * time.Second

// noteWaiting notes that a run could not be written down.
func (l *storeWaitLog) noteWaiting(s *Server, r *run, why error) {
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
		"waited", now.Sub(l.waiting[r]).Round(time.Millisecond), "waiting", len(l.waiting), "err", why)
}

// noteDone notes that a run does not wait any more: it was written down, or given up.
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
		s.cfg.Log.Error("a run was given up: the store did not take it", "dialect", s.dialect.Name, "run", r.id, "waited", took)
	case l.warned && len(l.waiting) == 0:
		s.cfg.Log.Info("the store takes runs again", "dialect", s.dialect.Name, "run", r.id, "waited", took)
		l.warned = false
	}
}
