package control

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/streamassay/streamassay/internal/script"
	"github.com/streamassay/streamassay/mockserver"
)

// A scriptProblem is an error or a warning about a script, with its position in the script.
type scriptProblem struct {
	Line   int    `json:"line"`   // from 1
	Column int    `json:"column"` // from 1
	Level  string `json:"level"`  // "error" or "warning"
	Text   string `json:"text"`
}

// maxProblems is the maximum number of problems of a script in one response.
const maxProblems = 100

// scriptMediaTypes lists the media types that a request with a script may have.
var scriptMediaTypes = []string{"application/yaml", "application/x-yaml", "text/yaml", "text/plain", "application/json"}

// loadScripts parses the script in the body of the request r. It returns the text and the rules of
// the script, and at most maxProblems errors and warnings about it. If the script has errors, set
// is nil and err is nil. If the body cannot be read, is empty or has the wrong media type, err
// contains the HTTP status for the response. loadScripts does not write to w.
func (s *server) loadScripts(
	w http.ResponseWriter, r *http.Request,
) (text []byte, set *script.RuleSet, found []scriptProblem, err error) {
	if text, _, err = readBody(w, r, maxScript, scriptMediaTypes...); err != nil {
		return nil, nil, nil, err
	}
	if len(text) == 0 {
		return nil, nil, nil, badRequest("missing body (want a script as YAML; use DELETE to remove scripts)")
	}
	set, problems := script.LoadChecked([]script.Source{{Name: "body", Data: text}}, s.mock.Dialects(), s.cfg.Judge)
	found = []scriptProblem{}
	for _, p := range problems[:min(len(problems), maxProblems)] {
		found = append(found, scriptProblem{p.Line, p.Column, fmt.Sprint(p.Severity), p.Message})
	}
	return text, set, found, nil
}

// checkScripts handles POST /v1/scripts/check: it checks the script in the body without setting it.
// It responds with {"ok": BOOL, "problems": LIST}, where LIST holds a scriptProblem for each error
// and warning, and BOOL is true if there are no errors.
func (s *server) checkScripts(w http.ResponseWriter, r *http.Request, query url.Values) error {
	_, set, problems, err := s.loadScripts(w, r)
	if err != nil {
		return err
	}
	return writeJSON(w, map[string]any{"ok": set != nil, "problems": problems})
}

// putScripts handles PUT /v1/scripts: it sets the script of the test in the query or, if the query
// names no test, the script that all tests share. It responds with {"ok": true, "problems": LIST},
// where LIST holds a scriptProblem for each warning about the new script. If the new script has
// errors, putScripts changes nothing and returns an error with status 422 that lists the errors and
// warnings.
func (s *server) putScripts(w http.ResponseWriter, r *http.Request, query url.Values) error {
	test := query.Get("test")
	text, set, problems, err := s.loadScripts(w, r)
	if err != nil {
		return err
	}
	if set == nil {
		return &apiError{
			status: http.StatusUnprocessableEntity, members: map[string]any{"problems": problems},
			text: fmt.Sprintf("the script has %d problems and was not set", len(problems)),
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := append(s.mock.Tests(), "")
	maps.DeleteFunc(s.scriptSources, func(test string, _ currentScript) bool { return !slices.Contains(known, test) })
	s.mock.UpdateSettings(test, func(now *mockserver.RuntimeSettings) { now.Scripts = set })
	s.scriptSources[test] = currentScript{set, text}
	return writeJSON(w, map[string]any{"ok": true, "problems": problems})
}

// A scriptRuleInfo describes a rule of a script in a response.
type scriptRuleInfo struct {
	Name     string `json:"name"`
	File     string `json:"file"`     // file of the script
	Line     int    `json:"line"`     // line in that file, from 1
	Priority int    `json:"priority"` // rules of higher priority are tried first
	Violates bool   `json:"violates"` // the script states that the reply violates the protocol
}

// yamlMediaType is the media type of a script in a response.
const yamlMediaType = "application/yaml"

// getScripts handles GET /v1/scripts: it responds with the script of the test in the query or, if
// the query names no test, with the script that all tests share. The response is {"rules": LIST,
// "source": TEXT}. LIST holds a scriptRuleInfo for each rule, in the order in which rules are
// tried. TEXT is the text of the script; the member is absent unless putScripts has set the script.
//
// If the client accepts YAML, the response is only the text. Its status is 404 if putScripts has
// not set the script.
func (s *server) getScripts(w http.ResponseWriter, r *http.Request, query url.Values) error {
	test := query.Get("test")
	s.mu.Lock()
	defer s.mu.Unlock()
	now, source := s.currentSettings(test).Scripts, s.scriptSources[test]
	hasSource := now != nil && source.set == now
	w.Header().Set("Vary", "Accept")
	if accepts(r, yamlMediaType) {
		if !hasSource {
			return notFound("no script was set by PUT (the text of scripts loaded from files is not available)")
		}
		writeBody(w, http.StatusOK, yamlMediaType, source.text)
		return nil
	}
	rules := []scriptRuleInfo{} // in the order in which they are tried
	for _, r := range now.Rules() {
		rules = append(rules, scriptRuleInfo{r.Name, r.File, r.Line, r.Priority, r.Violates})
	}
	response := map[string]any{"rules": rules}
	if hasSource {
		response["source"] = string(source.text)
	}
	return writeJSON(w, response)
}

// isKnownTest reports whether the mock knows the test with the id test. It returns true for "",
// which stands for what all tests share. Handlers that only read must call it first, because
// reading the settings or the state of an unknown test makes it known.
func (s *server) isKnownTest(test string) bool {
	return test == "" || slices.Contains(s.mock.Tests(), test)
}

// deleteScripts handles DELETE /v1/scripts: it removes the script of the test in the query or, if
// the query names no test, the script that all tests share. It responds with status 204, even if
// there is no script.
func (s *server) deleteScripts(w http.ResponseWriter, r *http.Request, query url.Values) error {
	test := query.Get("test")
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.scriptSources, test)
	if s.isKnownTest(test) {
		s.mock.UpdateSettings(test, func(now *mockserver.RuntimeSettings) { now.Scripts = nil })
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
