package rules_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// TestFindingsFailARequirement checks that no check fails in a transcript without a requirement
// that fails with it: each finding is about a requirement whose catalogue entry names the check.
func TestFindingsFailARequirement(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts: ", err)
	}
	for _, file := range files {
		h, _ := evaluateFile(t, file)
		for _, r := range h.Results {
			for _, f := range r.Findings {
				isAbout := func(l spec.Requirement) bool {
					named := f.Event.Requirement == "" || f.Event.Requirement == l.ID
					return named && r.VerdictOn(l) >= spec.Warned
				}
				if !slices.ContainsFunc(r.PlannedCheck.Requirements, isAbout) {
					t.Errorf("%s: %s finds %q about %q, which the check does not serve",
						file, r.PlannedCheck.Check.ID, f.Message, f.Event.Requirement)
				}
			}
		}
	}
}
