package suites

import (
	_ "embed"
	"slices"
	"strings"
)

// provokedTable contains one line for each of [Scenarios]: the name of the scenario, a tab, and a
// list of check ids, separated by spaces. These checks judge something when the scenario is played
// against the reference server. TestProvoked generates the table.
//
//go:embed provoked.tsv
var provokedTable string

// ScenariosFor returns the names of the scenarios in which the check with the given id judges
// something, in the order of [Scenarios]. These are the scenarios that expect the check, and those
// in which it judges something when they are played against the reference server. The result does
// not depend on a dialect. It is nil if there are no such scenarios.
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
