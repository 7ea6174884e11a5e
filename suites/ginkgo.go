package suites

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Declare declares the specs for one target inside a ginkgo suite: one It for each
// scenario and check. They read what was recorded before the first of them; labels
// are the check's and the requirements' ids. base is called when the specs run, so
// that the server may be started by the suite.
func Declare(t Target, base func() *url.URL) {
	Context(t.Dialect.Name, Ordered, ContinueOnFailure, func() {
		parts := map[string]ScenarioResult{}
		BeforeAll(func(ctx SpecContext) {
			t.Base = base()
			heard, err := Run(ctx, t, nil)
			if err != nil {
				Fail(err.Error())
			}
			for _, p := range heard {
				parts[p.Scenario.Name] = p
			}
		})
		for _, s := range slices.Concat(Scenarios, t.sequenceScenarios()) {
			if !s.AppliesTo(t.Dialect) || !t.isScenarioSelected(s) {
				continue
			}
			Context(s.Name, func() {
				for i, duty := range t.plan(s).Obligations {
					It(duty.Check.Title(), specLabels(duty), func() {
						if results := parts[s.Name].Evaluation.Results; i < len(results) {
							reportResult(results[i])
						} else {
							Fail("the scenario was not judged")
						}
					})
				}
			})
		}
	})
}

func specLabels(d spec.Obligation) Labels {
	all := Labels{d.Check.ID}
	for _, r := range d.Requirements {
		all = append(all, r.ID)
	}
	return all
}

// reportResult tells ginkgo what was concluded: it does not judge.
func reportResult(r spec.Result) {
	switch r.Verdict {
	case spec.Failed, spec.Error:
		Fail(resultSummary(r))
	case spec.Silent, spec.Skipped:
		Skip(cmp.Or(r.Note, "not exercised here"))
	case spec.Warned:
		AddReportEntry("warned", resultSummary(r))
	}
}

// resultSummary is what there is to say of a result that is not good.
func resultSummary(r spec.Result) string {
	if len(r.Findings) == 0 {
		return r.Note
	}
	f := r.Findings[0]
	law := r.Obligation.Requirement(f)
	return fmt.Sprintf("exchange %d, line %d: %s\n%s\n%s %s: %q (%s)",
		f.Event.Exchange, f.Event.Line, f.Message, f.Event.Raw, law.Level, law.ID, law.Quote, law.Source)
}

// Test holds a handler to a dialect from an ordinary Go test: a subtest for each
// scenario and check. The handler serves the document's paths below its base.
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
			for _, r := range p.Evaluation.Results {
				switch r.Verdict {
				case spec.Failed, spec.Error:
					t.Errorf("%s: %s", r.Obligation.Check.ID, resultSummary(r))
				case spec.Warned:
					t.Logf("%s: %s", r.Obligation.Check.ID, resultSummary(r))
				}
			}
		})
	}
}
