package script

import (
	"maps"
	"strconv"
	"sync"
	"time"
)

// What a State remembers at most of each sort. What was not asked for longest is forgotten
// first; at least half of it is always there.
const (
	maxThreads   = 20_000
	maxCalls     = 20_000
	maxCounters  = 40_000
	maxScenarios = 2_000
)

// InitialStep is the step at which a scenario is that nobody has set.
const InitialStep = "started"

// A State is what is remembered for one test: steps of scenarios, how often rules matched,
// quotas, and the turns of conversations. It is safe for concurrent use.
type State struct {
	mu           sync.Mutex
	scenarios    boundedMap[string]
	counters     boundedMap[int]
	quotaWindows boundedMap[quotaWindow]
	threads      boundedMap[threadState]
	clientCalls  boundedMap[string] // the tools of calls that were left to the client
}

// A quotaWindow is one stretch of a quota.
type quotaWindow struct {
	start time.Time
	used  int
}

// A threadState is how far a conversation is.
type threadState struct {
	turns int
	run   string // the run of the last turn
}

// NewState is a state that remembers nothing.
func NewState() *State {
	s := &State{}
	s.Reset()
	return s
}

// Reset forgets everything.
func (s *State) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scenarios = boundedMap[string]{max: maxScenarios}
	s.counters = boundedMap[int]{max: maxCounters}
	s.quotaWindows = boundedMap[quotaWindow]{max: maxCounters}
	s.threads = boundedMap[threadState]{max: maxThreads}
	s.clientCalls = boundedMap[string]{max: maxCalls}
}

// ScenarioSteps are the steps of the scenarios that were set.
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

// SetStep takes a scenario to a step.
func (s *State) SetStep(scenario, step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scenarios.put(scenario, step)
}

// currentStep is where a scenario is; the state is locked.
func (s *State) currentStep(scenario string) string {
	if step, ok := s.scenarios.get(scenario); ok {
		return step
	}
	return InitialStep
}

// claim says why a rule does not match now, by what is remembered, or takes it: then what
// it counts and sets is done at once, so that two requests cannot take the same turn.
// after is how long the client is to wait where the quota is used up.
func (s *State) claim(r *Rule, now time.Time) (why string, after time.Duration) {
	if r.maxMatches == 0 && r.quota.requests == 0 && len(r.transitions) == 0 && len(r.conditions.scenarioSteps) == 0 {
		return "", 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if why := s.blockedReasonLocked(r); why != "" {
		return why, 0
	}
	if after = s.spendQuota(r, now); after > 0 {
		return "", after
	}
	if r.maxMatches > 0 {
		matched, _ := s.counters.get(r.counterKey)
		s.counters.put(r.counterKey, matched+1)
	}
	for _, to := range r.transitions {
		s.scenarios.put(to.scenario, to.step)
	}
	return "", 0
}

// spendQuota takes one request of a rule's quota, or says how long there is none.
func (s *State) spendQuota(r *Rule, now time.Time) (after time.Duration) {
	if r.quota.requests == 0 {
		return 0
	}
	w, _ := s.quotaWindows.get(r.counterKey)
	end := w.start.Add(r.quota.per)
	if w.used == 0 || !now.Before(end) || now.Before(w.start) { // a clock may be set back
		w, end = quotaWindow{start: now}, now.Add(r.quota.per)
	}
	if w.used >= r.quota.requests {
		return end.Sub(now)
	}
	w.used++
	s.quotaWindows.put(r.counterKey, w)
	return 0
}

// nextCount is the next number of a counter, from 1.
func (s *State) nextCount(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := s.counters.get("seq\x00" + name)
	s.counters.put("seq\x00"+name, n+1)
	return n + 1
}

// recordTurn is which turn of a conversation a request is, and remembers it. users is how many
// messages of the user the request carries, and repeats says that it repeats what was
// said before: then the client is believed, who may go back. undo forgets it again.
func (s *State) recordTurn(thread, run string, asks turnInfo) (n int, undo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.threads.get(thread)
	n = before.turns
	switch {
	case known && run != "" && run == before.run: // the same run, asked for again
	case asks.endsWithUser:
		n++
	}
	if n = max(n, asks.userMessages); asks.hasHistory {
		n = asks.userMessages
	}
	if thread == "" {
		return n, func() {}
	}
	after := threadState{turns: n, run: run}
	s.threads.put(thread, after)
	return n, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if now, _ := s.threads.get(thread); now == after {
			s.threads.put(thread, before)
		}
	}
}

// An turnInfo is what a request says about the turns of its conversation.
type turnInfo struct {
	userMessages int  // messages of the user
	hasHistory   bool // some of them are history
	endsWithUser bool // the last is to be answered
}

// recordCall remembers which tool a call is for, which the client is to answer.
func (s *State) recordCall(call, tool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clientCalls.put(call, tool)
}

// toolName is the tool of a call, "" if nobody knows.
func (s *State) toolName(call string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool, _ := s.clientCalls.get(call)
	return tool
}

// A boundedMap holds so many things at most, and forgets those that nobody asked for in a long
// time: when it is half full, what is old is dropped, and what is new is old.
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

// maxKeyLength is how long a name is that is remembered.
const maxKeyLength = 1024

// blockedReason is why a rule does not match now whose other conditions hold.
func (s *State) blockedReason(r *Rule) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blockedReasonLocked(r)
}

// blockedReasonLocked is likewise; the state is locked.
func (s *State) blockedReasonLocked(r *Rule) string {
	for _, want := range r.conditions.scenarioSteps {
		if at := s.currentStep(want.scenario); at != want.step {
			return "state: " + want.scenario + " is at " + quoteTruncated(at) + ", not at " + quoteTruncated(want.step)
		}
	}
	if matched, _ := s.counters.get(r.counterKey); r.maxMatches > 0 && matched >= r.maxMatches {
		return "times: it has matched " + strconv.Itoa(matched) + " times, and matches no more often"
	}
	return ""
}
