package suites

import (
	_ "embed"
	"slices"
	"strings"
)

// provokedTable lists for each check the scenarios in which the reference exercises it. TestProvoked
// writes it.
//
//go:embed provoked.tsv
var provokedTable string

// ScenariosFor returns the names of the scenarios that exercise a check in dialects that have it:
// those that expect it, and those in which the reference does.
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
