package durable

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"

	"github.com/streamassay/streamassay/internal/state"
)

// maxRunLocks limits the number of unused locks that an appendLocks keeps because of their tokens;
// see release.
const maxRunLocks = 10_000

// appendLocks holds the locks of runs. A call of Append holds the lock of its run, so that calls
// for the same run do not overlap. The server then has to remember only the latest call for each
// run to recognize a repetition.
type appendLocks struct {
	mu    sync.Mutex
	byRun map[state.RunRef]*runAppendLock // the locks in use, and those with a token
}

// A runAppendLock is the lock that a call of Append for one run must hold. The fields token and
// hash may only be used while it is held.
type runAppendLock struct {
	sem   chan struct{} // capacity 1: full while locked
	users int           // number of holders and waiters; guarded by appendLocks.mu

	// The last call of Append, if its outcome is unknown, because it failed but the server may have
	// executed it. A repetition of the call is sent with the same token, by which the server
	// recognizes it.
	token string            // "" if the outcome of the last call is known
	hash  [sha256.Size]byte // hash of the update of that call; see updateHash
}

// lock acquires the lock of a run; the caller must release it with unlock. If ctx is done before
// the lock is acquired, lock returns nil and the error context.Cause(ctx).
func (ls *appendLocks) lock(ctx context.Context, run state.RunRef) (*runAppendLock, error) {
	ls.mu.Lock()
	l := ls.byRun[run]
	if l == nil {
		l = &runAppendLock{sem: make(chan struct{}, 1)}
		ls.byRun[run] = l
	}
	l.users++
	ls.mu.Unlock()
	select {
	case l.sem <- struct{}{}:
		return l, nil
	case <-ctx.Done():
		ls.release(run, l)
		return nil, context.Cause(ctx)
	}
}

func (ls *appendLocks) unlock(run state.RunRef, l *runAppendLock) {
	<-l.sem
	ls.release(run, l)
}

// release records that a holder or waiter no longer uses the lock l. If l has no other users,
// release removes it, except if it has a token for a repetition of the last Append. If there are
// more than maxRunLocks locks, it removes an unused lock even if that has a token.
func (ls *appendLocks) release(run state.RunRef, l *runAppendLock) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users == 0 && (l.token == "" || len(ls.byRun) > maxRunLocks) {
		delete(ls.byRun, run)
	}
}

// retryToken returns the token of the run's last Append if the outcome of that call is unknown and
// update repeats the call. Otherwise, it returns "". In both cases, it clears the token.
func (l *runAppendLock) retryToken(update state.AppendBatch) (token string) {
	if l.token != "" && l.hash == updateHash(update) {
		token = l.token
	}
	l.token = ""
	return token
}

// setUncertain records that an Append failed although the server may have executed it. The call was
// sent with the given token to add update.
func (l *runAppendLock) setUncertain(token string, update state.AppendBatch) {
	l.token, l.hash = token, updateHash(update)
}

// updateHash returns a SHA-256 hash of the contents of update. Equal updates have equal hashes.
func updateHash(update state.AppendBatch) (s [sha256.Size]byte) {
	h := sha256.New()
	var size [8]byte
	for _, d := range update.Events {
		binary.LittleEndian.PutUint64(size[:], uint64(len(d)))
		h.Write(size[:])
		h.Write(d)
	}
	update.Events = nil
	_ = json.NewEncoder(h).Encode(update) // cannot fail for these types
	h.Sum(s[:0])
	return s
}
