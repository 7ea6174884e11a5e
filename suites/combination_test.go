package suites_test

import (
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestCombinations checks that the reference conforms to every dialect in all combinations.
func TestCombinations(t *testing.T) {
	for _, name := range dialect.Names() {
		t.Run(name, func(t *testing.T) {

			d, err := dialect.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			cfg := reference.Config{Authenticator: twoUsers(t), Limits: reference.Limits{StreamsPerUser: 400}}
			srv := httptest.NewServer(reference.New(d, reference.Scripted, cfg))
			defer srv.Close()
			base, err := url.Parse(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			base.Path = d.Base
			target := suites.Target{
				Dialect: d, Base: base, ClaimedCapabilities: []string{"all"}, Only: []string{"combination-*"}, Deep: true,
				Header: bearer("token-of-ann"), OtherHeader: bearer("token-of-bob"),
			}
			began := time.Now()
			parts, err := suites.Run(t.Context(), target, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d combinations in %v", len(parts), time.Since(began))
			for _, p := range parts {
				if p.Err != nil {
					t.Errorf("%s (%s): %v", p.Scenario.Name, p.Scenario.Doc, p.Err)
				}
				for _, r := range p.Evaluation.Results {
					for _, f := range r.Findings {
						if r.Verdict != spec.Passed {
							t.Errorf("%s (%s): %s: %.300s", p.Scenario.Name, p.Scenario.Doc, r.Obligation.Check.ID, f.Message)
						}
					}
				}
			}
		})
	}
}
