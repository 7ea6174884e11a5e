package suites_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"testing"

	"github.com/streamassay/streamassay/mockserver"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestSoak plays sequences to the reference, and to the mock with another legal variation for each
// seed, each twice without a restart. The environment variable SOAK_SEEDS sets the number of seeds,
// with 20 sequences each; without it, TestSoak plays three sequences of one seed.
func TestSoak(t *testing.T) {
	t.Parallel()
	seeds, sequences := uint64(1), 3
	if text := os.Getenv("SOAK_SEEDS"); text != "" {
		var err error
		if seeds, err = strconv.ParseUint(text, 10, 32); err != nil {
			t.Fatalf("SOAK_SEEDS is %q: expected a number", text)
		}
		sequences = 20
	}
	for _, name := range dialect.Names() {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name+"/reference", func(t *testing.T) {
			h := upright(t, d)
			for seed := range seeds {
				soak(t, d, h, seed+1, sequences)
			}
		})
		t.Run(name+"/mock", func(t *testing.T) {
			for seed := range seeds {
				soak(t, d, varied(t, d, seed+1), seed+1, sequences)
			}
		})
	}
}

// varied returns the mock with two users and the variations that seed selects.
func varied(t *testing.T, d *dialect.Dialect, seed uint64) http.Handler {
	t.Helper()
	m, err := mockserver.New(mockserver.Config{
		Dialects: []*dialect.Dialect{d}, Server: reference.Config{Authenticator: twoUsers(t)}, Defaults: mockserver.Defaults{Vary: &seed},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// soak plays the sequences of one seed twice and reports findings as test errors.
func soak(t *testing.T, d *dialect.Dialect, h http.Handler, seed uint64, sequences int) {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	base, err := url.Parse(srv.URL + d.Base)
	if err != nil {
		t.Fatal(err)
	}
	target := suites.Target{Dialect: d, Base: base, ClaimedCapabilities: []string{"scripted"}, Seed: seed, Sequences: sequences}
	target.Header, target.OtherHeader = bearer("token-of-ann"), bearer("token-of-bob")
	target.Only = []string{"text", "recall", "sequence-*"}
	for round := range 2 {
		parts, err := suites.Run(t.Context(), target, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			if p.Err != nil {
				t.Errorf("seed %d, round %d: %s: %v", seed, round+1, p.Scenario.Name, p.Err)
			}
			for _, r := range p.Evaluation.Results {
				if r.Verdict > spec.Passed {
					t.Errorf("seed %d, round %d: %s: %s: %s %v\n%s", seed, round+1, p.Scenario.Name, p.Scenario.Doc, r.PlannedCheck.Check.ID, r.Verdict, findings(r))
				}
			}
		}
	}
}
