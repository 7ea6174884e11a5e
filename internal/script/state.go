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

// InitialStep is the current step of a scenario whose step has not been set.
const InitialStep = "started"

// A State holds what rules remember between the requests of one test: scenario steps, match counts,
// quotas and the turns of threads. It must be created with [NewState]. It is safe for concurrent
// use.
type State struct {
	mu           sync.Mutex
	scenarios    boundedMap[string]      // current steps, by name of the scenario
	counters     boundedMap[int]         // match counts, by Rule.counterKey, and counters of templates
	quotaWindows boundedMap[quotaWindow] // by Rule.counterKey
	threads      boundedMap[turnCounter] // by dialect and id of the thread
	clientCalls  boundedMap[string]      // names of the tools that the client runs, by call id
}

// A quotaWindow is the current time window of a rule's quota.
type quotaWindow struct {
	start time.Time
	used  int // number of requests served in the window
}

// A turnCounter records the number of turns that a thread (a conversation) has had, and the run
// of the latest turn.
type turnCounter struct {
	turns int
	run   string // id of the run; "" if the request did not name one
}

// NewState returns an empty state, in which no rule has matched and all scenarios are at
// InitialStep.
func NewState() *State {
	s := &State{}
	s.Reset()
	return s
}

// Reset removes everything from the state, so that it equals a new one from [NewState].
func (s *State) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scenarios = boundedMap[string]{max: maxScenarios}
	s.counters = boundedMap[int]{max: maxCounters}
	s.quotaWindows = boundedMap[quotaWindow]{max: maxCounters}
	s.threads = boundedMap[turnCounter]{max: maxThreads}
	s.clientCalls = boundedMap[string]{max: maxCalls}
}

// ScenarioSteps returns a new map from the name of each scenario to its current step. Scenarios
// whose step has not been set are not in the map; they are at InitialStep.
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

// claim counts a match of rule r at the time now; the conditions of r other than those on scenario
// steps must already be met. It updates the counter and the quota of r, sets the scenario steps
// that r sets, and returns "" and 0. If a scenario is not at the step that r requires, or r has
// reached its maximum number of matches, claim changes nothing and returns the reason and 0. If the
// quota is exhausted, claim changes nothing and returns "" and the time until the quota is renewed.
// All of this is one atomic operation, so that concurrent requests cannot exceed a limit.
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

// spendQuota takes one request, sent at the time now, from the quota of rule r. If the quota is
// exhausted, it takes nothing and returns how long until the quota is renewed. Otherwise, or if r
// has no quota, it returns 0. The caller must hold s.mu.
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

// nextCount increments the counter with the given name and returns its new value; the first value
// is 1. These counters are independent of the match counts of rules.
func (s *State) nextCount(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := s.counters.get("seq\x00" + name)
	s.counters.put("seq\x00"+name, n+1)
	return n + 1
}

// recordTurn determines the number n of the turn to which a request belongs, and stores it for the
// thread, unless thread is "". Turns are counted from 1; n is 0 if no user message is known. The
// argument run is the id of the run that the request names, or "". The argument info describes the
// user messages of the request.
//
// If the request contains the history of the thread, n is the number of its user messages, so that
// a client can return to an earlier turn. Otherwise, a request that ends with a user message begins
// a new turn, and any other request belongs to the latest turn, but n is never less than the number
// of user messages in the request. A request that names the run of the latest turn repeats the
// request of that turn, and does not begin a new one.
//
// The function undo, which is never nil, restores the previous state of the thread, unless a
// different request has changed the state in the meantime.
func (s *State) recordTurn(thread, run string, info userMessageFacts) (n int, undo func()) {
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

// A userMessageFacts describes the user messages of a request, which determine the number of the
// turn.
type userMessageFacts struct {
	userMessages int  // the number of user messages
	hasHistory   bool // an assistant message comes between two user messages
	endsWithUser bool // the last input is a user message
}

// recordCall stores the name of the tool that the client is to run for the tool call with the given
// id. It is needed because clients may send the result of a call without the name of the tool.
func (s *State) recordCall(id, tool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clientCalls.put(id, tool)
}

// toolName returns the name of the tool that recordCall stored for the tool call with the given id.
// It returns "" if no name was stored or if it was dropped to limit memory.
func (s *State) toolName(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool, _ := s.clientCalls.get(id)
	return tool
}

// A boundedMap is a map that holds at most max entries and drops those that have not been used
// recently. It keeps two generations of entries. Each call of put or get for an entry moves it to
// the recent generation. If an entry does not fit in the recent generation, which is limited to
// max/2 entries, that generation becomes the old one, and the previous old generation is dropped.
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

// maxKeyLength is the maximum length, in bytes, of a key of a boundedMap. It limits the memory for
// keys. Longer keys are truncated to this length, so keys that differ only beyond it are treated as
// equal.
const maxKeyLength = 1024

// blockedReason returns the reason why the state prevents rule r from matching: a scenario is
// not at the required step, or r has reached its maximum number of matches. It returns "" if
// neither is the case. The caller must hold s.mu.
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
