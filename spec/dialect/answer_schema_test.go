package dialect_test

import (
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestAnswersMatch checks which replies to interrupts match the schema of an interrupt.
func TestAnswersMatch(t *testing.T) {
	for _, c := range []struct {
		dialect, template, schema string
		want                      bool
	}{
		{"agui", "resume", `{}`, true},
		{"agui", "resume", `{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"}}}`, true},
		{"agui", "resume", `{"type":"object","required":["choice"]}`, false},
		{"agui", "resume", `{"type":"string"}`, false},
		{"agui", "resume-text", `{"type":"string"}`, true},
		{"agui", "resume-text", `{"type":"boolean"}`, false},
		{"agui", "resume-false", `{"type":"boolean"}`, true},
		{"agui", "resume-list", `{"type":"array"}`, true},
		{"agui", "resume-empty-list", `{"type":"array","minItems":1}`, false},
		{"agkit", "resume", `{"type":"string"}`, true},
		{"agkit", "resume", `{"type":"object"}`, false},
		{"agui", "prompt", `{}`, false},
		{"agui", "resume", `{"$ref":"file:///etc/passwd"}`, false},
		{"agui", "resume", `{"type":7}`, false},
		{"agui", "resume", `not JSON`, false},
		{"agui", "resume", `{"description":"` + strings.Repeat("x", 65<<10) + `"}`, false},
	} {
		d, err := dialect.Open(c.dialect)
		if err != nil {
			t.Fatal(err)
		}
		r, err := d.BuildRequest(c.template, spec.Event{Thread: "t", Run: "r", Message: "m", ID: "int-1", Text: "true"})
		if err != nil {
			t.Fatalf("%s %s: %v", c.dialect, c.template, err)
		}
		if got := d.AnswersMatch(r, c.schema); got != c.want {
			t.Errorf("%s %s, schema %.80s: got %v, want %v", c.dialect, c.template, c.schema, got, c.want)
		}
	}
}
