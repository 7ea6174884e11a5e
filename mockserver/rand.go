package mockserver

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/streamassay/streamassay/internal/script"
)

// The purposes of random numbers. Each purpose has a sequence of its own, so that drawing more
// numbers for one purpose does not change the sequences for the others.
const (
	randIDs    uint64 = iota // new ids
	randScript               // random parts of scripts
	randPace                 // variations of the pace
	randRun                  // faults that change a run or refuse a request
	randStream               // faults that change one stream
)

// newRand returns a source of random numbers for the given purpose, such as randPace. The purpose
// and the seed of x determine the sequence.
func (x *requestState) newRand(purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(x.seed, purpose))
}

// requestSeed returns the seed of the random choices for a request. It depends only on the
// arguments and on how many earlier requests had the same arguments. The parameter base is the seed
// in the X-Mock-Seed header, in the settings of the test or in the configuration.
func (s *Server) requestSeed(base uint64, test, method, target string, body []byte, cursor string) uint64 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, base)
	for _, part := range []string{test, method, target, cursor} {
		_, _ = io.WriteString(h, part)
		_, _ = h.Write([]byte{0})
	}
	_, _ = h.Write(body)
	_ = binary.Write(h, binary.LittleEndian, s.requests.next(equalRequestsKey{test, h.Sum64()}))
	return h.Sum64()
}

// An equalRequestsKey identifies equal requests of one test. The test is "" for requests that name
// none.
type equalRequestsKey struct {
	test string
	sum  uint64 // hash of the request
}

// A keyCounter counts how often each key occurs. To limit its memory, it forgets keys that have not
// occurred for a long time; see maxCounted. It is safe for concurrent use.
type keyCounter struct {
	mu                sync.Mutex
	current, previous map[equalRequestsKey]uint64 // number of occurrences of each key; see maxCounted
}

// maxCounted is the maximum number of keys in each of the two maps of a keyCounter. When the map
// current is full, it replaces the map previous, whose counts are lost.
const maxCounted = 1 << 16

// next counts an occurrence of key and returns the number of earlier occurrences.
func (c *keyCounter) next(key equalRequestsKey) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.current[key]
	if !ok {
		n = c.previous[key]
	}
	if c.current == nil || len(c.current) >= maxCounted { // the counts of the old previous are dropped
		c.current, c.previous = map[equalRequestsKey]uint64{}, c.current
	}
	c.current[key] = n + 1
	return n
}

// reset forgets all keys.
func (c *keyCounter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.previous = nil, nil
}

// resetTest forgets the keys of the test with the given id.
func (c *keyCounter) resetTest(test string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, counts := range []map[equalRequestsKey]uint64{c.current, c.previous} {
		maps.DeleteFunc(counts, func(key equalRequestsKey, _ uint64) bool { return key.test == test })
	}
}

// requestStateKey is the type of the context key for the *requestState of a request.
type requestStateKey struct{}

// newID returns a new random UUID for the request whose context is ctx. It panics if ctx is not
// derived from the context of a request to the mock.
func newID(ctx context.Context) string {
	x, _ := ctx.Value(requestStateKey{}).(*requestState)
	return x.newID()
}

// newID returns a new random UUID. The seed of the request determines the sequence of UUIDs.
func (x *requestState) newID() string {
	if x.idRand == nil {
		x.idRand = x.newRand(randIDs)
	}
	return script.NewUUID(x.idRand)
}

// requestID returns an id for a request that has just arrived. The id appears in the log and in a
// response header. It depends only on the seed of the server and the number of earlier requests.
func (s *Server) requestID() string {
	var pcg rand.PCG
	pcg.Seed(s.seed, s.requestCount.Add(1))
	return strconv.FormatUint(pcg.Uint64(), 16)
}

// threadTag returns the number that identifies a thread in cursors, the event ids from which a
// client can resume a stream. The number depends only on the seed of the server and the thread's
// id.
func (s *Server) threadTag(thread string) uint32 {
	h := fnv.New64a()
	_ = binary.Write(h, binary.LittleEndian, s.seed)
	_, _ = io.WriteString(h, thread)
	sum := h.Sum64()
	return uint32(sum>>32) ^ uint32(sum)
}
