package suites

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// provokedTable lists, for each check, the [Scenarios] in which the check judges something when the
// reference server is the target. The first line contains the names of the scenarios, separated
// by spaces. Each other line contains the id of a check, a tab, and names of scenarios, separated
// by spaces. FIRST..LAST stands for the scenarios from FIRST to LAST in the first line.
// TestProvoked generates the table.
//
//go:embed provoked.tsv
var provokedTable string

// provokingScenarios returns a map from the id of each check in provokedTable to the names of the
// scenarios in which the check judges something.
var provokingScenarios = sync.OnceValue(func() map[string][]string {
	head, rest, _ := strings.Cut(provokedTable, "\n")
	all, provoking := strings.Fields(head), map[string][]string{}
	for line := range strings.Lines(rest) {
		check, listed, _ := strings.Cut(line, "\t")
		for _, names := range strings.Fields(listed) {
			first, last, isRange := strings.Cut(names, "..")
			if !isRange {
				last = first
			}
			provoking[check] = append(provoking[check], all[slices.Index(all, first):slices.Index(all, last)+1]...)
		}
	}
	return provoking
})

// ScenariosFor returns the names of the scenarios in which the check with the given id judges
// something, in the order of [Scenarios]. These are the scenarios that expect the check, and those
// in which it judges something when they are played against the reference server. The result does
// not depend on a dialect. It is nil if there are no such scenarios.
func ScenariosFor(check string) (names []string) {
	for _, s := range Scenarios() {
		if slices.Contains(s.ExpectedChecks, check) || slices.Contains(provokingScenarios()[check], s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}
