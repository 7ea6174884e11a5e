package replay

import "sync"

// The maximum numbers of entries in a session, which bound its memory.
const (
	maxThreads   = 10_000 // threads of clients
	maxIDs       = 2_000  // ids of one thread
	maxLibraries = 4      // libraries
)

// A PlaybackState records what has been replayed to one test: which recorded conversation corresponds to
// each thread of the client, and how often each exchange was replayed. The zero value is ready to
// use. It is safe for concurrent use. Its size is limited; at a limit, the oldest entries are
// dropped.
type PlaybackState struct {
	mu        sync.Mutex
	playbacks []*playback // one per library, the most recently used first
}

// Reset makes the session forget what has been replayed.
func (s *PlaybackState) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.playbacks = nil
}

// A playback records what has been replayed from one library to one test.
type playback struct {
	library            *Library
	threads            map[clientThread][]*binding
	threadOrder        []clientThread          // the keys of threads, oldest first
	conversationCounts map[*recording]int      // number of bindings of each conversation
	exchangeCounts     map[*storedExchange]int // how often each exchange was replayed
}

// A clientThread identifies a thread by its dialect and the id that the client uses.
type clientThread struct{ dialect, thread string }

// A binding says which recorded thread a thread of the client corresponds to, and which recorded
// ids its ids correspond to.
type binding struct {
	conversation *recording
	thread       string            // the recorded id
	recordedRuns map[string]string // recorded run ids by the client's
	currentIDs   map[string]string // the client's ids by the recorded ones
	playCounts   map[int]int       // how often each exchange was replayed
}

// playbackOf returns the playback of a library in the session, and creates it if there is none. The
// caller holds s.mu.
func (s *PlaybackState) playbackOf(l *Library) *playback {
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

// findBinding returns the binding of the client's thread key to the recorded thread of x, or nil if
// they are not bound.
func (s *playback) findBinding(key clientThread, x *storedExchange) *binding {
	for _, b := range s.threads[key] {
		if b.conversation == x.conversation && b.thread == x.thread() {
			return b
		}
	}
	return nil
}

// bind returns the binding of the client's thread key to the recorded thread of x, and creates it
// if they are not bound.
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

// mapID records that the client uses the id now for the recorded id. If one of them is "" or the
// binding has maxIDs ids already, it does nothing. Ids that the server chose are the same for both.
func (b *binding) mapID(recorded, now string) {
	if recorded == "" || now == "" {
		return
	}
	if _, known := b.currentIDs[recorded]; known || len(b.currentIDs) < maxIDs {
		b.currentIDs[recorded] = now
	}
}

// mapRun records that the client's run now corresponds to the recorded run.
func (b *binding) mapRun(recorded, now string) {
	if now != "" && recorded != "" && len(b.recordedRuns) < maxIDs {
		b.recordedRuns[now] = recorded
	}
	b.mapID(recorded, now)
}
