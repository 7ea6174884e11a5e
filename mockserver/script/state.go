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
	mostThreads   = 20_000
	mostCalls     = 20_000
	mostCounters  = 40_000
	mostScenarios = 2_000
)

// Begun is the step at which a scenario is that nobody has set.
const Begun = "started"

// A State is what is remembered for one test: steps of scenarios, how often rules matched,
// quotas, and the turns of conversations. It is safe for concurrent use.
type State struct {
	mu        sync.Mutex
	scenarios memory[string]
	counts    memory[int]
	windows   memory[window]
	threads   memory[talk]
	calls     memory[string] // the tools of calls that were left to the client
}

// A window is one stretch of a quota.
type window struct {
	began time.Time
	used  int
}

// A talk is how far a conversation is.
type talk struct {
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
	s.scenarios = memory[string]{most: mostScenarios}
	s.counts = memory[int]{most: mostCounters}
	s.windows = memory[window]{most: mostCounters}
	s.threads = memory[talk]{most: mostThreads}
	s.calls = memory[string]{most: mostCalls}
}

// Steps are the steps of the scenarios that were set.
func (s *State) Steps() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.scenarios.old)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, s.scenarios.now)
	return all
}

// Set takes a scenario to a step.
func (s *State) Set(scenario, step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scenarios.put(scenario, step)
}

// step is where a scenario is; the state is locked.
func (s *State) step(scenario string) string {
	if step, ok := s.scenarios.get(scenario); ok {
		return step
	}
	return Begun
}

// claim says why a rule does not match now, by what is remembered, or takes it: then what
// it counts and sets is done at once, so that two requests cannot take the same turn.
// after is how long the client is to wait where the quota is used up.
func (s *State) claim(r *Rule, now time.Time) (why string, after time.Duration) {
	if r.times == 0 && r.quota.requests == 0 && len(r.set) == 0 && len(r.when.states) == 0 {
		return "", 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if why := s.blocked(r); why != "" {
		return why, 0
	}
	if after = s.spend(r, now); after > 0 {
		return "", after
	}
	if r.times > 0 {
		matched, _ := s.counts.get(r.key)
		s.counts.put(r.key, matched+1)
	}
	for _, to := range r.set {
		s.scenarios.put(to.scenario, to.step)
	}
	return "", 0
}

// spend takes one request of a rule's quota, or says how long there is none.
func (s *State) spend(r *Rule, now time.Time) (after time.Duration) {
	if r.quota.requests == 0 {
		return 0
	}
	w, _ := s.windows.get(r.key)
	end := w.began.Add(r.quota.per)
	if w.used == 0 || !now.Before(end) || now.Before(w.began) { // a clock may be set back
		w, end = window{began: now}, now.Add(r.quota.per)
	}
	if w.used >= r.quota.requests {
		return end.Sub(now)
	}
	w.used++
	s.windows.put(r.key, w)
	return 0
}

// count is the next number of a counter, from 1.
func (s *State) count(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := s.counts.get("seq\x00" + name)
	s.counts.put("seq\x00"+name, n+1)
	return n + 1
}

// turn is which turn of a conversation a request is, and remembers it. users is how many
// messages of the user the request carries, and repeats says that it repeats what was
// said before: then the client is believed, who may go back. undo forgets it again.
func (s *State) turn(thread, run string, asks asking) (n int, undo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := s.threads.get(thread)
	n = before.turns
	switch {
	case known && run != "" && run == before.run: // the same run, asked for again
	case asks.fresh:
		n++
	}
	if n = max(n, asks.users); asks.repeats {
		n = asks.users
	}
	if thread == "" {
		return n, func() {}
	}
	after := talk{turns: n, run: run}
	s.threads.put(thread, after)
	return n, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if now, _ := s.threads.get(thread); now == after {
			s.threads.put(thread, before)
		}
	}
}

// An asking is what a request says about the turns of its conversation.
type asking struct {
	users   int  // messages of the user
	repeats bool // some of them are history
	fresh   bool // the last is to be answered
}

// called remembers which tool a call is for, which the client is to answer.
func (s *State) called(call, tool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls.put(call, tool)
}

// tool is the tool of a call, "" if nobody knows.
func (s *State) tool(call string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool, _ := s.calls.get(call)
	return tool
}

// A memory holds so many things at most, and forgets those that nobody asked for in a long
// time: when it is half full, what is old is dropped, and what is new is old.
type memory[T any] struct {
	most     int
	now, old map[string]T
}

func (m *memory[T]) get(key string) (v T, ok bool) {
	key = key[:min(len(key), mostKey)]
	if v, ok = m.now[key]; ok {
		return v, true
	}
	if v, ok = m.old[key]; ok {
		m.put(key, v)
	}
	return v, ok
}

func (m *memory[T]) put(key string, v T) {
	key = key[:min(len(key), mostKey)]
	if _, known := m.now[key]; !known && len(m.now) >= m.most/2 || m.now == nil {
		m.now, m.old = map[string]T{}, m.now
	}
	m.now[key] = v
}

// mostKey is how long a name is that is remembered.
const mostKey = 1024

// blocks is why a rule does not match now whose other conditions hold.
func (s *State) blocks(r *Rule) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocked(r)
}

// blocked is likewise; the state is locked.
func (s *State) blocked(r *Rule) string {
	for _, want := range r.when.states {
		if at := s.step(want.scenario); at != want.step {
			return "state: " + want.scenario + " is at " + quoted(at) + ", not at " + quoted(want.step)
		}
	}
	if matched, _ := s.counts.get(r.key); r.times > 0 && matched >= r.times {
		return "times: it has matched " + strconv.Itoa(matched) + " times, and matches no more often"
	}
	return ""
}
