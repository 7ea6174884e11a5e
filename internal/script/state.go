package script

import (
	"maps"
	"strconv"
	"sync"
	"time"
)

// The maximum numbers of entries in a State, by kind of entry. When a maximum is exceeded, the
// least recently used entries are dropped, but at least the most recently used half is kept.
const (
	maxThreads   = 20_000 // threads
	maxCalls     = 20_000 // calls of client tools
	maxCounters  = 40_000 // counters, and also quotas
	maxScenarios = 2_000  // scenarios
)

// InitialStep is the current step of a scenario until a rule or [State.SetStep] sets another. A
// scenario is a named state machine that the rules of a script use.
const InitialStep = "started"

// A State holds what rules store between the requests of one test: scenario steps, match counts,
// quotas and the turns of threads. It must be created with [NewState]. It is safe for concurrent
// use.
type State struct {
	mu           sync.Mutex
	scenarios    boundedMap[string]      // current steps, by name of the scenario
	counters     boundedMap[int]         // match counts, by Rule.counterKey, and counters of templates
	quotaWindows boundedMap[quotaWindow] // by Rule.counterKey
	threads      boundedMap[turnCounter] // by "DIALECT/THREAD"
	clientCalls  boundedMap[string]      // names of the tools that the client runs, by id of the tool call
}

// A quotaWindow is the current time window of a rule's quota.
type quotaWindow struct {
	start time.Time
	used  int // number of requests served in the window
}

// A turnCounter records the latest turn of a thread (a conversation).
type turnCounter struct {
	turns int    // number of the turn, from 1; 0 if the thread has no user message yet
	run   string // id of the run of the turn; "" if the request did not name one
}

// NewState returns an empty state: no rule has matched, and all scenarios are at [InitialStep].
func NewState() *State {
	s := &State{}
	s.Reset()
	return s
}

// Reset empties the state, so that it equals a new one from [NewState].
func (s *State) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scenarios = boundedMap[string]{max: maxScenarios}
	s.counters = boundedMap[int]{max: maxCounters}
	s.quotaWindows = boundedMap[quotaWindow]{max: maxCounters}
	s.threads = boundedMap[turnCounter]{max: maxThreads}
	s.clientCalls = boundedMap[string]{max: maxCalls}
}

// ScenarioSteps returns a new map from the names of scenarios to their current steps. It omits
// scenarios whose step has not been set. They are at [InitialStep].
func (s *State) ScenarioSteps() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.scenarios.old)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, s.scenarios.recent)
	return all
}

// SetStep sets the current step of the given scenario. The scenario need not exist yet.
func (s *State) SetStep(scenario, step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scenarios.put(scenario, step)
}

