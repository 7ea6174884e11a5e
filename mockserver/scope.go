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

// maxTests is how many tests are remembered; the one that asked first is forgotten first.
const maxTests = 1000

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
	sessions *replay.Session
	settings atomic.Pointer[Settings] // never nil
}

func newScope(id string, parent *scope) *scope {
	s := &scope{id: id, parent: parent, state: script.NewState(), sessions: &replay.Session{}}
	s.settings.Store(&Settings{})
	return s
}

// scriptSets are the scripts that are asked, in this order.
func (s *scope) scriptSets() (all []*script.RuleSet) {
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
	shared   *scope
	requests counter

	mu    sync.Mutex
	all   map[string]*scope
	order []string
}

// get is the scope of a test; "" is what all share.
func (s *scopes) get(test string) *scope {
	if test == "" {
		return s.shared
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.all[test]; found != nil {
		return found
	}
	if len(s.order) >= maxTests {
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
func (s *Server) Settings(test string) Settings { return *s.scopes.get(test).settings.Load() }

// SetSettings replaces the settings of a test, or of all, for the requests that come after.
func (s *Server) SetSettings(test string, to Settings) {
	s.UpdateSettings(test, func(all *Settings) { *all = to })
}

// UpdateSettings changes some of them.
func (s *Server) UpdateSettings(test string, change func(*Settings)) {
	scope := s.scopes.get(test)
	s.scopes.mu.Lock()
	defer s.scopes.mu.Unlock()
	to := *scope.settings.Load()
	change(&to)
	scope.settings.Store(&to)
}

// ScriptState is what the scripts of a test remember; "" is what all share.
func (s *Server) ScriptState(test string) *script.State { return s.scopes.get(test).state }

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
	s.store.Reset()
	s.requestCount.Store(0)
	for _, known := range s.Tests() {
		s.scopes.drop(known)
	}
	s.scopes.requests.reset()
	s.scopes.shared.state.Reset()
	s.scopes.shared.sessions.Reset()
	s.SetSettings("", s.initialSettings())
}

// initialSettings are the settings that the mock began with.
func (s *Server) initialSettings() Settings {
	m := &s.cfg.Defaults
	to := Settings{Scripts: s.cfg.Scripts, Replay: s.cfg.Replay, Pace: &m.Pace, Vary: m.Vary}
	if len(m.Faults) > 0 {
		to.Faults = &m.Faults
	}
	return to
}
