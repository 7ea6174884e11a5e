package state

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"
)

// maxRunLocks is how many runs with an uncertain Append are remembered.
const maxRunLocks = 10_000

// runLocks serialize the calls of Append for each run, so that the server needs to
// remember only the last one to recognize its repetition.
type runLocks struct {
	mu    sync.Mutex
	byRun map[RunRef]*runLock
}

// A runLock is the lock of one run. Its holder may use token and hash.
type runLock struct {
	sem   chan struct{} // capacity 1: full while locked
	users int           // holders and waiters; guarded by runLocks.mu

	// The last Append failed, but the server may have executed it. If the caller repeats
	// it, it is sent with the same token.
	token string // "" if the last Append did not fail
	hash  [sha256.Size]byte
}

// lock waits for the lock of a run, or until ctx is done.
func (ls *runLocks) lock(ctx context.Context, run RunRef) (*runLock, error) {
	ls.mu.Lock()
	l := ls.byRun[run]
	if l == nil {
		if ls.byRun == nil {
			ls.byRun = map[RunRef]*runLock{}
		}
		l = &runLock{sem: make(chan struct{}, 1)}
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

func (ls *runLocks) unlock(run RunRef, l *runLock) {
	<-l.sem
	ls.release(run, l)
}

// release removes a lock without users, unless its last Append is uncertain.
func (ls *runLocks) release(run RunRef, l *runLock) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users == 0 && (l.token == "" || len(ls.byRun) > maxRunLocks) {
		delete(ls.byRun, run)
	}
}

// retryToken returns the token of the last Append if that failed and update repeats it,
// or "". It forgets the token.
func (l *runLock) retryToken(update RunUpdate) (token string) {
	if l.token != "" && l.hash == updateHash(update) {
		token = l.token
	}
	l.token = ""
	return token
}

// setUncertain records that an Append failed.
func (l *runLock) setUncertain(token string, update RunUpdate) {
	l.token, l.hash = token, updateHash(update)
}

// updateHash returns a hash that identifies an update.
func updateHash(update RunUpdate) (s [sha256.Size]byte) {
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
