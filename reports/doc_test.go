package reports_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/reports"
)

// TestDocumented checks that docs/report.md describes every member of the JSON report, and no other
// members.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(text), "\n## ")
	for i, shape := range []any{reports.Report{}, reports.DialectResults{}, reports.Cause{}, reports.RequirementResult{}, reports.Check{}, reports.Finding{}} {
		told := map[string]bool{}
		for line := range strings.Lines(sections[i]) {
			if !strings.HasPrefix(line, "| `") {
				continue
			}
			for _, name := range strings.Split(strings.Split(line, "|")[1], ",") {
				told[strings.TrimSuffix(strings.Trim(name, " `"), "[]")] = true
			}
		}
		for f := range reflect.TypeOf(shape).NumField() {
			field := reflect.TypeOf(shape).Field(f)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "dialect" && reflect.TypeOf(shape) == reflect.TypeFor[reports.RequirementResult]() {
				continue // of lists of several dialects' only
			}
			if !told[name] {
				t.Errorf("%T: %s is not documented", shape, name)
			}
			delete(told, name)
		}
		for name := range told {
			t.Errorf("%T has no %s", shape, name)
		}
	}
}