// claim counts a match of rule r at the time now, if the state permits it. The request must already
// meet all conditions of r other than those on scenario steps. There are three outcomes:
//   - r matches: claim updates the match count and the quota, sets the scenario steps that r
//     sets, and returns "" and 0.
//   - r does not match, because a scenario is not at the required step or r has reached its
//     maximum number of matches: claim changes nothing, and returns the reason and 0.
//   - The quota of r is exhausted: claim changes nothing, and returns "" and the time until the
//     quota is renewed.
//
// claim is atomic, so concurrent requests cannot exceed a limit.
func (s *State) claim(r *Rule, now time.Time) (why string, after time.Duration) {
	if r.Times == 0 && r.Quota.Requests == 0 &&
		len(r.Set) == 0 && len(r.When.ScenarioSteps) == 0 {
		return "", 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if why := s.blockedReason(r); why != "" {
		return why, 0
	}
	if after = s.spendQuota(r, now); after > 0 {
		return "", after
	}
	if r.Times > 0 {
		matched, _ := s.counters.get(r.counterKey)
		s.counters.put(r.counterKey, matched+1)
	}
	for _, to := range r.Set {
		s.scenarios.put(to.scenario, to.step)
	}
	return "", 0
}

// spendQuota counts one request, sent at the time now, in the quota of rule r, and returns 0. If
// the quota is exhausted, it does not count the request and returns the time until the quota is
// renewed. If r has no quota, it does nothing and returns 0. The caller must hold s.mu.
func (s *State) spendQuota(r *Rule, now time.Time) (after time.Duration) {
	if r.Quota.Requests == 0 {
		return 0
	}
	w, _ := s.quotaWindows.get(r.counterKey)
	end := w.start.Add(time.Duration(r.Quota.Per))
	if w.used == 0 || !now.Before(end) || now.Before(w.start) { // the clock may have been set back
		w, end = quotaWindow{start: now}, now.Add(time.Duration(r.Quota.Per))
	}
	if w.used >= r.Quota.Requests {
		return end.Sub(now)
	}
	w.used++
	s.quotaWindows.put(r.counterKey, w)
	return 0
}

// nextCount increments the counter with the given name and returns its new value, which is 1 the
// first time. These counters are independent of the match counts of rules.
func (s *State) nextCount(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := s.counters.get("\x00seq\x00" + name)
	s.counters.put("\x00seq\x00"+name, n+1)
	return n + 1
}

// recordTurn determines the number n of the turn to which a request belongs, counted from 1. The
// number is 0 if the thread has no user message yet. The argument run is the id of the run that the
// request names, or "", and info describes the user messages of the request. If thread is not "",
// recordTurn stores n as the latest turn of the thread.
//
// If the request contains the history of the thread, n is the number of user messages in it, so a
// client can return to an earlier turn. Otherwise, n is at least the number of user messages in the
// request, and:
//   - A request that names the same run as the previous request of the thread belongs to the latest
//     turn.
//   - Any other request that ends with a user message begins a new turn.
//   - All remaining requests belong to the latest turn.
//
// The function undo is never nil. It restores the state of the thread before the call, unless a
// later request has changed it.
func (s *State) recordTurn(thread, run string, info turnEvidence) (n int, undo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.threads.get(thread)
	n = before.turns
	switch {
	case known && run != "" && run == before.run: // the request was repeated
	case info.endsWithUser:
		n++
	}
	if n = max(n, info.userMessages); info.hasHistory {
		n = info.userMessages
	}
	if thread == "" {
		return n, func() {}
	}
	after := turnCounter{turns: n, run: run}
	s.threads.put(thread, after)
	return n, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if now, _ := s.threads.get(thread); now == after {
			s.threads.put(thread, before)
		}
	}
}

// A turnEvidence describes the user messages of a request as far as they determine the turn to
// which it belongs.
type turnEvidence struct {
	userMessages int  // the number of user messages
	hasHistory   bool // an assistant message comes between two user messages
	endsWithUser bool // the last input is a user message
}

// recordCall stores the name of a tool that the client runs, for the tool call with the given id,
// because clients may send the result of a call without the name of the tool.
func (s *State) recordCall(id, tool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clientCalls.put(id, tool)
}

// toolName returns the name that recordCall stored for the tool call with the given id. It returns
// "" if there is none, or if it was dropped to limit memory.
func (s *State) toolName(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool, _ := s.clientCalls.get(id)
	return tool
}

// A boundedMap is a map with at most max entries. To make room for a new entry, it drops entries
// that were not stored or read recently. The entries are kept in two maps of up to max/2 entries:
// when recent is full, it replaces old, and a new map replaces recent.
type boundedMap[T any] struct {
	max         int
	recent, old map[string]T
}

func (m *boundedMap[T]) get(key string) (v T, ok bool) {
	key = key[:min(len(key), maxKeyLength)]
	if v, ok = m.recent[key]; ok {
		return v, true
	}
	if v, ok = m.old[key]; ok {
		m.put(key, v)
	}
	return v, ok
}

func (m *boundedMap[T]) put(key string, v T) {
	key = key[:min(len(key), maxKeyLength)]
	if _, known := m.recent[key]; !known && len(m.recent) >= m.max/2 || m.recent == nil {
		m.recent, m.old = map[string]T{}, m.recent
	}
	m.recent[key] = v
}

// maxKeyLength is the length, in bytes, to which the keys of a boundedMap are truncated to limit
// memory. Keys that are equal up to this length are considered equal.
const maxKeyLength = 1024

// blockedReason returns the reason why rule r cannot match in this state: a scenario is not at the
// required step, or r has reached its maximum number of matches. It returns "" if nothing prevents
// a match. The caller must hold s.mu.
func (s *State) blockedReason(r *Rule) string {
	for _, want := range r.When.ScenarioSteps {
		at, ok := s.scenarios.get(want.scenario)
		if !ok {
			at = InitialStep
		}
		if at != want.step {
			return "state: " + want.scenario + " is at " + quoteTruncated(at) + ", want " + quoteTruncated(want.step)
		}
	}
	if matched, _ := s.counters.get(r.counterKey); r.Times > 0 && matched >= r.Times {
		return "times: already matched " + strconv.Itoa(matched) + " times, the maximum"
	}
	return ""
}
