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
	randIDs uint64 = iota
	randScript
	randPace
	randRun
	randStream
	randVary
)

// newRand is the chance of one request, for a purpose: the same for the same seed, request,
// and number of such requests before it.
func (x *exchange) newRand(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(x.seed, purpose)) }

// requestSeed finds the seed of a request.
func (s *Server) requestSeed(base uint64, test, method, target string, body []byte, cursor string) uint64 {
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
	binary.LittleEndian.PutUint64(number[:], s.scopes.requests.next(sum))
	_, _ = h.Write(number[:])
	return h.Sum64()
}

// A counter counts how often something was seen. What was not seen for long is forgotten.
type counter struct {
	mu                sync.Mutex
	current, previous map[uint64]uint64
}

// maxCounted is how many things a tally is sure to remember.
const maxCounted = 1 << 16

// next is how often a thing was seen before.
func (t *counter) next(thing uint64) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.current[thing]
	if !ok {
		n = t.previous[thing]
	}
	if t.current == nil || len(t.current) >= maxCounted {
		t.current, t.previous = map[uint64]uint64{}, t.current
	}
	t.current[thing] = n + 1
	return n
}

func (t *counter) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current, t.previous = nil, nil
}

// exchangeKey is under what a request's context holds its exchange.
type exchangeKey struct{}

// newID is an id for a request: a UUID of its own chance.
func newID(ctx context.Context) string {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x.newID()
}

func (x *exchange) newID() string {
	if x.idRand == nil {
		x.idRand = x.newRand(randIDs)
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], x.idRand.Uint64())
	binary.BigEndian.PutUint64(b[8:], x.idRand.Uint64())
	return reference.UUIDv4(b)
}

// requestID names a request in the log, and to its client: by its number, as requests come.
func (s *Server) requestID() string {
	var pcg rand.PCG
	pcg.Seed(s.seed, s.requestCount.Add(1))
	return strconv.FormatUint(pcg.Uint64(), 16)
}

// threadTag tells a conversation from others in cursors: the same for the same seed and name.
func (s *Server) threadTag(thread string) uint32 {
	h := fnv.New64a()
	var number [8]byte
	binary.LittleEndian.PutUint64(number[:], s.seed)
	_, _ = h.Write(number[:])
	_, _ = io.WriteString(h, thread)
	sum := h.Sum64()
	return uint32(sum>>32) ^ uint32(sum)
}
