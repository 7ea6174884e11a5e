package replay

import "sync"

// What is remembered of what was played.
const (
	mostThreads = 10_000 // conversations of clients
	mostIDs     = 2_000  // ids of one of them
	mostShelves = 4      // libraries
)

// A Seen is what one test, or everybody, has been played: whose conversation is which
// recorded one, and what of it is still to come. The zero value is ready, and it is safe
// for concurrent use. It is bounded: what was begun first is forgotten first.
type Seen struct {
	mu      sync.Mutex
	shelves []*shelf // of the libraries, the one used last first
}

// Reset forgets everything.
func (s *Seen) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shelves = nil
}

// A shelf is what was played of one library.
type shelf struct {
	library *Library
	threads map[threadKey][]*binding
	begun   []threadKey           // the keys of threads, oldest first
	talks   map[*conversation]int // how many clients' conversations were bound to it
	played  map[*exchange]int     // how often it was played to clients without a conversation
}

// A threadKey is a conversation as a client calls it.
type threadKey struct{ dialect, thread string }

// A binding says that a client's conversation is a recorded one.
type binding struct {
	talk   *conversation
	thread string            // as it was recorded
	runs   map[string]string // the client's runs, as they were recorded
	ids    map[string]string // recorded ids, as the client has them
	played map[int]int       // how often each exchange was
}

// shelf is what was played of a library.
func (s *Seen) shelf(l *Library) *shelf {
	for i, one := range s.shelves {
		if one.library == l {
			copy(s.shelves[1:i+1], s.shelves[:i])
			s.shelves[0] = one
			return one
		}
	}
	one := &shelf{
		library: l, threads: map[threadKey][]*binding{},
		talks: map[*conversation]int{}, played: map[*exchange]int{},
	}
	s.shelves = append([]*shelf{one}, s.shelves[:min(len(s.shelves), mostShelves-1)]...)
	return one
}

// bound is the binding of a client's conversation to the one of x, or nil.
func (s *shelf) bound(key threadKey, x *exchange) *binding {
	for _, b := range s.threads[key] {
		if b.talk == x.talk && b.thread == x.thread() {
			return b
		}
	}
	return nil
}

// bind binds a client's conversation to that of x.
func (s *shelf) bind(key threadKey, x *exchange) *binding {
	if b := s.bound(key, x); b != nil {
		return b
	}
	if _, known := s.threads[key]; !known {
		if len(s.begun) >= mostThreads {
			delete(s.threads, s.begun[0])
			s.begun = s.begun[1:]
		}
		s.begun = append(s.begun, key)
	}
	b := &binding{
		talk: x.talk, thread: x.thread(),
		runs: map[string]string{}, ids: map[string]string{}, played: map[int]int{},
	}
	s.threads[key] = append(s.threads[key], b)
	s.talks[x.talk]++
	return b
}

// name notes that what was recorded as one id is another for the client. What the
// server chose, and the client says again, is the same for both.
func (b *binding) name(recorded, now string) {
	if recorded == "" || now == "" {
		return
	}
	if _, known := b.ids[recorded]; known || len(b.ids) < mostIDs {
		b.ids[recorded] = now
	}
}

// run notes which recorded run a run of the client is.
func (b *binding) run(recorded, now string) {
	if now != "" && recorded != "" && len(b.runs) < mostIDs {
		b.runs[now] = recorded
	}
	b.name(recorded, now)
}
