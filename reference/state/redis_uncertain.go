package state

import (
	"context"
	"sync"
	"time"
)

// maxUncertain bounds how many runs are remembered whose Begin is in doubt.
const maxUncertain = 10_000

// A uncertainRuns is what is known of runs whose Begin failed, although it may have been done:
// the answer was lost. They are this replica's, and nobody would ever end them.
type uncertainRuns struct {
	mu   sync.Mutex
	runs map[RunRef]uncertainRun
}

type uncertainRun struct {
	task, token string
	since       time.Time
}

// add remembers one.
func (l *uncertainRuns) add(b RunRequest, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs == nil {
		l.runs = map[RunRef]uncertainRun{}
	}
	if len(l.runs) < maxUncertain {
		l.runs[b.RunRef] = uncertainRun{b.TaskID, token, time.Now()}
	}
}

// takeToken is the token under which the very same was tried before.
func (l *uncertainRuns) takeToken(b RunRequest) (token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run, ok := l.runs[b.RunRef]; ok && run.task == b.TaskID {
		delete(l.runs, b.RunRef)
		return run.token
	}
	return ""
}

// due lists those that nobody has tried again for a time, at most so many.
func (l *uncertainRuns) due(after time.Duration, most int) map[RunRef]uncertainRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := map[RunRef]uncertainRun{}
	for ref, run := range l.runs {
		if time.Since(run.since) >= after && len(due) < most {
			due[ref] = run
		}
	}
	return due
}

// remove is whether it was there still.
func (l *uncertainRuns) remove(ref RunRef, run uncertainRun) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[ref] != run {
		return false
	}
	delete(l.runs, ref)
	return true
}

// resolveUncertain lists the runs that were begun here without anybody knowing. What cannot
// be found out now is asked the next time.
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
