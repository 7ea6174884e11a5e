package suites_test

import (
	"regexp"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// notSent matches the requirements of events that the scripted agent of the reference does not send.
var notSent = regexp.MustCompile(`^agui\.(event\.((text|tool)-chunk|activity|` +
	`encrypted-value|subagent|raw|custom|thinking)|subagent\.pairs|chunk\.first)$`)

// TestEveryRequirementIsHeard checks that the reference gives evidence for each requirement that
// checks judge: in at least one scenario the requirement passes by a judgement that is about it.
func TestEveryRequirementIsHeard(t *testing.T) {
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := dialect.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			heard := map[string]bool{}
			for _, p := range referenceRun(t, name) {
				for _, r := range p.Evaluation.Results {
					for _, l := range r.PlannedCheck.Requirements {
						heard[l.ID] = heard[l.ID] || r.VerdictOn(l) == spec.Passed
					}
				}
			}
			for _, l := range d.Requirements {
				isJudged := len(l.Checks) > 0 && l.Of == spec.Server && l.Level != spec.May
				if notSent.MatchString(l.ID) {
					if heard[l.ID] {
						t.Errorf("%s passes, although notSent says that the reference gives no evidence", l.ID)
					}
					continue
				}
				if isJudged && !heard[l.ID] {
					t.Errorf("%s passes in no scenario; expected evidence from the reference", l.ID)
				}
			}
		})
	}
}
