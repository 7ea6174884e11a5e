package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/pace"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/mockserver"
)

// settingsJSON is the JSON form of mockserver.Settings, without scripts and recordings. A nil field
// is a setting that is not set.
type settingsJSON struct {
	Seed   *uint64   `json:"seed,omitempty"`
	Vary   *uint64   `json:"vary,omitempty"`
	Pace   *paceJSON `json:"pace,omitempty"`
	Faults *[]string `json:"faults,omitempty"`
	Hold   *int      `json:"hold,omitempty"`
}

// exampleSettings is a valid body of a request that changes settings. Errors quote it.
const exampleSettings = `{"seed": 7, "faults": ["abort; event=3"], "pace": {"first": "300ms", "rate": 40}, ` +
	`"vary": 1, "hold": 0}`

// toSettingsJSON returns the JSON form of settings.
func toSettingsJSON(now mockserver.Settings) settingsJSON {
	to := settingsJSON{Seed: now.Seed, Vary: now.Vary, Hold: now.Hold}
	if now.Pace != nil {
		if p := toPaceJSON(*now.Pace); len(p) > 0 {
			to.Pace = &p
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

// getSettings handles GET /v1/settings: it responds with the settings of the test in the query or,
// without a test, with those that all tests share.
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

// putSettings handles PUT /v1/settings: it replaces the settings by those in the body, and removes
// settings that the body does not contain. Scripts and recordings stay.
func (s *server) putSettings(w http.ResponseWriter, r *http.Request) error {
	return s.changeSettings(w, r, func(now mockserver.Settings) mockserver.Settings {
		return mockserver.Settings{Scripts: now.Scripts, Replay: now.Replay}
	})
}

// patchSettings handles PATCH /v1/settings: it changes the settings that the body contains and
// removes those that are null there, as in a JSON merge patch (RFC 7396).
func (s *server) patchSettings(w http.ResponseWriter, r *http.Request) error {
	return s.changeSettings(w, r, func(now mockserver.Settings) mockserver.Settings { return now })
}

// changeSettings sets the settings that the body of a request contains. All other settings become
// those that the function base returns for the current settings. If the body or one of its settings
// is invalid, changeSettings changes nothing and returns an error.
func (s *server) changeSettings(
	w http.ResponseWriter, r *http.Request, base func(mockserver.Settings) mockserver.Settings,
) error {
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
		return badRequest("the body is not a JSON object (e.g. %s)", exampleSettings)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var scratch mockserver.Settings
	for name, text := range values {
		read, known := settingReaders[name]
		if !known {
			return badRequest("unknown setting %.40q (want seed, vary, pace, faults or hold)", name)
		}
		if err := read(&scratch, text); err != nil {
			return badRequest("%s: %v", name, err)
		}
	}
	s.mock.UpdateSettings(test, func(now *mockserver.Settings) {
		*now = base(*now)
		for name, text := range values {
			_ = settingReaders[name](now, text) // was validated above
		}
	})
	writeJSON(w, toSettingsJSON(s.mock.Settings(test)))
	return nil
}

// deleteSettings handles DELETE /v1/settings: it removes the settings of the test in the query or,
// without a test, those that all tests share. Scripts and recordings stay.
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

// settingReaders maps the name of each setting to a function that parses its JSON value and stores
// it in a Settings. The value null removes the setting. The function returns an error if the value
// is invalid.
var settingReaders = map[string]func(to *mockserver.Settings, text []byte) error{
	"seed": func(to *mockserver.Settings, text []byte) error { return readSeed(&to.Seed, text) },
	"vary": func(to *mockserver.Settings, text []byte) error { return readSeed(&to.Vary, text) },
	"hold": func(to *mockserver.Settings, text []byte) error {
		to.Hold = nil
		if err := json.Unmarshal(text, &to.Hold); err != nil || to.Hold != nil && (*to.Hold < 0 || *to.Hold > maxEvent) {
			return fmt.Errorf("invalid event number %.40s (want an integer, 0 or more)", text)
		}
		return nil
	},
	"pace": func(to *mockserver.Settings, text []byte) error {
		to.Pace = nil
		if isNull(text) {
			return nil
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return err
		}
		read, err := pace.Parse(value)
		to.Pace = &read
		return err
	},
	"faults": func(to *mockserver.Settings, text []byte) error {
		to.Faults = nil
		if isNull(text) {
			return nil
		}
		specs, err := parseFaults(text)
		to.Faults = &specs
		return err
	},
}

// isNull reports whether text is the JSON value null.
func isNull(text []byte) bool { return string(text) == "null" }

// readSeed parses text as a JSON value and stores the result in *to: a pointer to the seed, or nil
// for null. It returns an error if the value is neither null nor a valid seed.
func readSeed(to **uint64, text []byte) error {
	*to = nil
	if isNull(text) {
		return nil
	}
	n, err := mockserver.ParseSeed(string(text))
	*to = &n
	return err
}

// maxFaults is the maximum number of faults in a list of faults that a request sets.
const maxFaults = 32

// parseFaults parses faults from JSON: a string in the syntax of [fault.Parse], or a list of such
// strings and of objects in the form that scripts use. It returns an error if the JSON has another
// form or a fault is invalid.
func parseFaults(text []byte) (specs []fault.Spec, err error) {
	var header string
	if json.Unmarshal(text, &header) == nil {
		return fault.Parse(header)
	}
	var items []json.RawMessage
	if json.Unmarshal(text, &items) != nil {
		return nil, fmt.Errorf(`want a string (e.g. "abort; event=3"), or a list of strings and objects ` +
			`(e.g. {"abort": {"event": 3}})`)
	}
	specs = []fault.Spec{}
	for i, item := range items {
		more, err := parseFault(item)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i+1, err)
		}
		if specs = append(specs, more...); len(specs) > maxFaults {
			return nil, fmt.Errorf("more than %d faults", maxFaults)
		}
	}
	return specs, nil
}

// parseFault parses one item of a list of faults, a string or an object. It returns more than one
// fault if the string lists several, and an error if the item is invalid.
func parseFault(item []byte) ([]fault.Spec, error) {
	var header string
	if json.Unmarshal(item, &header) == nil {
		return fault.Parse(header)
	}
	var object map[string]map[string]any
	d := json.NewDecoder(bytes.NewReader(item))
	d.UseNumber()
	if d.Decode(&object) != nil || len(object) != 1 {
		return nil, fmt.Errorf(`want an object with one fault and its parameters (e.g. {"abort": {"event": 3}})`)
	}
	for name, args := range object {
		for key, v := range args {
			if n, ok := v.(json.Number); ok {
				args[key] = n.String()
			}
		}
		parsed, err := fault.FromYAML(name, args)
		return []fault.Spec{parsed}, err
	}
	return nil, nil
}

// A paceJSON is the JSON form of a pace, the same as in scripts.
type paceJSON map[string]any

// toPaceJSON returns the JSON form of the pace p. It contains only those fields that p sets.
func toPaceJSON(p pace.Pace) paceJSON {
	t := paceJSON{}
	unset := pace.Pace{First: -1, Rate: -1, Burst: -1, Chunk: -9, Speed: -1, Jitter: pace.Jitter{Fixed: -1}}
	merged := unset.Merge(p) // fields that p does not set keep the impossible values
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

// toJitterJSON returns a jitter as JSON, with only the fields that are not 0.
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

// stepsJSON is the JSON form of the state of scripts. It maps the name of each scenario to the
// current step.
type stepsJSON struct {
	Steps map[string]string `json:"steps"`
}

// Limits of the state of scripts that a request may set: the number of scenarios, and the bytes of
// each name.
const (
	maxSteps      = 1000 // scenarios
	maxNameLength = 200  // bytes of the name of a scenario or step
)

// getState handles GET /v1/state: it responds with the current step of each scenario in the scripts
// of the test in the query or, without a test, in those that all tests share.
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

// putState handles PUT /v1/state: it sets the current steps of the scenarios that the body names
// and sets all other scenarios back to their first step.
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
		return badRequest("invalid steps (want an object with at most %d scenarios, e.g. %s)", maxSteps, example)
	}
	for scenario, step := range to.Steps {
		if scenario == "" || len(scenario) > maxNameLength || len(step) > maxNameLength || strings.ContainsRune(scenario, 0) {
			return badRequest("invalid scenario %.40q or step %.40q (want names of at most %d bytes)",
				scenario, step, maxNameLength)
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
