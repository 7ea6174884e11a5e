package suites

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestVariants checks that the variants scenario sends valid requests in many forms, and that a
// server that refuses some of them is blamed for the form and for the requirement on it.
func TestVariants(t *testing.T) {
	t.Parallel()
	has := func(names ...string) func(body map[string]any) bool {
		return func(body map[string]any) bool {
			for _, name := range names {
				if v := body[name]; v == nil || v == "" {
					return false
				}
				if list, isList := body[name].([]any); isList && len(list) == 0 {
					return false
				}
			}
			return true
		}
	}
	for _, c := range []struct {
		dialect     string
		refuses     func(body map[string]any) bool // whether the server refuses a request with the body
		requirement string
		message     string // the beginning of the finding
	}{
		{"agui@1.0", has("parentRunId"), "agui.input.version", `valid request with the member "parentRunId"`},
		{"agui@1.0", has("context"), "", `valid request with items in "context"`},
		{"agkit@0.0.10", has("xUnknownMember"), "agkit.error.unknown-fields", "valid request with the unknown member /xUnknownMember of type "},
		{"agkit@0.0.10", has("tools", "xUnknownMember"), "agkit.error.unknown-fields", "valid request with the unknown member /xUnknownMember of type "},
		{"agkit@0.0.10", has(""), "agkit.error.unknown-fields", "valid request with the unknown member / of type string"},
	} {
		d, err := dialect.Open(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		right, refused := reference.New(d, reference.Scripted, reference.Config{}), 0
		target := startTarget(t, d, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			var body map[string]any
			if json.Unmarshal(data, &body) == nil && c.refuses(body) {
				refused++
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnprocessableEntity)
				_, _ = io.WriteString(w, `{"detail":[]}`)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(data))
			right.ServeHTTP(w, r)
		}))
		target.Only, target.ClaimedCapabilities = []string{"variants"}, []string{"scripted"}
		parts, err := Run(t.Context(), target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if refused == 0 {
			t.Errorf("%s: no request was refused that is to cause %q", c.dialect, c.message)
		}
		if !hasFinding(parts, c.requirement, c.message) {
			t.Errorf("%s: no finding that begins with %q about %s", c.dialect, c.message, c.requirement)
		}
	}
}

// hasFinding reports whether the check accept.as-documented has a finding that begins with message
// and is about the requirement with the given id, or about any requirement if the id is "".
func hasFinding(parts []ScenarioResult, requirement, message string) bool {
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			for _, f := range r.Findings {
				about := requirement == "" || f.Event.Requirement == requirement
				if r.PlannedCheck.Check.ID == "accept.as-documented" && about && strings.HasPrefix(f.Message, message) {
					return true
				}
			}
		}
	}
	return false
}
