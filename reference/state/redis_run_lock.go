package state

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"
)

// maxRunLocks bounds how many runs are remembered whose last Tell is in doubt.
const maxRunLocks = 10_000

// runLocks let the Tells of a run go one after the other, so that the server need
// remember only the last one to know it again.
type runLocks struct {
	mu    sync.Mutex
	byRun map[RunRef]*runLock
}

// A runLock is that of one run. Who has the turn may touch the rest of it.
type runLock struct {
	sem   chan struct{} // holds one while somebody tells
	users int           // those who tell or wait; the lanes' lock guards it

	// A Tell that failed may have been done nevertheless: its answer was lost. If
	// the caller tries the very same again it is the same Tell, under the same token.
	token string // "" is no such Tell
	hash  [sha256.Size]byte
}

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

// release forgets a lane that nobody uses, unless its last Tell is in doubt.
func (ls *runLocks) release(run RunRef, l *runLock) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users == 0 && (l.token == "" || len(ls.byRun) > maxRunLocks) {
		delete(ls.byRun, run)
	}
}

// retryToken is the token of what is told, if that was tried before and is in doubt. Nothing
// is in doubt any more after this.
func (l *runLock) retryToken(update RunUpdate) (token string) {
	if l.token != "" && l.hash == updateHash(update) {
		token = l.token
	}
	l.token = ""
	return token
}

// setUncertain remembers that it is not known whether something was told.
func (l *runLock) setUncertain(token string, update RunUpdate) {
	l.token, l.hash = token, updateHash(update)
}

func updateHash(update RunUpdate) (s [sha256.Size]byte) {
	h := sha256.New()
	var size [8]byte
	for _, d := range update.Events {
		binary.LittleEndian.PutUint64(size[:], uint64(len(d)))
		h.Write(size[:])
		h.Write(d)
	}
	update.Events = nil
	_ = json.NewEncoder(h).Encode(update) // nothing in it can fail
	h.Sum(s[:0])
	return s
}
