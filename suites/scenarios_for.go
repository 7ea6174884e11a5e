package suites

import (
	_ "embed"
	"slices"
	"strings"
)

// provokedTable has one line for each of [Scenarios]: the name of the scenario, a tab, and the ids
// of the checks that judge something when the scenario is played against the reference server,
// separated by spaces. TestProvoked generates the table.
//
//go:embed provoked.tsv
var provokedTable string

// ScenariosFor returns the names of the scenarios in which the check with the given id has
// something to judge, in the order of [Scenarios]. These are the scenarios that expect the check,
// and those in which it judges something when they are played against the reference server. The
// result covers all dialects, although a dialect may lack the check or some of the scenarios. It is
// nil if there are no such scenarios.
func ScenariosFor(check string) (names []string) {
	provoked := map[string][]string{}
	for line := range strings.Lines(provokedTable) {
		name, checks, _ := strings.Cut(line, "\t")
		provoked[name] = strings.Fields(checks)
	}
	for _, s := range Scenarios() {
		if slices.Contains(s.ExpectedChecks, check) || slices.Contains(provoked[s.Name], check) {
			names = append(names, s.Name)
		}
	}
	return names
}
