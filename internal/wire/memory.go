package wire

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/streamassay/streamassay/internal/sse"
	"github.com/streamassay/streamassay/spec"
)

// unreservedBytes is how many bytes of bodies a conversation may hold before it needs a place
// in the room.
const unreservedBytes = 1 << 20

// errMemoryExceeded ends an exchange of a conversation that holds as much as it may. No single
// exchange of it was too large: the client has had enough.
var errMemoryExceeded = fmt.Errorf("%w: the conversation has grown too large", spec.ErrClientLeft)

// A MemoryLimiter bounds how many conversations may be large at once, and how large they may
// grow. The others wait until one is released, and are not read meanwhile.
type MemoryLimiter struct {
	slots    chan struct{}
	maxBytes int
}

// NewMemoryLimiter makes a room for so many large conversations of so many bytes each.
func NewMemoryLimiter(places, most int) *MemoryLimiter {
	return &MemoryLimiter{make(chan struct{}, places), most}
}

// reservation is what one conversation has of a room. Several exchanges share it.
type reservation struct {
	limiter *MemoryLimiter

	mu      sync.Mutex
	bytes   int
	hasSlot bool
}

// reserve notes n more bytes, and waits for a place where one is needed. An error is why
// nothing more may be held.
func (h *reservation) reserve(w *watchdog, n int) error {
	if h.limiter == nil {
		return nil
	}
	h.mu.Lock()
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

func (h *reservation) release() {
	if h.limiter == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hasSlot {
		<-h.limiter.slots
	}
	h.bytes, h.hasSlot = 0, false
}

// acquire waits for a place. An error is the context's.
func (r *MemoryLimiter) acquire(ctx context.Context) error {
	select {
	case r.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// use runs do while the conversation has a place: the one that it holds, for it waits
// nowhere for a second one, or one for as long as it takes.
func (h *reservation) use(ctx context.Context, do func()) bool {
	if h.limiter == nil {
		do()
		return true
	}
	h.mu.Lock()
	place := h.hasSlot
	h.mu.Unlock()
	if !place {
		if h.limiter.acquire(ctx) != nil {
			return false
		}
		defer func() { <-h.limiter.slots }()
	}
	do()
	return true
}

// CountEvents returns how many events a stream without a content coding has, comments
// included; 0 of what is no stream.
func CountEvents(r spec.Response) int {
	var n sse.EventCounter
	if r.Header.MediaType() == spec.EventStream {
		n.Add(r.Body, math.MaxInt)
	}
	return n.N
}

func isEncoded(h spec.Header) bool {
	coding := h.Get("Content-Encoding")
	return coding != "" && !strings.EqualFold(coding, "identity")
}

// formatBytes spells a limit in bytes: "64 MiB".
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

// formatThousands spells a number with its thousands apart: "200,000".
func formatThousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// IsMemoryExceeded reports whether an exchange ended because its conversation had grown too large.
func IsMemoryExceeded(err error) bool { return errors.Is(err, errMemoryExceeded) }
