package replay

import "sync"

// What is remembered of what was played.
const (
	maxThreads   = 10_000 // conversations of clients
	maxIDs       = 2_000  // ids of one of them
	maxLibraries = 4      // libraries
)

// A Session is what one test, or everybody, has been played: whose conversation is which
// recorded one, and what of it is still to come. The zero value is ready, and it is safe
// for concurrent use. It is bounded: what was begun first is forgotten first.
type Session struct {
	mu        sync.Mutex
	playbacks []*playback // of the libraries, the one used last first
}

// Reset forgets everything.
func (s *Session) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.playbacks = nil
}

// A playback is what was played of one library.
type playback struct {
	library            *Library
	threads            map[threadKey][]*binding
	threadOrder        []threadKey           // the keys of threads, oldest first
	conversationCounts map[*conversation]int // how many clients' conversations were bound to it
	exchangeCounts     map[*exchange]int     // how often it was played to clients without a conversation
}

// A threadKey is a conversation as a client calls it.
type threadKey struct{ dialect, thread string }

// A binding says that a client's conversation is a recorded one.
type binding struct {
	conversation *conversation
	thread       string            // as it was recorded
	recordedRuns map[string]string // the client's runs, as they were recorded
	currentIDs   map[string]string // recorded ids, as the client has them
	playCounts   map[int]int       // how often each exchange was
}

// playbackOf is what was played of a library.
func (s *Session) playbackOf(l *Library) *playback {
	for i, one := range s.playbacks {
		if one.library == l {
			copy(s.playbacks[1:i+1], s.playbacks[:i])
			s.playbacks[0] = one
			return one
		}
	}
	one := &playback{
		library: l, threads: map[threadKey][]*binding{},
		conversationCounts: map[*conversation]int{}, exchangeCounts: map[*exchange]int{},
	}
	s.playbacks = append([]*playback{one}, s.playbacks[:min(len(s.playbacks), maxLibraries-1)]...)
	return one
}

// findBinding is the binding of a client's conversation to the one of x, or nil.
func (s *playback) findBinding(key threadKey, x *exchange) *binding {
	for _, b := range s.threads[key] {
		if b.conversation == x.conversation && b.thread == x.thread() {
			return b
		}
	}
	return nil
}

// bind binds a client's conversation to that of x.
func (s *playback) bind(key threadKey, x *exchange) *binding {
	if b := s.findBinding(key, x); b != nil {
		return b
	}
	if _, known := s.threads[key]; !known {
		if len(s.threadOrder) >= maxThreads {
			delete(s.threads, s.threadOrder[0])
			s.threadOrder = s.threadOrder[1:]
		}
		s.threadOrder = append(s.threadOrder, key)
	}
	b := &binding{
		conversation: x.conversation, thread: x.thread(),
		recordedRuns: map[string]string{}, currentIDs: map[string]string{}, playCounts: map[int]int{},
	}
	s.threads[key] = append(s.threads[key], b)
	s.conversationCounts[x.conversation]++
	return b
}

// mapID notes that what was recorded as one id is another for the client. What the
// server chose, and the client says again, is the same for both.
func (b *binding) mapID(recorded, now string) {
	if recorded == "" || now == "" {
		return
	}
	if _, known := b.currentIDs[recorded]; known || len(b.currentIDs) < maxIDs {
		b.currentIDs[recorded] = now
	}
}

// mapRun notes which recorded run a run of the client is.
func (b *binding) mapRun(recorded, now string) {
	if now != "" && recorded != "" && len(b.recordedRuns) < maxIDs {
		b.recordedRuns[now] = recorded
	}
	b.mapID(recorded, now)
}
