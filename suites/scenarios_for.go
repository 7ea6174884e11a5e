package suites

import (
	_ "embed"
	"slices"
	"strings"
)

// provokedTable lists, for each check, the scenarios in which the check judges something when they
// are played against the reference. TestProvoked generates it.
//
//go:embed provoked.tsv
var provokedTable string

// ScenariosFor returns the names of the scenarios that give a check something to judge, in dialects
// that have the check: those that expect it, and those in which the reference provokes it.
func ScenariosFor(check string) (names []string) {
	for line := range strings.Lines(provokedTable) {
		if id, list, _ := strings.Cut(strings.TrimSpace(line), "\t"); id == check {
			names = strings.Fields(list)
		}
	}
	var all []string
	for _, s := range Scenarios {
		if slices.Contains(s.ExpectedChecks, check) || slices.Contains(names, s.Name) {
			all = append(all, s.Name)
		}
	}
	return all
}
