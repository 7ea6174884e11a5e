package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// unreservedBytes is the size, in bytes, up to which the bodies of a conversation need no slot of
// the [MemoryLimiter]. It applies to all bodies of the conversation together.
const unreservedBytes = 1 << 20

// errMemoryExceeded is the reason why a response ended if the memory limit of its conversation was
// reached. It wraps [spec.ErrClientLeft], because the client stops reading: the server is not to
// blame for the size of the whole conversation.
var errMemoryExceeded = fmt.Errorf("%w: the conversation exceeds its memory limit", spec.ErrClientLeft)

// A MemoryLimiter limits the memory for the bodies of recorded conversations. A conversation whose
// bodies have more than 1 MiB in total needs a slot, and the number of slots is fixed. The
// conversation keeps its slot until [Client.ReleaseMemory] is called. While it waits for a free
// slot, its responses are not read.
//
// The size of the bodies of one conversation is limited, too. When it exceeds the limit, the
// current exchange ends with an error that wraps spec.ErrClientLeft. A MemoryLimiter is safe for
// concurrent use.
type MemoryLimiter struct {
	slots    chan struct{} // has one element for each slot in use
	maxBytes int           // maximum size of the bodies of one conversation, in addition to unreservedBytes
}

// NewMemoryLimiter returns a limiter with the given number of slots. The bodies of one conversation
// may have at most maxBytes bytes, in addition to the 1 MiB that needs no slot.
func NewMemoryLimiter(slots, maxBytes int) *MemoryLimiter {
	return &MemoryLimiter{make(chan struct{}, slots), maxBytes}
}

// A bodyByteCounter counts the bytes in the bodies of all exchanges of one conversation, and
// records whether the conversation has a slot of the limiter. If limiter is nil, nothing is counted
// and there is no limit.
type bodyByteCounter struct {
	limiter *MemoryLimiter

	mu      sync.Mutex
	bytes   int // size of all bodies
	hasSlot bool
}

// reserve adds n bytes to the memory of the conversation. If the conversation then needs a slot,
// reserve waits for one; the timeouts of w are paused meanwhile. It returns errMemoryExceeded if
// the conversation exceeds its limit, and the cause of w.ctx if the exchange ends during the wait.
// The caller must then discard the bytes, but they remain counted until ReleaseMemory is called.
func (h *bodyByteCounter) reserve(w *watchdog, n int) error {
	if h.limiter == nil {
		return nil
	}
	if !h.mu.TryLock() { // another exchange of the conversation may be waiting for a slot
		_ = w.runPaused(func() error { h.mu.Lock(); return nil })
	}
	defer h.mu.Unlock()
	if h.bytes += n; h.bytes > h.limiter.maxBytes+unreservedBytes {
		return errMemoryExceeded
	}
	if h.hasSlot || h.bytes <= unreservedBytes {
		return nil
	}
	if err := w.runPaused(func() error { return h.limiter.acquire(w.ctx) }); err != nil {
		return err
	}
	h.hasSlot = true
	return nil
}

// ReleaseMemory gives back the slot of Config.Memory that the conversation has, if any, and sets
// the counted size of its bodies to 0. The caller must not use the bodies of the conversation
// afterwards.
func (c *Client) ReleaseMemory() {
	h := c.memory
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hasSlot {
		<-h.limiter.slots
	}
	h.bytes, h.hasSlot = 0, false
}

// acquire waits for a free slot and takes it. If ctx is done first, it returns the cause of ctx and
// takes no slot.
func (r *MemoryLimiter) acquire(ctx context.Context) error {
	select {
	case r.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Use calls do while the conversation holds a slot of Config.Memory. If the conversation has no
// slot, Use waits for one and gives it back after the call. If ctx is done before a slot is free,
// Use returns false without calling do. It is intended for work that needs as much memory as a
// large body.
func (c *Client) Use(ctx context.Context, do func()) bool {
	h := c.memory
	h.mu.Lock()
	needsSlot := h.limiter != nil && !h.hasSlot
	h.mu.Unlock()
	if needsSlot {
		if h.limiter.acquire(ctx) != nil {
			return false
		}
		defer func() { <-h.limiter.slots }()
	}
	do()
	return true
}

// CountEvents returns the number of complete events and comments in the body of r. It returns 0 if
// the media type of r is not that of an event stream. It does not decode a content coding such as
// gzip; the number for an encoded body has no meaning.
func CountEvents(r spec.Response) int {
	var n sse.EventCounter
	if r.Header.MediaType() == spec.EventStream {
		n.Add(r.Body, math.MaxInt)
	}
	return n.N
}

// formatThousands returns n in decimal for a message, with commas between groups of three digits,
// such as "200,000". n must not be negative.
func formatThousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// IsMemoryExceeded reports whether err means that an exchange ended because the conversation
// reached its memory limit.
func IsMemoryExceeded(err error) bool { return errors.Is(err, errMemoryExceeded) }
