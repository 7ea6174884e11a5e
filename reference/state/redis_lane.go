package state

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"
)

// mostLanes bounds how many runs are remembered whose last Tell is in doubt.
const mostLanes = 10_000

// lanes let the Tells of a run go one after the other, so that the server need
// remember only the last one to know it again.
type lanes struct {
	mu sync.Mutex
	of map[Ref]*lane
}

// A lane is that of one run. Who has the turn may touch the rest of it.
type lane struct {
	turn  chan struct{} // holds one while somebody tells
	users int           // those who tell or wait; the lanes' lock guards it

	// A Tell that failed may have been done nevertheless: its answer was lost. If
	// the caller tries the very same again it is the same Tell, under the same token.
	token string // "" is no such Tell
	sum   [sha256.Size]byte
}

func (ls *lanes) enter(ctx context.Context, run Ref) (*lane, error) {
	ls.mu.Lock()
	l := ls.of[run]
	if l == nil {
		if ls.of == nil {
			ls.of = map[Ref]*lane{}
		}
		l = &lane{turn: make(chan struct{}, 1)}
		ls.of[run] = l
	}
	l.users++
	ls.mu.Unlock()
	select {
	case l.turn <- struct{}{}:
		return l, nil
	case <-ctx.Done():
		ls.drop(run, l)
		return nil, context.Cause(ctx)
	}
}

func (ls *lanes) leave(run Ref, l *lane) {
	<-l.turn
	ls.drop(run, l)
}

// drop forgets a lane that nobody uses, unless its last Tell is in doubt.
func (ls *lanes) drop(run Ref, l *lane) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.users--; l.users == 0 && (l.token == "" || len(ls.of) > mostLanes) {
		delete(ls.of, run)
	}
}

// again is the token of what is told, if that was tried before and is in doubt. Nothing
// is in doubt any more after this.
func (l *lane) again(told Told) (token string) {
	if l.token != "" && l.sum == sum(told) {
		token = l.token
	}
	l.token = ""
	return token
}

// doubt remembers that it is not known whether something was told.
func (l *lane) doubt(token string, told Told) { l.token, l.sum = token, sum(told) }

func sum(told Told) (s [sha256.Size]byte) {
	h := sha256.New()
	var size [8]byte
	for _, d := range told.Data {
		binary.LittleEndian.PutUint64(size[:], uint64(len(d)))
		h.Write(size[:])
		h.Write(d)
	}
	told.Data = nil
	_ = json.NewEncoder(h).Encode(told) // nothing in it can fail
	h.Sum(s[:0])
	return s
}
