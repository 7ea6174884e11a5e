package suites_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

var update = flag.Bool("update", false, "write what the tests compare with")

// TestProvoked checks that, for each check, at least one of the scenarios returned by
// [suites.ScenariosFor] gives the check something to judge on the reference, and that provoked.tsv
// has a line for each scenario. With -update, it writes provoked.tsv instead.
func TestProvoked(t *testing.T) {
	t.Parallel()
	judged := map[string][]string{}
	for _, name := range dialect.Names() {
		for _, p := range referenceRun(t, name) {
			if p.Scenario.Name == "refusals" {
				continue // what it sends depends on the seed
			}
			for _, r := range p.Evaluation.Results {
				if id := r.Obligation.Check.ID; r.Judged > 0 && !slices.Contains(judged[id], p.Scenario.Name) {
					judged[id] = append(judged[id], p.Scenario.Name)
				}
			}
		}
	}
	table, err := os.ReadFile("provoked.tsv")
	if *update {
		err = os.WriteFile("provoked.tsv", []byte(provokedTable(judged, string(table))), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		t.Skip("written: run again to compare")
	}
	const regenerate = "go test ./suites -run Provoked -update"
	if got, want := firstColumn(string(table)), firstColumn(provokedTable(nil, "")); !slices.Equal(got, want) {
		t.Errorf("provoked.tsv has lines for %v, want %v: %s", got, want, regenerate)
	}
	for _, c := range rules.About(spec.Server) {
		if notProvoked[c.ID] {
			continue
		}
		if all := suites.ScenariosFor(c.ID); !slices.ContainsFunc(all, func(name string) bool { return name == "refusals" || slices.Contains(judged[c.ID], name) }) {
			t.Errorf("%s is said to be provoked by %v, and is by %v: %s", c.ID, all, judged[c.ID], regenerate)
		}
	}
}

// notProvoked are the checks that judge nothing on the reference, whatever is asked of it.
var notProvoked = map[string]bool{
	"history.more-is-there": true, // it takes messages of several days: no client can make those
	// The scripted agent sends no chunks; transcripts and mutants prove these checks.
	"chunk.first-names": true, "chunk.agrees": true,
}

// provokedTable returns the content of provoked.tsv. judged holds, by the id of a check, the names of
// the scenarios in which the check judged something. A scenario in which no check did, because it is
// played only with --deep, keeps its line in old, the previous content.
func provokedTable(judged map[string][]string, old string) string {
	lines := map[string]string{} // by scenario
	for line := range strings.Lines(old) {
		name, checks, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		lines[name] = checks
	}
	var b strings.Builder
	for _, s := range suites.Scenarios() {
		var checks []string
		for _, c := range rules.About(spec.Server) {
			if slices.Contains(judged[c.ID], s.Name) {
				checks = append(checks, c.ID)
			}
		}
		fmt.Fprintf(&b, "%s\t%s\n", s.Name, cmp.Or(strings.Join(checks, " "), lines[s.Name]))
	}
	return b.String()
}

// firstColumn returns the text before the tab of each line of a table.
func firstColumn(table string) (all []string) {
	for line := range strings.Lines(table) {
		name, _, _ := strings.Cut(line, "\t")
		all = append(all, name)
	}
	return all
}
