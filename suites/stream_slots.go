package suites

import (
	"context"
	"sync"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// streamSlots limits the number of streams that the conversations of a test run have open at the
// same time. Its methods may be called concurrently.
type streamSlots struct {
	isKnown bool // whether the limit is [Target.StreamLimit]

	mu      sync.Mutex
	limit   int           // maximum number of open streams; 0: not limited
	open    int           // number of open streams
	refused bool          // the server has refused a stream; see noteRefusal
	freed   chan struct{} // closed when a stream ends; nil if nobody waits for that
}

// minLearnedLimit is the lowest limit that streamSlots derives from refusals. A lower one would
// prolong the test run too much.
const minLearnedLimit = 2

// acquire counts one more open stream. While the limit is reached, it first waits, but no longer
// than [maxStreamWait] and not after ctx is done; then it counts the stream although the limit is
// reached. The caller must call release when the stream has ended.
func (s *streamSlots) acquire(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, maxStreamWait)
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.limit > 0 && s.open >= s.limit && ctx.Err() == nil {
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed := s.freed
		s.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	s.open++
}

// release records that a stream has ended.
func (s *streamSlots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}

// maxOpen returns the maximum number of open streams, or 0 if it is not limited.
func (s *streamSlots) maxOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit
}

// noteRefusal records that the server refused a stream, probably because too many were open. Perhaps
// it still counted streams that the client had closed. If the limit is unknown, the number of
// streams that are open now becomes the limit, unless the limit is lower already.
func (s *streamSlots) noteRefusal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = true
	if n := max(s.open, minLearnedLimit); !s.isKnown && (s.limit == 0 || n < s.limit) {
		s.limit = n
	}
}

// hasRefusal reports whether the server has refused a stream; see noteRefusal.
func (s *streamSlots) hasRefusal() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// Times for waitForStream.
const (
	// maxStreamWait is the maximum time for which the client waits until it requests another
	// stream.
	maxStreamWait = 4 * time.Second
	// noticeTime is the time for which a stream counts as open after the client has closed the
	// connection, because the server may not have detected this yet.
	noticeTime = time.Second
	// slowNoticeTime replaces noticeTime if the target has left a stream open before, or has
	// refused one because too many were open.
	slowNoticeTime = 2 * time.Second
)

// waitForStream waits until the client can request r without exceeding [Target.StreamLimit] or, if
// that is unknown, the number of streams that were open when the server refused one. It waits no
// longer than [maxStreamWait]. When the response to r has ended, the caller must call release with
// that response. waitForStream does nothing if the response to r is not a stream of
// [spec.PrimaryUser], or if no other conversations are in progress.
func (t *Conversation) waitForStream(r spec.Request) (release func(spec.Response)) {
	shared, o := t.target.resources, t.dialect.Operation(r)
	if o == nil || !o.IsStream || r.Principal != spec.PrimaryUser || !t.concurrent {
		return func(spec.Response) {}
	}
	shared.streams.acquire(t.ctx)
	return func(r spec.Response) {
		switch {
		case r.End == nil || r.Status/100 != 2: // the server has closed it, or has opened none
			shared.streams.release()
		case shared.leavesOpen.Load() || shared.streams.hasRefusal():
			time.AfterFunc(slowNoticeTime, shared.streams.release)
		default:
			time.AfterFunc(noticeTime, shared.streams.release)
		}
	}
}
