package durable

import (
	"context"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/streamassay/streamassay/internal/state"
)

// maxUncertain is the maximum number of runs in an inDoubtRuns.
const maxUncertain = 10_000

// inDoubtRuns holds the runs for which StartRun returned an error although the Redis server
// may have stored them. This replica must end those that were stored, because they are assigned to
// it.
type inDoubtRuns struct {
	mu   sync.Mutex
	runs map[state.RunRef]uncertainStart // by run: the latest failed call
}

// An uncertainStart describes a failed call of StartRun: its task id, its token, and the time of
// the failure.
type uncertainStart struct {
	task, token string
	since       time.Time
}

// add records that StartRun failed for the request b, which was sent with the given token. It does
// nothing if l already contains maxUncertain runs.
func (l *inDoubtRuns) add(b state.StartRunRequest, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.runs) < maxUncertain {
		l.runs[b.RunRef] = uncertainStart{b.TaskID, token, time.Now()}
	}
}

// takeToken returns the token of the failed StartRun that b repeats, and removes the run from l. It
// returns "" if b does not repeat a failed call.
func (l *inDoubtRuns) takeToken(b state.StartRunRequest) (token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if run, ok := l.runs[b.RunRef]; ok && run.task == b.TaskID {
		delete(l.runs, b.RunRef)
		return run.token
	}
	return ""
}

// due returns a map from the runs in l whose StartRun failed at least minAge ago to the failed
// calls. It returns at most limit runs; if there are more, it selects arbitrary ones.
func (l *inDoubtRuns) due(minAge time.Duration, limit int) map[state.RunRef]uncertainStart {
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

// remove removes the run ref from l if its failed call is still the given one, a result of due. It
// reports whether it removed the run. The failed call is a different one if StartRun has been
// called again.
func (l *inDoubtRuns) remove(ref state.RunRef, failed uncertainStart) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[ref] != failed {
		return false
	}
	delete(l.runs, ref)
	return true
}

// resolveUncertain returns the runs of s.uncertain that the server stored, that have not ended and
// that are assigned to this replica. It checks at most maxTakeover runs whose StartRun failed at
// least Config.DeadAfter ago, and removes those runs from s.uncertain. If the server cannot be
// reached, it leaves the runs that it could not check for the next call.
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
