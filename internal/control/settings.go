package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/pace"
	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/mockserver"
)

// exampleSettings is a valid body of a request that changes settings. Error messages quote it.
const exampleSettings = `{"seed": 7, "faults": ["abort; event=3"], "pace": {"first": "300ms", "rate": 40}, ` +
	`"vary": 1, "hold": 0}`

// getSettings handles GET /v1/settings: it responds with the settings of the test in the query or,
// if the query names no test, with those that all tests share. The response is the JSON encoding of
// a mockserver.RuntimeSettings.
func (s *server) getSettings(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return writeJSON(w, s.currentSettings(query.Get("test")))
}

// currentSettings returns the settings of the test with the id test, or those that all tests share
// if test is "". The result is empty if the mock does not know the test.
func (s *server) currentSettings(test string) (now mockserver.RuntimeSettings) {
	if s.isKnownTest(test) {
		now = s.mock.Settings(test)
	}
	return now
}

// removeSettings sets all fields of settings to nil, except for the scripts and the recordings.
func removeSettings(settings *mockserver.RuntimeSettings) {
	*settings = mockserver.RuntimeSettings{Scripts: settings.Scripts, Replay: settings.Replay}
}

// putSettings handles PUT /v1/settings: it replaces the settings of the test in the query or, if
// the query names no test, those that all tests share. Scripts and recordings are kept. The body is
// a JSON object, such as exampleSettings. putSettings responds with the new settings.
func (s *server) putSettings(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return s.changeSettings(w, r, query.Get("test"), removeSettings)
}

// patchSettings handles PATCH /v1/settings: it changes the settings of the test in the query or, if
// the query names no test, those that all tests share. The body is a JSON merge patch (RFC 7396):
// null removes a setting, and a setting that is absent from the body is kept. patchSettings
// responds with the new settings.
func (s *server) patchSettings(w http.ResponseWriter, r *http.Request, query url.Values) error {
	return s.changeSettings(w, r, query.Get("test"), func(*mockserver.RuntimeSettings) {})
}

