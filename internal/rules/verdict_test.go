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

// TestForgottenPrompts checks which requirements an answer to conformance:recall violates if the
// dialect requires less of the history on the server than of the test prompts: the answer "nothing"
// violates both only if the request repeats the earlier prompt, or if the server has a memory.
func TestForgottenPrompts(t *testing.T) {
	const session, prompts = "agentscope.session-continues", "agentscope.scripted.recall"
	for name, want := range map[string]map[string]spec.Verdict{
		"session": {session: spec.Warned, prompts: spec.Silent},
		"first":   {session: spec.Warned, prompts: spec.Failed},
		"input":   {session: spec.Warned, prompts: spec.Failed},
		"twice":   {session: spec.Warned, prompts: spec.Failed},
	} {
		h, _ := evaluateFile(t, filepath.Join("testdata", "script-bad-recall-"+name+".txtar"))
		for _, r := range h.Results {
			for _, l := range r.PlannedCheck.Requirements {
				if v, ok := want[l.ID]; ok && r.PlannedCheck.Check.ID == "script.recall" && r.VerdictOn(l) != v {
					t.Errorf("%s: %s is %v, want %v", name, l.ID, r.VerdictOn(l), v)
				}
			}
		}
	}
}
