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

// testHeader is the request header that names the test to which a request belongs. Each test has
// its own scripts, script state, settings and journal entries.
const testHeader = "X-Test-Id"

// maxTests is the maximum number of tests whose settings are kept. When the maximum is reached, a
// new test replaces the one that was added first.
const maxTests = 1000

// RuntimeSettings holds what can be changed while a mock is serving, for one test or for all tests.
// In the settings of a test, a nil field inherits the value shared by all tests; in the shared
// settings, nil means that the field has no value.
type RuntimeSettings struct {
	Scripts *script.RuleSet `json:"-"`                // of a test: tried before the shared ones
	Replay  *replay.Library `json:"-"`                // recorded responses, for requests that no rule matches
	Faults  *[]fault.Spec   `json:"faults,omitempty"` // injected into the response to every request to which they apply
	Pace    *pace.Pace      `json:"pace,omitzero"`    // timing of replies
	Seed    *uint64         `json:"seed,omitempty"`   // seed of the random choices
	Vary    *uint64         `json:"vary,omitempty"`   // seed of the variations of the encoding
	// Hold is the number of the first event, counted from 0, that is held in the first stream of each
	// run. Later streams of a run are not held.
	Hold *int `json:"hold,omitempty"`
}

// A testScope holds the settings and the state of one test. The shared scope, which has no parent,
// holds those that all tests share.
type testScope struct {
	id       string                          // of the test; "" for the shared scope
	parent   *testScope                      // nil: this is the shared scope
	state    *script.State                   // of the scripts
	sessions *replay.PlaybackState           // of the recordings
	settings atomic.Pointer[RuntimeSettings] // never nil
}

// newScope returns a scope with empty settings for the test with the given id. Settings that the
// scope does not have are inherited from parent, which is nil for the shared scope.
func newScope(id string, parent *testScope) *testScope {
	s := &testScope{id: id, parent: parent, state: script.NewState(), sessions: &replay.PlaybackState{}}
	s.settings.Store(&RuntimeSettings{})
	return s
}

// scriptSets returns the scripts of the scope, followed by those of its parent. This is the order
// in which they are tried. A scope without scripts contributes nothing to the result.
func (s *testScope) scriptSets() (all []*script.RuleSet) {
	for ; s != nil; s = s.parent {
		if own := s.settings.Load().Scripts; own != nil {
			all = append(all, own)
		}
	}
	return all
}

// effectiveSettings returns the settings of the scope. Each field that is nil in the scope itself
// has the value that all tests share. Scripts is an exception, because the shared scripts are tried
// in addition to those of the test; see scriptSets.
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

// scope returns the scope of the test with the id test, or the shared scope if test is "". If the
// test has no scope yet, it creates one, and first drops the oldest scope if there are maxTests
// already.
func (s *Server) scope(test string) *testScope {
	if test == "" {
		return s.shared
	}
	return s.scopes.get(test, func() *testScope { return newScope(test, s.shared) })
}

// Settings returns the settings of the test with the id test, or those that all tests share if test
// is "". A test that the server does not know yet is added, with empty settings. The caller must
// not modify the values to which the fields of the result point.
func (s *Server) Settings(test string) RuntimeSettings { return *s.scope(test).settings.Load() }

// SetSettings sets all settings of the test with the id test, or those that all tests share if test
// is "". A nil field of settings discards the earlier value. Responses that have already begun are
// not affected.
func (s *Server) SetSettings(test string, settings RuntimeSettings) {
	s.UpdateSettings(test, func(all *RuntimeSettings) { *all = settings })
}

// UpdateSettings calls change with a copy of the settings of the test with the id test, or of those
// that all tests share if test is "". It then stores the changed copy. The function change may
// replace the values to which the fields point, but must not modify them. Concurrent updates are
// serialized, and change must not call methods of s.
func (s *Server) UpdateSettings(test string, change func(*RuntimeSettings)) {
	scope := s.scope(test)
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	to := *scope.settings.Load()
	change(&to)
	scope.settings.Store(&to)
}

// ScriptState returns the state of the scripts of the test with the id test, or of the scripts that
// all tests share if test is "".
func (s *Server) ScriptState(test string) *script.State { return s.scope(test).state }

// Tests returns the ids of the tests that the server knows, sorted: those that have settings or
// sent a request. The server knows at most 1000 tests; beyond that, it forgets those that were
// added first.
func (s *Server) Tests() []string { return slices.Sorted(slices.Values(s.scopes.keys())) }

// Reset discards the settings, the script state and the journal entries of the test with the id
// test. If test is "", it discards those of all tests, the state of the reference server and the
// fault plans of all runs, as if the mock were restarted with its configuration. However, the clock
// is not reset, and open streams continue and keep their threads and faults.
func (s *Server) Reset(test string) {
	if test != "" {
		s.journal.Reset(test)
		s.scopes.drop(test)
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

// initialSettings returns the shared settings that the configuration of the server defines.
func (s *Server) initialSettings() RuntimeSettings {
	m := &s.cfg.Defaults
	to := RuntimeSettings{Scripts: s.cfg.Scripts, Replay: s.cfg.Replay, Pace: &m.Pace, Vary: m.Vary}
	if len(m.Faults) > 0 {
		to.Faults = &m.Faults
	}
	return to
}
