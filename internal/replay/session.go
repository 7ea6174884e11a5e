package replay

import "sync"

// The maximum numbers of entries in a PlaybackState, which bound its memory.
const (
	maxThreads   = 10_000 // threads of the client, per library
	maxIDs       = 2_000  // ids, per binding
	maxLibraries = 4      // libraries
)

// A PlaybackState records what has been replayed in one test: which recorded conversation
// corresponds to each thread of the client, and how many times each exchange was replayed. The zero
// value is ready to use. A PlaybackState is safe for concurrent use.
//
// Its size is limited. It drops the least recently used libraries and the oldest threads, and stops
// adding ids to a thread that has the maximum number of ids.
type PlaybackState struct {
	mu        sync.Mutex
	playbacks []*libraryPlayback // one per library, the most recently used first
}

// Reset removes all entries, as if nothing had been replayed.
func (s *PlaybackState) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.playbacks = nil
}

// A libraryPlayback records what has been replayed from one library in one test.
type libraryPlayback struct {
	library            *Library
	threads            map[dialectThreadKey][]*threadBinding // bindings of each thread of the client
	threadOrder        []dialectThreadKey                    // the keys of threads, oldest first
	conversationCounts map[*replayableConversation]int       // number of bindings to each conversation, dropped or not
	exchangeCounts     map[*replayableExchange]int           // number of times that each exchange was replayed
}

// A dialectThreadKey identifies a thread by its dialect and the id that the client uses.
type dialectThreadKey struct{ dialect, thread string }

// A threadBinding records that a thread of the client corresponds to a recorded thread, and which
// ids of the client correspond to which recorded ids.
type threadBinding struct {
	conversation *replayableConversation
	thread       string            // the recorded id of the thread
	recordedRuns map[string]string // maps run ids of the client to recorded run ids
	currentIDs   map[string]string // maps recorded ids to ids of the client
	playCounts   map[int]int       // number of times that each exchange was replayed, by its index
}

// playbackOf returns the playback of library l, which it creates if necessary, and makes it the
// most recently used one. It drops the least recently used playback if there are more than
// maxLibraries. The caller must hold s.mu.
func (s *PlaybackState) playbackOf(l *Library) *libraryPlayback {
	for i, one := range s.playbacks {
		if one.library == l {
			copy(s.playbacks[1:i+1], s.playbacks[:i])
			s.playbacks[0] = one
			return one
		}
	}
	one := &libraryPlayback{
		library: l, threads: map[dialectThreadKey][]*threadBinding{},
		conversationCounts: map[*replayableConversation]int{}, exchangeCounts: map[*replayableExchange]int{},
	}
	s.playbacks = append([]*libraryPlayback{one}, s.playbacks[:min(len(s.playbacks), maxLibraries-1)]...)
	return one
}

// findBinding returns the binding between the client's thread with the given key and the recorded
// thread of x, or nil if there is none.
func (s *libraryPlayback) findBinding(key dialectThreadKey, x *replayableExchange) *threadBinding {
	for _, b := range s.threads[key] {
		if b.conversation == x.conversation && b.thread == x.thread() {
			return b
		}
	}
	return nil
}

// bind returns the binding between the client's thread with the given key and the recorded thread
// of x. It creates the binding if there is none. A new thread replaces the oldest one if there are
// already maxThreads.
func (s *libraryPlayback) bind(key dialectThreadKey, x *replayableExchange) *threadBinding {
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
	b := &threadBinding{
		conversation: x.conversation, thread: x.thread(),
		recordedRuns: map[string]string{}, currentIDs: map[string]string{}, playCounts: map[int]int{},
	}
	s.threads[key] = append(s.threads[key], b)
	s.conversationCounts[x.conversation]++
	return b
}

// mapID records that the client uses the id current where the recorded client used the id recorded.
// For an id that the server chose, the two are equal. mapID does nothing if one of them is "", or
// if recorded is a new id and b already holds maxIDs recorded ids.
func (b *threadBinding) mapID(recorded, current string) {
	if recorded == "" || current == "" {
		return
	}
	if _, known := b.currentIDs[recorded]; known || len(b.currentIDs) < maxIDs {
		b.currentIDs[recorded] = current
	}
}

// mapRun records that the client uses the run id current where the recorded client used the run id
// recorded. It calls mapID, and adds an entry to b.recordedRuns unless that map already has maxIDs
// entries. mapRun does nothing if one of the ids is "".
func (b *threadBinding) mapRun(recorded, current string) {
	if current != "" && recorded != "" && len(b.recordedRuns) < maxIDs {
		b.recordedRuns[current] = recorded
	}
	b.mapID(recorded, current)
}
