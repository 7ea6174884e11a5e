package suites

import (
	_ "embed"
	"slices"
	"strings"
)

// provokedTable says in which scenarios the reference gave each check something to judge: a
// line for each check. TestProvoked writes it.
//
//go:embed provoked.tsv
var provokedTable string

// ScenariosFor are the scenarios that give a check something to judge, where a dialect has the
// words: those that prove it, and the others in which the reference does.
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
