package suites_test

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

var update = flag.Bool("update", false, "write what the tests compare with")

// TestProvoked checks that, for each check, at least one of the scenarios returned by
// [suites.ScenariosFor] gives the check something to judge on the reference. With -update, it
// writes provoked.tsv instead.
func TestProvoked(t *testing.T) {
	judged := map[string][]string{}
	for _, name := range dialect.Names() {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewServer(reference.New(d, reference.Scripted, reference.Config{Authenticator: twoUsers(t), Limits: reference.Limits{StreamsPerUser: 40}}))
		defer srv.Close()
		base, err := url.Parse(srv.URL + d.Base)
		if err != nil {
			t.Fatal(err)
		}
		target := suites.Target{
			Dialect: d, Base: base, ClaimedCapabilities: []string{"all"}, Skip: []string{"refusals"}, Parallel: 8,
			Header: bearer("token-of-ann"), OtherHeader: bearer("token-of-bob"), StreamLimit: 40,
		}
		parts, err := suites.Run(t.Context(), target, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			for _, r := range p.Evaluation.Results {
				if id := r.Obligation.Check.ID; r.Judged > 0 && !slices.Contains(judged[id], p.Scenario.Name) {
					judged[id] = append(judged[id], p.Scenario.Name)
				}
			}
		}
	}
	if *update {
		var b strings.Builder
		for _, c := range rules.About(spec.Server) {
			var names []string
			for _, s := range suites.Scenarios {
				if slices.Contains(judged[c.ID], s.Name) {
					names = append(names, s.Name)
				}
			}
			fmt.Fprintf(&b, "%s\t%s\n", c.ID, strings.Join(names, " "))
		}
		if err := os.WriteFile("provoked.tsv", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Skip("written: run again to compare")
	}
	for _, c := range rules.About(spec.Server) {
		if c.ID == "history.more-is-there" { // it takes messages of several days: no client can make those
			continue
		}
		if all := suites.ScenariosFor(c.ID); !slices.ContainsFunc(all, func(name string) bool { return name == "refusals" || slices.Contains(judged[c.ID], name) }) {
			t.Errorf("%s is said to be provoked by %v, and is by %v: go test ./suites -run Provoked -update", c.ID, all, judged[c.ID])
		}
	}
}