// changeSettings changes the settings of the test with the id test, or those that all tests share
// if test is "". First, it calls prepare with a copy of the current settings, which prepare may
// modify. Then it applies the body of the request to the copy. The body is a JSON object such as
// exampleSettings: null removes a setting, and any other value sets it. changeSettings responds
// with the new settings. If the body is invalid, it changes nothing, does not call prepare and
// returns an error.
func (s *server) changeSettings(
	w http.ResponseWriter, r *http.Request, test string, prepare func(*mockserver.RuntimeSettings),
) error {
	data, _, err := readBody(w, r, maxBody, "application/json", "application/merge-patch+json")
	if err != nil {
		return err
	}
	var values map[string]json.RawMessage
	if err := decodeStrict(data, &values); err != nil || values == nil {
		return badRequest("the body is not a JSON object (e.g. %s)", exampleSettings)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var scratch mockserver.RuntimeSettings
	for name, text := range values {
		read, known := settingReaders[name]
		if !known {
			return badRequest("unknown setting %.40q (want seed, vary, pace, faults or hold)", name)
		}
		if err := read(&scratch, text); err != nil {
			return badRequest("%s: %v", name, err)
		}
	}
	s.mock.UpdateSettings(test, func(now *mockserver.RuntimeSettings) {
		prepare(now)
		for name, text := range values {
			_ = settingReaders[name](now, text) // was validated above
		}
	})
	return writeJSON(w, s.mock.Settings(test))
}

// deleteSettings handles DELETE /v1/settings: it removes the settings of the test in the query or,
// if the query names no test, those that all tests share. Scripts and recordings are kept. It
// responds with status 204, also if the test is not known. The error is always nil.
func (s *server) deleteSettings(w http.ResponseWriter, r *http.Request, query url.Values) error {
	test := query.Get("test")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isKnownTest(test) {
		s.mock.UpdateSettings(test, removeSettings)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// settingReaders maps the name of each setting to a function that parses text, the JSON value of
// the setting, and stores the result in a field of s. The value null removes the setting. The
// function returns an error if the value is invalid.
var settingReaders = map[string]func(s *mockserver.RuntimeSettings, text []byte) error{
	"seed": func(s *mockserver.RuntimeSettings, text []byte) error { return readSetting(&s.Seed, text, parseSeed) },
	"vary": func(s *mockserver.RuntimeSettings, text []byte) error { return readSetting(&s.Vary, text, parseSeed) },
	"hold": func(s *mockserver.RuntimeSettings, text []byte) error { return readSetting(&s.Hold, text, parseHold) },
	"pace": func(s *mockserver.RuntimeSettings, text []byte) error { return readSetting(&s.Pace, text, parsePace) },
	"faults": func(s *mockserver.RuntimeSettings, text []byte) error {
		return readSetting(&s.Faults, text, parseFaults)
	},
}

// readSetting stores in *to a pointer to the result of parse for text, or nil if text is the JSON
// value null. It returns the error from parse.
func readSetting[T any](to **T, text []byte, parse func(text []byte) (T, error)) error {
	*to = nil
	if string(text) == "null" {
		return nil
	}
	v, err := parse(text)
	*to = &v
	return err
}

// parseSeed parses text, a JSON number, as a seed. It returns an error unless the number is an
// integer from 0 to 2^53-1.
func parseSeed(text []byte) (uint64, error) {
	var quoted string
	if json.Unmarshal(text, &quoted) == nil {
		return 0, fmt.Errorf("invalid seed %.40q (want an integer, not a string)", quoted)
	}
	return mockserver.ParseSeed(string(text))
}

// parseHold parses text, a JSON number, as the index, from 0, of the event before which the mock
// holds streams. It returns an error unless the number is an integer from 0 to maxEvent.
func parseHold(text []byte) (n int, err error) {
	if err := json.Unmarshal(text, &n); err != nil || n < 0 || n > maxEvent {
		return 0, fmt.Errorf("invalid event number %.40s (want an integer, 0 or more)", text)
	}
	return n, nil
}

// parsePace parses text, a JSON object with the same fields as a pace in a script. It returns an
// error if a field is unknown or has an invalid value.
func parsePace(text []byte) (pace.Pace, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return pace.Pace{}, err
	}
	return pace.Parse(v)
}

// maxFaults is the maximum number of faults that a request can set.
const maxFaults = 32

// parseFaults parses text, the JSON value of the setting "faults". The value is a string in the
// syntax of [fault.Parse] or a list of items that parseFault accepts. parseFaults returns an error
// if the value is invalid or contains more than maxFaults faults.
func parseFaults(text []byte) (specs []fault.Spec, err error) {
	var header string
	if json.Unmarshal(text, &header) == nil {
		specs, err = fault.Parse(header)
		return append([]fault.Spec{}, specs...), err
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

// parseFault parses an item of a JSON list of faults. The item is a string in the syntax of
// [fault.Parse], which may contain several faults, or an object with one fault and its parameters,
// as in a script. parseFault returns an error if the item is invalid.
func parseFault(item []byte) ([]fault.Spec, error) {
	var header *string // nil for null, which is not a fault
	if json.Unmarshal(item, &header) == nil && header != nil {
		return fault.Parse(*header)
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

// A currentSteps is the JSON form of the state of scripts. A script can contain state machines,
// which it calls scenarios: a rule can require that a scenario is at a certain step, and can move
// it to another step.
type currentSteps struct {
	Steps map[string]string `json:"steps"` // current step, by the name of the scenario
}

// Limits on the state of scripts that a request may set.
const (
	maxSteps      = 1000 // scenarios
	maxNameLength = 200  // bytes of the name of a scenario or step
)

// getState handles GET /v1/state: it responds with a currentSteps for the test in the query or, if
// the query names no test, for requests that belong to no test.
func (s *server) getState(w http.ResponseWriter, r *http.Request, query url.Values) error {
	test := query.Get("test")
	now := map[string]string{}
	if s.isKnownTest(test) {
		now = s.mock.ScriptState(test).ScenarioSteps()
	}
	return writeJSON(w, currentSteps{now})
}

// putState handles PUT /v1/state. Its body is a currentSteps: the scenarios in the body are set to
// the given steps, and all other scenarios to their initial step. The change applies to the test in
// the query or, if the query names no test, to requests that belong to no test. putState responds
// with the new currentSteps. If the body is invalid, it changes nothing and returns an error.
func (s *server) putState(w http.ResponseWriter, r *http.Request, query url.Values) error {
	test := query.Get("test")
	var to currentSteps
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
	return writeJSON(w, currentSteps{state.ScenarioSteps()})
}
