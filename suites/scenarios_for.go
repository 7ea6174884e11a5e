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

// ScenariosFor returns the names of the scenarios in which the check with the given id has
// something to judge, in dialects that have the check. These are the scenarios that expect the
// check, and those in which it judges something when they are played against the reference. It
// returns nil if there are none.
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
