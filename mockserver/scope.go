package mockserver

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/pace"
	"github.com/streamassay/streamassay/mockserver/replay"
	"github.com/streamassay/streamassay/mockserver/script"
)

// testHeader names the test that a request belongs to. Scripts, state, faults and journal
// of one test are nobody else's.
const testHeader = "X-Test-Id"

// mostTests is how many tests are remembered; the one that asked first is forgotten first.
const mostTests = 1000

// Settings are what can be set while a mock serves, for one test or for all. What is nil
// is as it is for all, and there as it was configured.
type Settings struct {
	Scripts *script.RuleSet // asked before those of all
	Replay  *replay.Library // recorded answers, which come before scripts
	Faults  *[]fault.Spec   // suffered by every request that can
	Pace    *pace.Pace
	Seed    *uint64
	Vary    *uint64
	Hold    *int // the first event of each stream that waits
}

// A scope is what one test has set, and what it has come to.
type scope struct {
	id       string
	parent   *scope // nil: it is what all tests share
	state    *script.State
	seen     *replay.Session
	settings atomic.Pointer[Settings] // never nil
}

func newScope(id string, parent *scope) *scope {
	s := &scope{id: id, parent: parent, state: script.NewState(), seen: &replay.Session{}}
	s.settings.Store(&Settings{})
	return s
}

// sets are the scripts that are asked, in this order.
func (s *scope) sets() (all []*script.RuleSet) {
	for ; s != nil; s = s.parent {
		if own := s.settings.Load().Scripts; own != nil {
			all = append(all, own)
		}
	}
	return all
}

// setting is what is set nearest; nil is nothing.
func setting[T any](s *scope, of func(*Settings) *T) *T {
	for ; s != nil; s = s.parent {
		if own := of(s.settings.Load()); own != nil {
			return own
		}
	}
	return nil
}

// scopes are the tests that are known.
type scopes struct {
	shared *scope
	seen   tally

	mu    sync.Mutex
	all   map[string]*scope
	order []string
}

// of is the scope of a test; "" is what all share.
func (s *scopes) of(test string) *scope {
	if test == "" {
		return s.shared
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.all[test]; found != nil {
		return found
	}
	if len(s.order) >= mostTests {
		delete(s.all, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
	made := newScope(test, s.shared)
	s.all[test] = made
	s.order = append(s.order, test)
	return made
}

// drop forgets a test.
func (s *scopes) drop(test string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, test)
	s.order = slices.DeleteFunc(s.order, func(known string) bool { return known == test })
}

// Settings are those of a test; "" is what is set for all.
func (s *Server) Settings(test string) Settings { return *s.scopes.of(test).settings.Load() }

// Set replaces the settings of a test, or of all, for the requests that come after.
func (s *Server) Set(test string, to Settings) {
	s.Change(test, func(all *Settings) { *all = to })
}

// Change changes some of them.
func (s *Server) Change(test string, change func(*Settings)) {
	scope := s.scopes.of(test)
	s.scopes.mu.Lock()
	defer s.scopes.mu.Unlock()
	to := *scope.settings.Load()
	change(&to)
	scope.settings.Store(&to)
}

// State is what the scripts of a test remember; "" is what all share.
func (s *Server) State(test string) *script.State { return s.scopes.of(test).state }

// Tests are those that are known.
func (s *Server) Tests() []string {
	s.scopes.mu.Lock()
	defer s.scopes.mu.Unlock()
	return slices.Sorted(slices.Values(s.scopes.order))
}

// Reset forgets what a test has set, what its scripts remember and its part of the
// journal; "" is everything of everybody, as if the mock was started again with its
// configuration. Streams that are open go on, and their conversations stay.
func (s *Server) Reset(test string) {
	if test != "" {
		s.journal.Reset(test)
		s.scopes.drop(test)
		return
	}
	s.journal.Clear()
	s.store.Forget()
	s.ids.Store(0)
	for _, known := range s.Tests() {
		s.scopes.drop(known)
	}
	s.scopes.seen.reset()
	s.scopes.shared.state.Reset()
	s.scopes.shared.seen.Reset()
	s.Set("", s.configured())
}

// configured are the settings that the mock began with.
func (s *Server) configured() Settings {
	m := &s.cfg.Manners
	to := Settings{Scripts: s.cfg.Scripts, Replay: s.cfg.Replay, Pace: &m.Pace, Vary: m.Vary}
	if len(m.Faults) > 0 {
		to.Faults = &m.Faults
	}
	return to
}
