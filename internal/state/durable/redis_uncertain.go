package durable

import (
	"context"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

// maxUncertain is the maximum number of runs in a possiblyStartedRuns. A replica remembers a run
// there if StartRun returned an error although the Redis server may have stored the run.
const maxUncertain = 10_000

// possiblyStartedRuns holds the runs for which StartRun returned an error although the Redis server
// may have stored them. A run that the Redis server has stored belongs to this replica, which must
// end it but knows of it only from this list.
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

// remove forgets run, the failed call of StartRun that l.due returned for the key ref, and returns
// true. It returns false if the call has been forgotten, or repeated, in the meantime.
func (l *possiblyStartedRuns) remove(ref state.RunRef, run uncertainStart) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[ref] != run {
		return false
	}
	delete(l.runs, ref)
	return true
}

// resolveUncertain returns runs of this replica that the server stored although StartRun failed,
// and that have not ended. It considers at most maxTakeover runs, whose StartRun failed at least
// Config.DeadAfter ago, and forgets each failed call after the look-up. Runs that it cannot look up
// on the server are left for the next call.
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
