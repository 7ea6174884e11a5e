package control

import (
	"fmt"
	"net/http"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/script"
)

// A scriptProblem is what is wrong with a script, and where.
type scriptProblem struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Level  string `json:"level"`
	Text   string `json:"text"`
}

// maxProblems is how many are told.
const maxProblems = 100

// loadScripts reads scripts from a body. Remarks are all that is wrong; with errors among
// them there is no set.
func (s *server) loadScripts(w http.ResponseWriter, r *http.Request) (text []byte, set *script.RuleSet, found []scriptProblem, err error) {
	if _, err = requestMediaType(r, "application/yaml", "application/x-yaml", "text/yaml", "text/plain", "application/json"); err != nil {
		return nil, nil, nil, err
	}
	if text, err = readBody(w, r, maxScript); err != nil {
		return nil, nil, nil, err
	}
	if len(text) == 0 {
		return nil, nil, nil, badRequest("there is no script: the body is one, as YAML; DELETE takes those away that are there")
	}
	set, problems := script.LoadChecked([]script.Source{{Name: "body", Data: text}}, s.mock.Dialects(), s.cfg.Judge)
	found = []scriptProblem{}
	for _, p := range problems[:min(len(problems), maxProblems)] {
		found = append(found, scriptProblem{p.Line, p.Column, fmt.Sprint(p.Severity), p.Message})
	}
	return text, set, found, nil
}

func (s *server) checkScripts(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseQuery(r); err != nil {
		return err
	}
	_, set, remarks, err := s.loadScripts(w, r)
	if err != nil {
		return err
	}
	writeJSON(w, map[string]any{"ok": set != nil, "problems": remarks})
	return nil
}

// putScripts replaces the scripts of a test, or of all, or leaves them as they are.
func (s *server) putScripts(w http.ResponseWriter, r *http.Request) error {
	test, err := testParam(r)
	if err != nil {
		return err
	}
	text, set, remarks, err := s.loadScripts(w, r)
	if err != nil {
		return err
	}
	if set == nil {
		return &apiError{
			status: http.StatusUnprocessableEntity, members: map[string]any{"problems": remarks},
			text: fmt.Sprintf("the script is refused, and what was there stays: %d problems", len(remarks)),
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropForgottenTests()
	s.mock.UpdateSettings(test, func(now *mockserver.Settings) { now.Scripts = set })
	s.scriptSources[test] = scriptSource{set, text}
	writeJSON(w, map[string]any{"ok": true, "problems": remarks})
	return nil
}

// dropForgottenTests drops the texts of tests that the mock has forgotten.
func (s *server) dropForgottenTests() {
	known := map[string]bool{"": true}
	for _, test := range s.mock.Tests() {
		known[test] = true
	}
	for test := range s.scriptSources {
		if !known[test] {
			delete(s.scriptSources, test)
		}
	}
}

// A ruleInfo is a rule, and where it stands.
type ruleInfo struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Priority int    `json:"priority"`
	Violates bool   `json:"violates"`
}

const yamlMediaType = "application/yaml"

// getScripts answers with the rules of a test, or of all: which there are, or their text as
// it was put here.
func (s *server) getScripts(w http.ResponseWriter, r *http.Request) error {
	test, err := testParam(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var now *script.RuleSet
	if s.isKnownTest(test) {
		now = s.mock.Settings(test).Scripts
	}
	was := s.scriptSources[test]
	put := now != nil && was.set == now
	w.Header().Set("Vary", "Accept")
	if accepts(r, yamlMediaType) {
		if !put {
			return notFound("no script was put here: rules that came from files have their text there")
		}
		writeBody(w, http.StatusOK, yamlMediaType, was.text)
		return nil
	}
	reply := map[string]any{"rules": ruleInfos(now)}
	if put {
		reply["source"] = string(was.text)
	}
	writeJSON(w, reply)
	return nil
}

func ruleInfos(set *script.RuleSet) []ruleInfo {
	all := []ruleInfo{}
	for _, r := range set.Rules() {
		all = append(all, ruleInfo{r.Name, r.File, r.Line, r.Priority, r.Violates})
	}
	return all
}

// isKnownTest says whether a test is known: to ask for what is set must not make it so.
func (s *server) isKnownTest(test string) bool {
	if test == "" {
		return true
	}
	for _, known := range s.mock.Tests() {
		if known == test {
			return true
		}
	}
	return false
}

func (s *server) deleteScripts(w http.ResponseWriter, r *http.Request) error {
	test, err := testParam(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.scriptSources, test)
	if s.isKnownTest(test) {
		s.mock.UpdateSettings(test, func(now *mockserver.Settings) { now.Scripts = nil })
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *server) getScriptSchema(w http.ResponseWriter, r *http.Request) error {
	if _, err := parseQuery(r); err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/schema+json", script.Schema())
	return nil
}
