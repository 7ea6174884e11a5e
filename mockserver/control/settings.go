package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/pace"
	"github.com/streamassay/streamassay/mockserver/script"
)

// set is what is set for a test, or for all, as JSON has it.
type set struct {
	Seed   *uint64   `json:"seed,omitempty"`
	Vary   *uint64   `json:"vary,omitempty"`
	Pace   *tempo    `json:"pace,omitempty"`
	Faults *[]string `json:"faults,omitempty"`
	Hold   *int      `json:"hold,omitempty"`
}

const exampleSettings = `{"seed": 7, "faults": ["abort; event=3"], "pace": {"first": "300ms", "rate": 40}, "vary": 1, "hold": 0}`

func shown(now mockserver.Settings) set {
	to := set{Seed: now.Seed, Vary: now.Vary, Hold: now.Hold}
	if now.Pace != nil {
		if told := tempoOf(*now.Pace); len(told) > 0 {
			to.Pace = &told
		}
	}
	if now.Faults != nil {
		texts := []string{}
		for _, use := range *now.Faults {
			texts = append(texts, use.String())
		}
		to.Faults = &texts
	}
	return to
}

func (s *server) settings(w http.ResponseWriter, r *http.Request) error {
	test, err := testOf(r)
	if err != nil {
		return err
	}
	if !s.knows(test) {
		answer(w, set{})
		return nil
	}
	answer(w, shown(s.mock.Settings(test)))
	return nil
}

// putSettings sets what is said, and nothing else.
func (s *server) putSettings(w http.ResponseWriter, r *http.Request) error {
	return s.change(w, r, func(now mockserver.Settings) mockserver.Settings {
		return mockserver.Settings{Scripts: now.Scripts, Replay: now.Replay}
	})
}

// patchSettings sets what is said; what is null is set no more (RFC 7396).
func (s *server) patchSettings(w http.ResponseWriter, r *http.Request) error {
	return s.change(w, r, func(now mockserver.Settings) mockserver.Settings { return now })
}

