package control

import (
	"fmt"
	"net/http"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/mockserver/script"
)

// A remark is what is wrong with a script, and where.
type remark struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Level  string `json:"level"`
	Text   string `json:"text"`
}

// mostRemarks is how many are told.
const mostRemarks = 100

// loaded reads scripts from a body. Remarks are all that is wrong; with errors among
// them there is no set.
func (s *server) loaded(w http.ResponseWriter, r *http.Request) (text []byte, set *script.RuleSet, remarks []remark, err error) {
	if _, err = media(r, "application/yaml", "application/x-yaml", "text/yaml", "text/plain", "application/json"); err != nil {
		return nil, nil, nil, err
	}
	if text, err = body(w, r, mostScript); err != nil {
		return nil, nil, nil, err
	}
	if len(text) == 0 {
		return nil, nil, nil, bad("there is no script: the body is one, as YAML; DELETE takes those away that are there")
	}
	set, problems := script.LoadChecked([]script.Source{{Name: "body", Data: text}}, s.mock.Dialects(), s.cfg.Judge)
	remarks = []remark{}
	for _, p := range problems[:min(len(problems), mostRemarks)] {
		remarks = append(remarks, remark{p.Line, p.Column, fmt.Sprint(p.Severity), p.Message})
	}
	return text, set, remarks, nil
}

func (s *server) checkScripts(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	_, set, remarks, err := s.loaded(w, r)
	if err != nil {
		return err
	}
	answer(w, map[string]any{"ok": set != nil, "problems": remarks})
	return nil
}

// putScripts replaces the scripts of a test, or of all, or leaves them as they are.
func (s *server) putScripts(w http.ResponseWriter, r *http.Request) error {
	test, err := testOf(r)
	if err != nil {
		return err
	}
	text, set, remarks, err := s.loaded(w, r)
	if err != nil {
		return err
	}
	if set == nil {
		return &wrong{
			status: http.StatusUnprocessableEntity, more: map[string]any{"problems": remarks},
			text: fmt.Sprintf("the script is refused, and what was there stays: %d problems", len(remarks)),
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetTests()
	s.mock.Change(test, func(now *mockserver.Settings) { now.Scripts = set })
	s.written[test] = source{set, text}
	answer(w, map[string]any{"ok": true, "problems": remarks})
	return nil
}

// forgetTests drops the texts of tests that the mock has forgotten.
func (s *server) forgetTests() {
	known := map[string]bool{"": true}
	for _, test := range s.mock.Tests() {
		known[test] = true
	}
	for test := range s.written {
		if !known[test] {
			delete(s.written, test)
		}
	}
}

// A ruling is a rule, and where it stands.
type ruling struct {
	Name     string `json:"name"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Priority int    `json:"priority"`
	Violates bool   `json:"violates"`
}

const yaml = "application/yaml"

// scripts answers with the rules of a test, or of all: which there are, or their text as
// it was put here.
func (s *server) scripts(w http.ResponseWriter, r *http.Request) error {
	test, err := testOf(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var now *script.RuleSet
	if s.knows(test) {
		now = s.mock.Settings(test).Scripts
	}
	was := s.written[test]
	put := now != nil && was.set == now
	w.Header().Set("Vary", "Accept")
	if accepts(r, yaml) {
		if !put {
			return missing("no script was put here: rules that came from files have their text there")
		}
		send(w, http.StatusOK, yaml, was.text)
		return nil
	}
	told := map[string]any{"rules": rulings(now)}
	if put {
		told["source"] = string(was.text)
	}
	answer(w, told)
	return nil
}

func rulings(set *script.RuleSet) []ruling {
	all := []ruling{}
	for _, r := range set.Rules() {
		all = append(all, ruling{r.Name, r.File, r.Line, r.Priority, r.Violates})
	}
	return all
}

// knows says whether a test is known: to ask for what is set must not make it so.
func (s *server) knows(test string) bool {
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

func (s *server) dropScripts(w http.ResponseWriter, r *http.Request) error {
	test, err := testOf(r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, test)
	if s.knows(test) {
		s.mock.Change(test, func(now *mockserver.Settings) { now.Scripts = nil })
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *server) schema(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	send(w, http.StatusOK, "application/schema+json", script.Schema())
	return nil
}
