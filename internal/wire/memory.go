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

// unreservedBytes is the maximum size in bytes, in total, of the bodies of a conversation that has
// no slot of the [MemoryLimiter]. Conversations within this size never wait for a slot.
const unreservedBytes = 1 << 20

// errMemoryExceeded ends an exchange whose conversation has reached its memory limit. It wraps
// [spec.ErrClientLeft], because the client stops reading a response that is itself within all
// limits.
var errMemoryExceeded = fmt.Errorf("%w: the conversation exceeds its memory limit", spec.ErrClientLeft)

// A MemoryLimiter bounds the memory for the bodies of recorded conversations. A conversation whose
// bodies have more than 1 MiB in total needs one of a fixed number of slots, which it keeps until
// [Client.ReleaseMemory] is called. While it waits for a free slot, its responses are not read. If
// the bodies of a conversation exceed the maximum size for one conversation, its current exchange
// ends with an error that wraps spec.ErrClientLeft. A MemoryLimiter is safe for concurrent use.
type MemoryLimiter struct {
	slots    chan struct{} // has one element for each slot in use
	maxBytes int           // maximum size of the bodies of one conversation, in addition to unreservedBytes
}

// NewMemoryLimiter returns a limiter with the given number of slots. The bodies of one conversation
// may have at most maxBytes bytes, in addition to the 1 MiB that needs no slot.
func NewMemoryLimiter(slots, maxBytes int) *MemoryLimiter {
	return &MemoryLimiter{make(chan struct{}, slots), maxBytes}
}

// A conversationMemory counts the bytes that one conversation holds for the bodies of all of its
// exchanges. It also records whether the conversation has a slot of the limiter. If limiter is nil,
// there is no limit, and nothing is counted.
type conversationMemory struct {
	limiter *MemoryLimiter

	mu      sync.Mutex
	bytes   int // size of all bodies
	hasSlot bool
}

// reserve adds n bytes to the memory of the conversation. If the conversation then needs a slot,
// reserve waits for one, and pauses the timeouts of w meanwhile. It returns an error if the
// conversation exceeds its limit, or if the exchange ends during the wait; the caller must then
// discard the bytes. They remain counted until ReleaseMemory is called.
func (h *conversationMemory) reserve(w *watchdog, n int) error {
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

// ReleaseMemory releases the memory that the conversation has reserved with Config.Memory. The
// bodies of the conversation's exchanges must not be used afterwards.
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
// r is not an event stream according to its media type. It does not decode a content coding such as
// gzip, so its result is meaningless for an encoded body.
func CountEvents(r spec.Response) int {
	var n sse.EventCounter
	if r.Header.MediaType() == spec.EventStream {
		n.Add(r.Body, math.MaxInt)
	}
	return n.N
}

// formatBytes returns the size of n bytes as text for a message, such as "64 MiB". It uses the
// largest unit in which the size is a whole number.
func formatBytes(n int) string {
	for _, unit := range []struct {
		size int
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.size && n%unit.size == 0 {
			return fmt.Sprintf("%d %s", n/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
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
