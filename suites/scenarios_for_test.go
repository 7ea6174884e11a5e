package suites_test

import (
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
// names all scenarios. With -update, it writes provoked.tsv instead.
func TestProvoked(t *testing.T) {
	t.Parallel()
	judged := map[string][]string{}
	for _, name := range dialect.Names() {
		for _, p := range referenceRun(t, name) {
			if p.Scenario.Name == "refusals" {
				continue // what it sends depends on the seed
			}
			for _, r := range p.Evaluation.Results {
				if id := r.PlannedCheck.Check.ID; r.Judged > 0 && !slices.Contains(judged[id], p.Scenario.Name) {
					judged[id] = append(judged[id], p.Scenario.Name)
				}
			}
		}
	}
	table, err := os.ReadFile("provoked.tsv")
	if *update {
		err = os.WriteFile("provoked.tsv", []byte(provokedTable(judged)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		t.Skip("written: run again to compare")
	}
	const regenerate = "go test ./suites -run Provoked -update"
	head, _, _ := strings.Cut(string(table), "\n")
	if want := scenarioNames(); !slices.Equal(strings.Fields(head), want) {
		t.Errorf("provoked.tsv is about %s, want %v: %s", head, want, regenerate)
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
// the scenarios in which the check judged something. Of a scenario in which no check did, because it is
// played only with --deep, the table says the same as before.
func provokedTable(judged map[string][]string) string {
	isPlayed := map[string]bool{}
	for _, names := range judged {
		for _, name := range names {
			isPlayed[name] = true
		}
	}
	var b strings.Builder
	fmt.Fprintln(&b, strings.Join(scenarioNames(), " "))
	for _, c := range rules.About(spec.Server) {
		before := suites.ScenariosFor(c.ID)
		var names []string // of scenarios, and ranges of names
		var open []string  // the latest of them, one after the other in scenarioNames
		end := func() {
			if len(open) > 2 {
				open = []string{open[0] + ".." + open[len(open)-1]}
			}
			names, open = append(names, open...), nil
		}
		for _, name := range scenarioNames() {
			if slices.Contains(judged[c.ID], name) || !isPlayed[name] && slices.Contains(before, name) {
				open = append(open, name)
			} else {
				end()
			}
		}
		end()
		fmt.Fprintf(&b, "%s\t%s\n", c.ID, strings.Join(names, " "))
	}
	return b.String()
}

// scenarioNames returns the names of all scenarios.
func scenarioNames() (all []string) {
	for _, s := range suites.Scenarios() {
		all = append(all, s.Name)
	}
	return all
}
