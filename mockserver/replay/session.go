package replay

import "sync"

// The limits of a session.
const (
	maxThreads   = 10_000 // threads of clients
	maxIDs       = 2_000  // ids of one thread
	maxLibraries = 4      // libraries
)

// A Session records what has been replayed to one test: which recorded conversation corresponds to
// each thread of the client, and which exchanges remain. The zero value is ready to use. It is safe
// for concurrent use, and bounded: the oldest entries are dropped first.
type Session struct {
	mu        sync.Mutex
	playbacks []*playback // one per library, the most recently used first
}

// Reset empties the session.
func (s *Session) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.playbacks = nil
}

// A playback records what has been replayed from one library.
type playback struct {
	library            *Library
	threads            map[clientThread][]*binding
	threadOrder        []clientThread          // the keys of threads, oldest first
	conversationCounts map[*recording]int      // number of bindings of each conversation
	exchangeCounts     map[*storedExchange]int // how often each exchange was replayed
}

// A clientThread identifies a thread of the client.
type clientThread struct{ dialect, thread string }

// A binding maps a thread of the client to a recorded one.
type binding struct {
	conversation *recording
	thread       string            // the recorded id
	recordedRuns map[string]string // recorded run ids by the client's
	currentIDs   map[string]string // the client's ids by the recorded ones
	playCounts   map[int]int       // how often each exchange was replayed
}

// playbackOf returns the playback of a library, and creates it if necessary. The caller holds s.mu.
func (s *Session) playbackOf(l *Library) *playback {
	for i, one := range s.playbacks {
		if one.library == l {
			copy(s.playbacks[1:i+1], s.playbacks[:i])
			s.playbacks[0] = one
			return one
		}
	}
	one := &playback{
		library: l, threads: map[clientThread][]*binding{},
		conversationCounts: map[*recording]int{}, exchangeCounts: map[*storedExchange]int{},
	}
	s.playbacks = append([]*playback{one}, s.playbacks[:min(len(s.playbacks), maxLibraries-1)]...)
	return one
}

// findBinding returns the binding of a client's thread to that of x, or nil.
func (s *playback) findBinding(key clientThread, x *storedExchange) *binding {
	for _, b := range s.threads[key] {
		if b.conversation == x.conversation && b.thread == x.thread() {
			return b
		}
	}
	return nil
}

// bind returns the binding of a client's thread to that of x, and creates it if necessary.
func (s *playback) bind(key clientThread, x *storedExchange) *binding {
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

// mapID records the client's id for a recorded one. Ids that the server chose, and that the client
// repeats, are equal.
func (b *binding) mapID(recorded, now string) {
	if recorded == "" || now == "" {
		return
	}
	if _, known := b.currentIDs[recorded]; known || len(b.currentIDs) < maxIDs {
		b.currentIDs[recorded] = now
	}
}

// mapRun records which recorded run a run of the client corresponds to.
func (b *binding) mapRun(recorded, now string) {
	if now != "" && recorded != "" && len(b.recordedRuns) < maxIDs {
		b.recordedRuns[now] = recorded
	}
	b.mapID(recorded, now)
}
