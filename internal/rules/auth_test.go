package rules_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestAccessRequirements checks that the requirements about access and limits have verdicts of
// their own: evidence for one does not count for another, and a refusal that proves nothing makes
// none of them pass.
func TestAccessRequirements(t *testing.T) {
	d, err := dialect.Open("runs@2026-04")
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"auth-good": `bad-token passed, cancel-401 passed, cancel-403 passed, create-401 passed, events-401 passed,
			events-403 passed, events-403-cursor passed, more-401 passed, more-403 passed, own-history passed, plain passed`,
		"auth-bad-let-in":          "bad-token warned, create-401 failed, events-403 failed, events-403-cursor failed, plain failed",
		"auth-bad-wrong-status":    "bad-token warned, cancel-403 failed, create-401 failed, events-403 failed, plain passed",
		"auth-bad-stream":          "events-401 passed, plain failed",
		"auth-bad-history":         "own-history failed",
		"hides-history-bad-thread": "hides-history warned",
		"hides-history-good":       "hides-history passed, more-403 passed",
		"auth-good-legal":          "more-403 passed, own-history passed",
		"auth-good-legal-closed":   "",
		"limit-good":               "code-sse-limit passed, limit-429 passed, limit-frees passed, limit-plain passed",
		"limit-bad-one-more":       "code-sse-limit warned, limit-429 failed, limit-plain failed",
		"limit-bad-code":           "code-sse-limit warned, limit-429 passed, limit-frees passed, limit-plain failed",
		"limit-bad-stays-full":     "code-sse-limit passed, limit-429 passed, limit-frees warned, limit-plain passed",
		"limit-good-legal":         "",
	} {
		h, _ := evaluateFile(t, "testdata/"+file+".txtar")
		got := map[string]spec.Verdict{}
		for _, r := range h.Results {
			for _, requirement := range r.PlannedCheck.Requirements {
				id := requirement.ID
				if !strings.HasPrefix(id, "runs.auth.") && !strings.Contains(id, "limit-") && !strings.HasSuffix(id, "sse-limit") {
					continue
				}
				if v := r.VerdictOn(requirement); v > spec.Silent {
					id = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(id, "runs.auth."), "runs.stream."), "runs.errors.")
					got[id] = max(got[id], v)
				}
			}
		}
		var lines []string
		for _, id := range slices.Sorted(maps.Keys(got)) {
			lines = append(lines, id+" "+got[id].String())
		}
		if is, wanted := strings.Join(lines, ", "), strings.Join(strings.Fields(want), " "); is != wanted {
			t.Errorf("%s:\n got %s\nwant %s", file, is, wanted)
		}
	}
	if !slices.ContainsFunc(d.Operations(), func(o *dialect.Operation) bool { return o.RequiresCredentials }) || !d.RequiresCredentials() {
		t.Error("the document requires credentials; expected the dialect to report it")
	}
}