func (s *server) change(w http.ResponseWriter, r *http.Request, from func(mockserver.Settings) mockserver.Settings) error {
	test, err := testOf(r)
	if err != nil {
		return err
	}
	if _, err := media(r, "application/json", "application/merge-patch+json"); err != nil {
		return err
	}
	data, err := body(w, r, mostBody)
	if err != nil {
		return err
	}
	var said map[string]json.RawMessage
	if err := decode(data, &said); err != nil || said == nil {
		return bad("the body is no JSON object: right is such as %s", exampleSettings)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var scratch mockserver.Settings
	for name, text := range said {
		put, known := members[name]
		if !known {
			return bad("nothing is called %.40q: seed, vary, pace, faults and hold can be set", name)
		}
		if err := put(&scratch, text); err != nil {
			return bad("%s: %v", name, err)
		}
	}
	s.mock.Change(test, func(now *mockserver.Settings) {
		*now = from(*now)
		for name, text := range said {
			_ = members[name](now, text) // it was tried above
		}
	})
	answer(w, shown(s.mock.Settings(test)))
	return nil
}

func (s *server) dropSettings(w http.ResponseWriter, r *http.Request) error {
	test, err := testOf(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.knows(test) {
		s.mock.Change(test, func(now *mockserver.Settings) {
			*now = mockserver.Settings{Scripts: now.Scripts, Replay: now.Replay}
		})
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// members are what can be set, with how it is read. null is nothing.
var members = map[string]func(to *mockserver.Settings, text []byte) error{
	"seed": func(to *mockserver.Settings, text []byte) error { return seed(&to.Seed, text) },
	"vary": func(to *mockserver.Settings, text []byte) error { return seed(&to.Vary, text) },
	"hold": func(to *mockserver.Settings, text []byte) error {
		to.Hold = nil
		if err := json.Unmarshal(text, &to.Hold); err != nil || to.Hold != nil && (*to.Hold < 0 || *to.Hold > mostEvent) {
			return fmt.Errorf("%.40s is no number of an event, from 0", text)
		}
		return nil
	},
	"pace": func(to *mockserver.Settings, text []byte) error {
		to.Pace = nil
		if null(text) {
			return nil
		}
		var said any
		if err := json.Unmarshal(text, &said); err != nil {
			return err
		}
		read, err := pace.Read(said)
		to.Pace = &read
		return err
	},
	"faults": func(to *mockserver.Settings, text []byte) error {
		to.Faults = nil
		if null(text) {
			return nil
		}
		uses, err := usesOf(text)
		to.Faults = &uses
		return err
	},
}

func null(text []byte) bool { return string(text) == "null" }

func seed(to **uint64, text []byte) error {
	*to = nil
	if null(text) {
		return nil
	}
	n, err := mockserver.ParseSeed(string(text))
	*to = &n
	return err
}

// mostFaults are set at once.
const mostFaults = 32

// usesOf reads faults: as a header names them, or a list of such, and of objects as in
// scripts.
func usesOf(text []byte) (uses []fault.Spec, err error) {
	var header string
	if json.Unmarshal(text, &header) == nil {
		return fault.Parse(header)
	}
	var items []json.RawMessage
	if json.Unmarshal(text, &items) != nil {
		return nil, fmt.Errorf(`it is a text such as "abort; event=3", or a list of such and of objects such as {"abort": {"event": 3}}`)
	}
	uses = []fault.Spec{}
	for i, item := range items {
		more, err := useOf(item)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		if uses = append(uses, more...); len(uses) > mostFaults {
			return nil, fmt.Errorf("more than %d faults at once", mostFaults)
		}
	}
	return uses, nil
}

func useOf(item []byte) ([]fault.Spec, error) {
	var header string
	if json.Unmarshal(item, &header) == nil {
		return fault.Parse(header)
	}
	var object map[string]map[string]any
	d := json.NewDecoder(bytes.NewReader(item))
	d.UseNumber()
	if d.Decode(&object) != nil || len(object) != 1 {
		return nil, fmt.Errorf(`an object names one fault, and what it is told: {"abort": {"event": 3}}`)
	}
	for name, args := range object {
		for key, v := range args {
			if n, ok := v.(json.Number); ok {
				args[key] = n.String()
			}
		}
		use, err := fault.FromYAML(name, args)
		return []fault.Spec{use}, err
	}
	return nil, nil
}

// A tempo is a pace as scripts have it.
type tempo map[string]any

func tempoOf(p pace.Pace) tempo {
	t := tempo{}
	odd := pace.Pace{First: -1, Rate: -1, Burst: -1, Chunk: -9, Speed: -1, Jitter: pace.Jitter{Fixed: -1}}
	said := odd.Merge(p) // what p does not say stays odd
	if said.First != odd.First {
		t["first"] = said.First.String()
	}
	if said.Rate != odd.Rate {
		t["rate"] = said.Rate
	}
	if said.Burst != odd.Burst {
		t["burst"] = said.Burst
	}
	if said.Speed != odd.Speed {
		t["speed"] = said.Speed
	}
	if said.Chunk > 1 {
		t["chunk"] = int(said.Chunk)
	} else if said.Chunk != odd.Chunk {
		t["chunk"] = said.Chunk.String()
	}
	if said.Jitter != odd.Jitter {
		t["jitter"] = jitterOf(said.Jitter)
	}
	return t
}

func jitterOf(j pace.Jitter) map[string]any {
	m := map[string]any{}
	if j.Fixed != 0 {
		m["fixed"] = j.Fixed.Round(time.Nanosecond).String()
	}
	if j.Uniform != 0 {
		m["uniform"] = j.Uniform
	}
	if j.Lognormal != 0 {
		m["lognormal"] = j.Lognormal
	}
	return m
}

// steps are those of scenarios, by their names.
type steps struct {
	Steps map[string]string `json:"steps"`
}

// mostSteps are set at once, and mostName is how long each may be, in bytes.
const (
	mostSteps = 1000
	mostName  = 200
)

func (s *server) state(w http.ResponseWriter, r *http.Request) error {
	test, err := testOf(r)
	if err != nil {
		return err
	}
	now := map[string]string{}
	if s.knows(test) {
		now = s.mock.State(test).ScenarioSteps()
	}
	if now == nil {
		now = map[string]string{}
	}
	answer(w, steps{now})
	return nil
}

// putState sets the steps of scenarios; those that are not said begin again.
func (s *server) putState(w http.ResponseWriter, r *http.Request) error {
	test, err := testOf(r)
	if err != nil {
		return err
	}
	var to steps
	const example = `{"steps": {"checkout": "started"}}`
	if err := read(w, r, &to, example); err != nil {
		return err
	}
	if to.Steps == nil || len(to.Steps) > mostSteps {
		return bad("steps is an object of at most %d scenarios: %s", mostSteps, example)
	}
	for scenario, step := range to.Steps {
		if scenario == "" || len(scenario) > mostName || len(step) > mostName || strings.ContainsRune(scenario, 0) {
			return bad("%.40q: %.40q: a scenario and its step are names of at most %d bytes", scenario, step, mostName)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.mock.State(test)
	for scenario := range state.ScenarioSteps() {
		if _, stays := to.Steps[scenario]; !stays {
			state.SetStep(scenario, script.InitialStep)
		}
	}
	for scenario, step := range to.Steps {
		state.SetStep(scenario, step)
	}
	answer(w, steps{state.ScenarioSteps()})
	return nil
}
