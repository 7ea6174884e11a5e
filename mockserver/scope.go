package mockserver

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/pace"
	"github.com/streamassay/streamassay/internal/replay"
	"github.com/streamassay/streamassay/internal/script"
)

// testHeader is the request header that contains the id of the test to which a request belongs.
// Each test has its own scripts, script state, settings and journal entries.
const testHeader = "X-Test-Id"

// maxTests is the maximum number of tests whose settings and state a mock keeps. Once a
// mock has that many, each new test replaces the oldest one.
const maxTests = 1000

// RuntimeSettings holds the settings that can be changed while a mock is serving, for one test or
// for all tests. In the settings of a test, a nil field inherits the shared value. In the shared
// settings, a nil Seed stands for [Server.Seed], and any other nil field means none: no scripts, no
// faults, and so on.
type RuntimeSettings struct {
	Scripts *script.RuleSet `json:"-"`                // reply rules; those of a test are tried before the shared ones
	Replay  *replay.Library `json:"-"`                // recorded responses, for requests that no rule matches
	Faults  *[]fault.Spec   `json:"faults,omitempty"` // injected into the response to every request to which they apply
	Pace    *pace.Pace      `json:"pace,omitzero"`    // timing of replies
	Seed    *uint64         `json:"seed,omitempty"`   // seed of the random choices
	Vary    *uint64         `json:"vary,omitempty"`   // seed of the variations of the encoding
	// Hold is the index, counted from 0, of the first event that is held in the first stream of
	// each run. The mock sends this event and the later ones only when the methods of [Stream]
	// release them. Later streams of a run are not held.
	Hold *int `json:"hold,omitempty"`
}

// A testScope holds the settings and the state of one test. The shared scope, which has no parent,
// holds the settings and the state that all tests share.
type testScope struct {
	id       string                          // id of the test; "" for the shared scope
	parent   *testScope                      // the shared scope, or nil if this is the shared scope
	state    *script.State                   // state of the scripts
	sessions *replay.PlaybackState           // state of the playback of recordings
	settings atomic.Pointer[RuntimeSettings] // never nil
}

// newScope returns a scope with empty settings for the test with the given id. The parent is the
// shared scope, or nil to create the shared scope itself.
func newScope(id string, parent *testScope) *testScope {
	s := &testScope{id: id, parent: parent, state: script.NewState(), sessions: &replay.PlaybackState{}}
	s.settings.Store(&RuntimeSettings{})
	return s
}

// scriptSets returns the scripts in the order in which they are tried: that of the scope, then that
// of the shared scope. The result contains no nil elements; it is nil if there are no scripts.
func (s *testScope) scriptSets() (all []*script.RuleSet) {
	for ; s != nil; s = s.parent {
		if own := s.settings.Load().Scripts; own != nil {
			all = append(all, own)
		}
	}
	return all
}

// effectiveSettings returns the settings that apply to requests of the test: each field is that of
// the scope or, if that is nil, that of the shared scope. The field Scripts is only that of the
// scope; see scriptSets.
func (s *testScope) effectiveSettings() RuntimeSettings {
	own := *s.settings.Load()
	if s.parent != nil {
		shared := s.parent.settings.Load()
		own.Replay = cmp.Or(own.Replay, shared.Replay)
		own.Faults = cmp.Or(own.Faults, shared.Faults)
		own.Pace = cmp.Or(own.Pace, shared.Pace)
		own.Seed = cmp.Or(own.Seed, shared.Seed)
		own.Vary = cmp.Or(own.Vary, shared.Vary)
		own.Hold = cmp.Or(own.Hold, shared.Hold)
	}
	return own
}

// scope returns the scope of the test with the id test, and creates it if necessary. If test is "",
// it returns the shared scope.
func (s *Server) scope(test string) *testScope {
	if test == "" {
		return s.shared
	}
	return s.scopes.get(test, func() *testScope { return newScope(test, s.shared) })
}

// Settings returns the settings of the test with the id test, without inherited values. If test is
// "", it returns the settings that all tests share. The settings of an unknown test are empty. The
// caller must not modify the values to which the fields of the result point.
func (s *Server) Settings(test string) RuntimeSettings { return *s.scope(test).settings.Load() }

// SetSettings replaces the settings of the test with the id test. If test is "", it replaces the
// settings that all tests share. Responses that have already begun are not affected.
func (s *Server) SetSettings(test string, settings RuntimeSettings) {
	s.UpdateSettings(test, func(all *RuntimeSettings) { *all = settings })
}

// UpdateSettings calls change with a copy of the settings of the test with the id test or, if test
// is "", of the settings that all tests share. It then replaces those settings with the changed
// copy, as SetSettings does. The function change may set fields, but must not modify the values to
// which they point, and must not call methods of s. Concurrent updates are serialized.
func (s *Server) UpdateSettings(test string, change func(*RuntimeSettings)) {
	scope := s.scope(test)
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	to := *scope.settings.Load()
	change(&to)
	scope.settings.Store(&to)
}

// ScriptState returns the state of the scripts for the test with the id test. If test is "", it
// returns the state for requests that belong to no test.
func (s *Server) ScriptState(test string) *script.State { return s.scope(test).state }

// Tests returns the sorted ids of the tests that the server knows. A test becomes known by its
// first request or when its settings are first read or set. The server keeps at most 1000 tests; a
// new test then replaces the oldest one.
func (s *Server) Tests() []string { return slices.Sorted(slices.Values(s.scopes.keys())) }

// Reset discards the settings, the script state, the fault plans and the journal entries of the
// test with the id test, and the counts of its requests, on which random choices depend. If test is
// "", Reset restores the initial state of the server: it discards the data of all tests, the state
// of the reference server and the fault plans. Reset does not affect the clock or open streams.
func (s *Server) Reset(test string) {
	if test != "" {
		s.journal.Reset(test)
		s.scopes.drop(test)
		s.plans.dropFunc(func(_ runKey, p *faultPlan) bool { return p.test == test })
		s.requests.resetTest(test)
		return
	}
	s.journal.Clear()
	s.store.Reset()
	s.plans.reset()
	s.requestCount.Store(0)
	for _, known := range s.Tests() {
		s.scopes.drop(known)
	}
	s.requests.reset()
	s.shared.state.Reset()
	s.shared.sessions.Reset()
	s.SetSettings("", s.initialSettings())
}

// initialSettings returns the shared settings with which the server starts, from its configuration.
func (s *Server) initialSettings() RuntimeSettings {
	m := &s.cfg.Defaults
	to := RuntimeSettings{Scripts: s.cfg.Scripts, Replay: s.cfg.Replay, Pace: &m.Pace, Vary: m.Vary}
	if len(m.Faults) > 0 {
		to.Faults = &m.Faults
	}
	return to
}
