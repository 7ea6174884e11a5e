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

// settingsJSON is what is set for a test, or for all, as JSON has it.
type settingsJSON struct {
	Seed   *uint64   `json:"seed,omitempty"`
	Vary   *uint64   `json:"vary,omitempty"`
	Pace   *paceJSON `json:"pace,omitempty"`
	Faults *[]string `json:"faults,omitempty"`
	Hold   *int      `json:"hold,omitempty"`
}

const exampleSettings = `{"seed": 7, "faults": ["abort; event=3"], "pace": {"first": "300ms", "rate": 40}, "vary": 1, "hold": 0}`

func toSettingsJSON(now mockserver.Settings) settingsJSON {
	to := settingsJSON{Seed: now.Seed, Vary: now.Vary, Hold: now.Hold}
	if now.Pace != nil {
		if told := toPaceJSON(*now.Pace); len(told) > 0 {
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

func (s *server) getSettings(w http.ResponseWriter, r *http.Request) error {
	test, err := testParam(r)
	if err != nil {
		return err
	}
	if !s.isKnownTest(test) {
		writeJSON(w, settingsJSON{})
		return nil
	}
	writeJSON(w, toSettingsJSON(s.mock.Settings(test)))
	return nil
}

// putSettings sets what is said, and nothing else.
func (s *server) putSettings(w http.ResponseWriter, r *http.Request) error {
	return s.changeSettings(w, r, func(now mockserver.Settings) mockserver.Settings {
		return mockserver.Settings{Scripts: now.Scripts, Replay: now.Replay}
	})
}

// patchSettings sets what is said; what is null is set no more (RFC 7396).
func (s *server) patchSettings(w http.ResponseWriter, r *http.Request) error {
	return s.changeSettings(w, r, func(now mockserver.Settings) mockserver.Settings { return now })
}

func (s *server) changeSettings(w http.ResponseWriter, r *http.Request, from func(mockserver.Settings) mockserver.Settings) error {
	test, err := testParam(r)
	if err != nil {
		return err
	}
	if _, err := requestMediaType(r, "application/json", "application/merge-patch+json"); err != nil {
		return err
	}
	data, err := readBody(w, r, maxBody)
	if err != nil {
		return err
	}
	var values map[string]json.RawMessage
	if err := decodeStrict(data, &values); err != nil || values == nil {
		return badRequest("the body is no JSON object: right is such as %s", exampleSettings)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var scratch mockserver.Settings
	for name, text := range values {
		put, known := settingReaders[name]
		if !known {
			return badRequest("nothing is called %.40q: seed, vary, pace, faults and hold can be set", name)
		}
		if err := put(&scratch, text); err != nil {
			return badRequest("%s: %v", name, err)
		}
	}
	s.mock.UpdateSettings(test, func(now *mockserver.Settings) {
		*now = from(*now)
		for name, text := range values {
			_ = settingReaders[name](now, text) // it was tried above
		}
	})
	writeJSON(w, toSettingsJSON(s.mock.Settings(test)))
	return nil
}

func (s *server) deleteSettings(w http.ResponseWriter, r *http.Request) error {
	test, err := testParam(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isKnownTest(test) {
		s.mock.UpdateSettings(test, func(now *mockserver.Settings) {
			*now = mockserver.Settings{Scripts: now.Scripts, Replay: now.Replay}
		})
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// settingReaders are what can be set, with how it is read. null is nothing.
var settingReaders = map[string]func(to *mockserver.Settings, text []byte) error{
	"seed": func(to *mockserver.Settings, text []byte) error { return readSeed(&to.Seed, text) },
	"vary": func(to *mockserver.Settings, text []byte) error { return readSeed(&to.Vary, text) },
	"hold": func(to *mockserver.Settings, text []byte) error {
		to.Hold = nil
		if err := json.Unmarshal(text, &to.Hold); err != nil || to.Hold != nil && (*to.Hold < 0 || *to.Hold > maxEvent) {
			return fmt.Errorf("%.40s is no number of an event, from 0", text)
		}
		return nil
	},
	"pace": func(to *mockserver.Settings, text []byte) error {
		to.Pace = nil
		if isNull(text) {
			return nil
		}
		var said any
		if err := json.Unmarshal(text, &said); err != nil {
			return err
		}
		read, err := pace.Parse(said)
		to.Pace = &read
		return err
	},
	"faults": func(to *mockserver.Settings, text []byte) error {
		to.Faults = nil
		if isNull(text) {
			return nil
		}
		uses, err := parseFaults(text)
		to.Faults = &uses
		return err
	},
}

func isNull(text []byte) bool { return string(text) == "null" }

func readSeed(to **uint64, text []byte) error {
	*to = nil
	if isNull(text) {
		return nil
	}
	n, err := mockserver.ParseSeed(string(text))
	*to = &n
	return err
}

// maxFaults are set at once.
const maxFaults = 32

// parseFaults reads faults: as a header names them, or a list of such, and of objects as in
// scripts.
func parseFaults(text []byte) (uses []fault.Spec, err error) {
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
		more, err := parseFault(item)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		if uses = append(uses, more...); len(uses) > maxFaults {
			return nil, fmt.Errorf("more than %d faults at once", maxFaults)
		}
	}
	return uses, nil
}

func parseFault(item []byte) ([]fault.Spec, error) {
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

// A paceJSON is a pace as scripts have it.
type paceJSON map[string]any

func toPaceJSON(p pace.Pace) paceJSON {
	t := paceJSON{}
	unset := pace.Pace{First: -1, Rate: -1, Burst: -1, Chunk: -9, Speed: -1, Jitter: pace.Jitter{Fixed: -1}}
	merged := unset.Merge(p) // what p does not say stays odd
	if merged.First != unset.First {
		t["first"] = merged.First.String()
	}
	if merged.Rate != unset.Rate {
		t["rate"] = merged.Rate
	}
	if merged.Burst != unset.Burst {
		t["burst"] = merged.Burst
	}
	if merged.Speed != unset.Speed {
		t["speed"] = merged.Speed
	}
	if merged.Chunk > 1 {
		t["chunk"] = int(merged.Chunk)
	} else if merged.Chunk != unset.Chunk {
		t["chunk"] = merged.Chunk.String()
	}
	if merged.Jitter != unset.Jitter {
		t["jitter"] = toJitterJSON(merged.Jitter)
	}
	return t
}

func toJitterJSON(j pace.Jitter) map[string]any {
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

// stepsJSON are those of scenarios, by their names.
type stepsJSON struct {
	Steps map[string]string `json:"steps"`
}

// maxSteps are set at once, and maxNameLength is how long each may be, in bytes.
const (
	maxSteps      = 1000
	maxNameLength = 200
)

func (s *server) getState(w http.ResponseWriter, r *http.Request) error {
	test, err := testParam(r)
	if err != nil {
		return err
	}
	now := map[string]string{}
	if s.isKnownTest(test) {
		now = s.mock.ScriptState(test).ScenarioSteps()
	}
	if now == nil {
		now = map[string]string{}
	}
	writeJSON(w, stepsJSON{now})
	return nil
}

// putState sets the steps of scenarios; those that are not said begin again.
func (s *server) putState(w http.ResponseWriter, r *http.Request) error {
	test, err := testParam(r)
	if err != nil {
		return err
	}
	var to stepsJSON
	const example = `{"steps": {"checkout": "started"}}`
	if err := readJSON(w, r, &to, example); err != nil {
		return err
	}
	if to.Steps == nil || len(to.Steps) > maxSteps {
		return badRequest("steps is an object of at most %d scenarios: %s", maxSteps, example)
	}
	for scenario, step := range to.Steps {
		if scenario == "" || len(scenario) > maxNameLength || len(step) > maxNameLength || strings.ContainsRune(scenario, 0) {
			return badRequest("%.40q: %.40q: a scenario and its step are names of at most %d bytes", scenario, step, maxNameLength)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.mock.ScriptState(test)
	for scenario := range state.ScenarioSteps() {
		if _, stays := to.Steps[scenario]; !stays {
			state.SetStep(scenario, script.InitialStep)
		}
	}
	for scenario, step := range to.Steps {
		state.SetStep(scenario, step)
	}
	writeJSON(w, stepsJSON{state.ScenarioSteps()})
	return nil
}
