package durable

import (
	"context"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

// maxUncertain is the maximum number of runs in a possiblyStartedRuns.
const maxUncertain = 10_000

// possiblyStartedRuns holds the runs for which StartRun returned an error although the Redis server
// may have stored them. This replica must end those that were stored, because they are assigned to
// it.
type possiblyStartedRuns struct {
	mu   sync.Mutex
	runs map[state.RunRef]uncertainStart
}

// An uncertainStart describes a failed call of StartRun: its task id, its token, and the time of the
// failure.
type uncertainStart struct {
	task, token string
	since       time.Time
}

// add remembers that StartRun failed for the request b, which was sent with the given token. It
// does nothing if maxUncertain runs are remembered already.
func (l *possiblyStartedRuns) add(b state.RunRequest, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs) < maxUncertain {
		l.runs[b.RunRef] = uncertainStart{b.TaskID, token, time.Now()}
	}
}

// takeToken returns the token of the failed StartRun that b repeats, and forgets that call. It
// returns "" if b does not repeat a failed call.
func (l *possiblyStartedRuns) takeToken(b state.RunRequest) (token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run, ok := l.runs[b.RunRef]; ok && run.task == b.TaskID {
		delete(l.runs, b.RunRef)
		return run.token
	}
	return ""
}

// due returns the runs in l whose StartRun failed at least minAge ago, each with the failed call.
// If there are more than limit, it returns an arbitrary selection of limit runs.
func (l *possiblyStartedRuns) due(minAge time.Duration, limit int) map[state.RunRef]uncertainStart {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := map[state.RunRef]uncertainStart{}
	for ref, run := range l.runs {
		if time.Since(run.since) >= minAge && len(due) < limit {
			due[ref] = run
		}
	}
	return due
}

// remove removes the entry for the run ref from l and reports whether it did. It does nothing if
// that entry no longer is run, a result of due, because StartRun has been called again in the
// meantime.
func (l *possiblyStartedRuns) remove(ref state.RunRef, run uncertainStart) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[ref] != run {
		return false
	}
	delete(l.runs, ref)
	return true
}

// resolveUncertain returns the runs of s.uncertain that the server has stored for this replica and
// that have not ended. It considers at most maxTakeover runs, only those whose StartRun failed at
// least Config.DeadAfter ago, and removes them from s.uncertain. If the server cannot be reached,
// the remaining runs stay there for the next call.
func (s *redisStore) resolveUncertain(ctx context.Context) (runs []state.RunRef) {
	for ref, run := range s.uncertain.due(s.cfg.DeadAfter, maxTakeover) {
		v, err := redis.Strings(s.do(ctx, "HMGET", s.key("r:", encodeRef(ref)), "born", "over", "by"))
		if err != nil {
			break
		}
		if s.uncertain.remove(ref, run) && v[0] == s.replica+run.token && v[1] == "0" && v[2] == s.replica {
			runs = append(runs, ref)
		}
	}
	return runs
}
