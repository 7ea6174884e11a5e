package mockserver

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/streamassay/streamassay/reference"
)

// What chance is asked for. Each purpose has numbers of its own, so that one that is asked
// more does not change the others.
const (
	forIDs uint64 = iota
	forScript
	forPace
	forRun
	forStream
	forVary
)

// rand is the chance of one request, for a purpose: the same for the same seed, request,
// and number of such requests before it.
func (x *exchange) rand(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(x.seed, purpose)) }

// chance finds the seed of a request.
func (s *Server) chance(base uint64, test, method, target string, body []byte, cursor string) uint64 {
	h := fnv.New64a()
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], base)
	_, _ = h.Write(number[:])
	for _, part := range []string{test, method, target, cursor} {
		_, _ = io.WriteString(h, part)
		_, _ = h.Write([]byte{0})
	}
	_, _ = h.Write(body)
	sum := h.Sum64()
	binary.LittleEndian.PutUint64(number[:], s.scopes.seen.count(sum))
	_, _ = h.Write(number[:])
	return h.Sum64()
}

// A tally counts how often something was seen. What was not seen for long is forgotten.
type tally struct {
	mu       sync.Mutex
	now, old map[uint64]uint64
}

// mostSeen is how many things a tally is sure to remember.
const mostSeen = 1 << 16

// count is how often a thing was seen before.
func (t *tally) count(thing uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.now[thing]
	if !ok {
		n = t.old[thing]
	}
	if t.now == nil || len(t.now) >= mostSeen {
		t.now, t.old = map[uint64]uint64{}, t.now
	}
	t.now[thing] = n + 1
	return n
}

func (t *tally) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now, t.old = nil, nil
}

// exchangeKey is under what a request's context holds its exchange.
type exchangeKey struct{}

// newID is an id for a request: a UUID of its own chance.
func newID(ctx context.Context) string {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x.id()
}

func (x *exchange) id() string {
	if x.ids == nil {
		x.ids = x.rand(forIDs)
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], x.ids.Uint64())
	binary.BigEndian.PutUint64(b[8:], x.ids.Uint64())
	return reference.UUID(b)
}

// requestID names a request in the log, and to its client: by its number, as requests come.
func (s *Server) requestID() string {
	var chance rand.PCG
	chance.Seed(s.seed, s.ids.Add(1))
	return strconv.FormatUint(chance.Uint64(), 16)
}

// tag tells a conversation from others in cursors: the same for the same seed and name.
func (s *Server) tag(thread string) uint32 {
	h := fnv.New64a()
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], s.seed)
	_, _ = h.Write(number[:])
	_, _ = io.WriteString(h, thread)
	sum := h.Sum64()
	return uint32(sum>>32) ^ uint32(sum)
}
