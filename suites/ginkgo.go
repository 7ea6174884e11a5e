package suites

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Declare declares a Ginkgo suite for target t, with one spec (It) for each scenario and check. The
// labels of a spec are the ids of the check and its requirements. The function base must return the
// base URL of the target, which replaces t.Base. Declare calls it when the specs run, so that the
// suite can start the server first. All scenarios are played before the first spec. If the target
// is invalid, the suite fails.
func Declare(t Target, base func() *url.URL) {
	Context(t.Dialect.Name, Ordered, ContinueOnFailure, func() {
		parts := map[string]ScenarioResult{}
		BeforeAll(func(ctx SpecContext) {
			t.Base = base()
			results, err := Run(ctx, t, nil)
			if err != nil {
				Fail(err.Error())
			}
			for _, p := range results {
				parts[p.Scenario.Name] = p
			}
		})
		for _, s := range append(t.scenarios(), t.sequenceScenarios()...) {
			if !s.AppliesTo(t.Dialect) || !t.isScenarioSelected(s) {
				continue
			}
			Context(s.Name, func() {
				for i, planned := range t.plan(s).PlannedChecks {
					It(planned.Check.Title(), specLabels(planned), func() {
						if results := parts[s.Name].Evaluation.Results; i < len(results) {
							reportResult(results[i])
						} else {
							Fail("the scenario was not evaluated")
						}
					})
				}
			})
		}
	})
}

// specLabels returns the labels of the spec for the planned check d: the ids of its check and of its
// requirements.
func specLabels(d spec.PlannedCheck) Labels {
	all := Labels{d.Check.ID}
	for _, r := range d.Requirements {
		all = append(all, r.ID)
	}
	return all
}

// reportResult makes the current Ginkgo spec pass, fail or be skipped, according to the verdict of
// r. For [spec.Warned], the spec passes and its report contains the warning. reportResult must be
// called in a spec.
func reportResult(r spec.CheckResult) {
	switch r.Verdict {
	case spec.Failed, spec.Error:
		Fail(resultSummary(r))
	case spec.Silent, spec.Skipped:
		Skip(cmp.Or(r.Note, "not tested in this scenario"))
	case spec.Warned:
		AddReportEntry("warned", resultSummary(r))
	}
}

// resultSummary returns a description of the first finding of r, in several lines: its position and
// message, the bytes of the event, and the violated requirement. If r has no findings, it returns
// r.Note.
func resultSummary(r spec.CheckResult) string {
	if len(r.Findings) == 0 {
		return r.Note
	}
	f := r.Findings[0]
	violated := r.PlannedCheck.Requirement(f)
	return fmt.Sprintf("exchange %d, line %d: %s\n%s\n%s %s: %q (%s)",
		f.Event.Exchange, f.Event.Line, f.Message, f.Event.Raw, violated.Level, violated.ID, violated.Quote, violated.Source)
}

// Test tests the handler h against a dialect, with one subtest of t for each scenario. A subtest
// fails if a check has the verdict [spec.Failed] or [spec.Error], or if [IsInconclusive] returns
// true for the scenario. It is skipped if no check judged anything, for example because the target
// lacks the capability that the scenario needs. The argument dialectName is the name of the
// dialect, such as "runs@2026-04". The handler must serve the paths of the dialect's document below
// the base path of the document. Before the test, Test calls the adjust functions in the given
// order; they may change the [Target]. If the dialect is unknown or the target is invalid, Test
// calls t.Fatal.
func Test(t *testing.T, h http.Handler, dialectName string, adjust ...func(*Target)) {
	t.Helper()
	d, err := dialect.Open(dialectName)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	base, err := url.Parse(srv.URL + d.Base)
	if err != nil {
		t.Fatal(err)
	}
	target := Target{Dialect: d, Base: base}
	for _, f := range adjust {
		f(&target)
	}
	parts, err := Run(context.WithoutCancel(t.Context()), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		t.Run(p.Scenario.Name, func(t *testing.T) {
			if IsInconclusive(p.IncompleteReason) {
				t.Errorf("incomplete: %v", p.IncompleteReason)
			}
			isTested := false
			for _, r := range p.Evaluation.Results {
				isTested = isTested || r.Verdict >= spec.Passed
				switch r.Verdict {
				case spec.Failed, spec.Error:
					t.Errorf("%s: %s", r.PlannedCheck.Check.ID, resultSummary(r))
				case spec.Warned:
					t.Logf("%s: %s", r.PlannedCheck.Check.ID, resultSummary(r))
				}
			}
			if !isTested && !t.Failed() {
				t.Skip("not tested: the scenario exercised no check")
			}
		})
	}
}
