package suites_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// referenceRuns holds the results of referenceRun by the name of the dialect.
var referenceRuns sync.Map

// referenceRun returns the results of all scenarios on the reference, which has two users and claims
// all capabilities, in the dialect with the given name. The scenarios are played once for all tests.
func referenceRun(t *testing.T, name string) []suites.ScenarioResult {
	t.Helper()
	users := twoUsers(t)
	run, _ := referenceRuns.LoadOrStore(name, sync.OnceValues(func() ([]suites.ScenarioResult, error) {
		d, err := dialect.Open(name)
		if err != nil {
			return nil, err
		}
		cfg := reference.Config{Authenticator: users, Limits: reference.Limits{StreamsPerUser: 40}}
		srv := httptest.NewServer(reference.New(d, reference.Scripted, cfg))
		defer srv.Close()
		base, err := url.Parse(srv.URL + d.Base)
		if err != nil {
			return nil, err
		}
		return suites.Run(context.Background(), suites.Target{
			Dialect: d, Base: base, ClaimedCapabilities: []string{"all"}, Seed: 1, StreamLimit: cfg.Limits.StreamsPerUser,
			Header: bearer("token-of-ann"), OtherHeader: bearer("token-of-bob"),
		}, nil)
	}))
	parts, err := run.(func() ([]suites.ScenarioResult, error))()
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// TestReference checks that the reference conforms to every dialect.
func TestReference(t *testing.T) {
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range referenceRun(t, name) {
				if p.Err != nil || p.IncompleteReason != nil {
					t.Errorf("%s: %v, %v", p.Scenario.Name, p.Err, p.IncompleteReason)
				}
				for _, r := range p.Evaluation.Results {
					if r.Verdict > spec.Passed {
						t.Errorf("%s in %s: %s %v", r.PlannedCheck.Check.ID, p.Scenario.Name, r.Verdict, r.Findings)
					}
				}
			}
		})
	}
}

// TestDeclare checks with [suites.Declare], in a Ginkgo suite, that the reference conforms to a
// dialect.
func TestDeclare(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(reference.New(d, reference.Scripted, reference.Config{}))
	defer srv.Close()
	suites.Declare(suites.Target{Dialect: d, ClaimedCapabilities: []string{"all"}, Sequences: 3}, func() *url.URL {
		u, err := url.Parse(srv.URL)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		return u
	})
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.FailOnEmpty = true
	reporter.Succinct = true
	ginkgo.RunSpecs(t, "reference", suite, reporter)
}
