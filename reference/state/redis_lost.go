package state

import (
	"context"
	"sync"
	"time"
)

// mostLost bounds how many runs are remembered whose Begin is in doubt.
const mostLost = 10_000

// A lost is what is known of runs whose Begin failed, although it may have been done:
// the answer was lost. They are this replica's, and nobody would ever end them.
type lost struct {
	mu  sync.Mutex
	all map[Ref]lostRun
}

type lostRun struct {
	task, token string
	at          time.Time
}

// add remembers one.
func (l *lost) add(b Beginning, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[Ref]lostRun{}
	}
	if len(l.all) < mostLost {
		l.all[b.Ref] = lostRun{b.Task, token, time.Now()}
	}
}

// found is the token under which the very same was tried before.
func (l *lost) found(b Beginning) (token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run, ok := l.all[b.Ref]; ok && run.task == b.Task {
		delete(l.all, b.Ref)
		return run.token
	}
	return ""
}

// due lists those that nobody has tried again for a time, at most so many.
func (l *lost) due(after time.Duration, most int) map[Ref]lostRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := map[Ref]lostRun{}
	for ref, run := range l.all {
		if time.Since(run.at) >= after && len(due) < most {
			due[ref] = run
		}
	}
	return due
}

// take is whether it was there still.
func (l *lost) take(ref Ref, run lostRun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[ref] != run {
		return false
	}
	delete(l.all, ref)
	return true
}

// lostRuns lists the runs that were begun here without anybody knowing. What cannot
// be found out now is asked the next time.
func (s *redisStore) lostRuns(ctx context.Context) (runs []Ref) {
	ctx, cancel := context.WithTimeout(ctx, redisWait)
	defer cancel()
	for ref, run := range s.lost.due(s.cfg.Dead, mostTaken) {
		v, err := s.db.HMGet(ctx, s.key("r:", ref.id()), "born", "over", "by").Result()
		if err != nil {
			break
		}
		if s.lost.take(ref, run) && v[0] == s.me+run.token && v[1] == "0" && v[2] == s.me {
			runs = append(runs, ref)
		}
	}
	return runs
}
