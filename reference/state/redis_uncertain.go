package state

import (
	"context"
	"sync"
	"time"
)

// maxUncertain is how many uncertain runs are remembered.
const maxUncertain = 10_000

// possiblyStartedRuns are the runs whose StartRun failed although the server may have
// executed it. Such a run belongs to this replica, which would otherwise never end it.
type possiblyStartedRuns struct {
	mu   sync.Mutex
	runs map[RunRef]uncertainRun
}

// An uncertainRun is the task id and token of a failed StartRun.
type uncertainRun struct {
	task, token string
	since       time.Time
}

// add remembers a failed StartRun.
func (l *possiblyStartedRuns) add(b RunRequest, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil {
		l.runs = map[RunRef]uncertainRun{}
	}
	if len(l.runs) < maxUncertain {
		l.runs[b.RunRef] = uncertainRun{b.TaskID, token, time.Now()}
	}
}

// takeToken returns the token of a failed StartRun that b repeats, and forgets it.
func (l *possiblyStartedRuns) takeToken(b RunRequest) (token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run, ok := l.runs[b.RunRef]; ok && run.task == b.TaskID {
		delete(l.runs, b.RunRef)
		return run.token
	}
	return ""
}

// due returns at most limit runs that were not retried for the given time.
func (l *possiblyStartedRuns) due(after time.Duration, limit int) map[RunRef]uncertainRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := map[RunRef]uncertainRun{}
	for ref, run := range l.runs {
		if time.Since(run.since) >= after && len(due) < limit {
			due[ref] = run
		}
	}
	return due
}

// remove forgets a run, and reports whether it was still remembered.
func (l *possiblyStartedRuns) remove(ref RunRef, run uncertainRun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[ref] != run {
		return false
	}
	delete(l.runs, ref)
	return true
}

// resolveUncertain returns the runs of this replica that were stored although StartRun
// failed. Those that cannot be looked up now are left for the next call.
func (s *redisStore) resolveUncertain(ctx context.Context) (runs []RunRef) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	for ref, run := range s.uncertain.due(s.cfg.DeadAfter, maxTakeover) {
		v, err := s.client.HMGet(ctx, s.key("r:", ref.encode()), "born", "over", "by").Result()
		if err != nil {
			break
		}
		if s.uncertain.remove(ref, run) && v[0] == s.replica+run.token && v[1] == "0" && v[2] == s.replica {
			runs = append(runs, ref)
		}
	}
	return runs
}
