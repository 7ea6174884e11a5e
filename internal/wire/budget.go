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

// freeBytes is how many bytes of bodies a conversation may hold before it needs a place
// in the room.
const freeBytes = 1 << 20

// errFull ends an exchange of a conversation that holds as much as it may. No single
// exchange of it was too large: the client has had enough.
var errFull = fmt.Errorf("%w: the conversation has grown too large", spec.ErrClientLeft)

// A Room bounds how many conversations may be large at once, and how large they may
// grow. The others wait until one is released, and are not read meanwhile.
type Room struct {
	places chan struct{}
	most   int
}

// NewRoom makes a room for so many large conversations of so many bytes each.
func NewRoom(places, most int) *Room { return &Room{make(chan struct{}, places), most} }

// held is what one conversation has of a room. Several exchanges share it.
type held struct {
	room *Room

	mu    sync.Mutex
	bytes int
	place bool
}

// grow notes n more bytes, and waits for a place where one is needed. An error is why
// nothing more may be held.
func (h *held) grow(w *watch, n int) error {
	if h.room == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bytes += n; h.bytes > h.room.most+freeBytes {
		return errFull
	}
	if h.place || h.bytes <= freeBytes {
		return nil
	}
	if err := w.pause(func() error { return h.room.enter(w.ctx) }); err != nil {
		return err
	}
	h.place = true
	return nil
}

func (h *held) release() {
	if h.room == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.place {
		<-h.room.places
	}
	h.bytes, h.place = 0, false
}

// enter waits for a place. An error is the context's.
func (r *Room) enter(ctx context.Context) error {
	select {
	case r.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// use runs do while the conversation has a place: the one that it holds, for it waits
// nowhere for a second one, or one for as long as it takes.
func (h *held) use(ctx context.Context, do func()) bool {
	if h.room == nil {
		do()
		return true
	}
	h.mu.Lock()
	place := h.place
	h.mu.Unlock()
	if !place {
		if h.room.enter(ctx) != nil {
			return false
		}
		defer func() { <-h.room.places }()
	}
	do()
	return true
}

// CountEvents returns how many events a stream without a content coding has, comments
// included; 0 of what is no stream.
func CountEvents(r spec.Response) int {
	var n sse.Count
	if r.Header.MediaType() == spec.EventStream {
		n.Add(r.Body, math.MaxInt)
	}
	return n.N
}

func encoded(h spec.Header) bool {
	coding := h.Get("Content-Encoding")
	return coding != "" && !strings.EqualFold(coding, "identity")
}

// bytesOf spells a limit in bytes: "64 MiB".
func bytesOf(n int) string {
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

// thousands spells a number with its thousands apart: "200,000".
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// IsFull reports whether an exchange ended because its conversation had grown too large.
func IsFull(err error) bool { return errors.Is(err, errFull) }
