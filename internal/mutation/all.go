package mutation

import (
	"slices"

	"github.com/streamassay/streamassay/spec/dialect"
)

// All returns all mutants that apply to at least one of the dialects: first those of the lists
// below, area by area, then those that are generated from the documents. To add a mutant, add it to
// the list of its area.
func All(dialects []*dialect.Dialect) []*Mutant {
	list := slices.Concat(
		wireMutants, lifecycleMutants, messageMutants, contentMutants, toolMutants, scriptMutants, sequenceMutants,
		echoMutants, replyMutants, resumeMutants, historyMutants, usersMutants, uploadMutants, limitMutants,
		concurrencyMutants, streamEndMutants, historyOutcomeMutants, byteLimitMutants,
		neighbourMutants, liveMutants, generatedMutants(dialects),
	)
	list = slices.DeleteFunc(list, func(m *Mutant) bool {
		return slices.Contains(undecided, m.Name) || !slices.ContainsFunc(dialects, m.AppliesTo)
	})
	for i, m := range list {
		if more, ok := alsoFailed[m.Name]; ok {
			other := *m
			other.AlsoFails = slices.Concat(m.AlsoFails, more)
			list[i] = &other
		}
	}
	return list
}

// undecided lists the names of mutants that are left out, because the expected check does not fail,
// or fails at another place, since later scenarios and checks were added. For each of them it is to
// be decided whether the mutant, its expectation or a check is wrong.
var undecided = []string{
	"thread-denied",
	"canceled-after-its-end",
	"canceled-once-each",
}

// alsoFailed maps the names of mutants to the ids of checks that fail besides the expected one in
// scenarios that are newer than the mutant.
var alsoFailed = map[string][]string{
	"last-line-open":             {"wire.keeps-alive"},
	"last-line-unended":          {"wire.keeps-alive"},
	"end-untold":                 {"wire.keeps-alive"},
	"stops-after-the-first-word": {"run.outlives-others", "wire.keeps-alive"},
	"fails-after-its-end":        {"cancel.run-ends"},
	"lingers":                    {"wire.ends"},
	"idle-limit-misread":         {"accept.as-documented"},
	"other-run":                  {"resume.keeps-to-run"},
	"end-of-another-run":         {"resume.keeps-to-run"},
	"one-id-for-all":             {"content.is-whole"},
	"remembers-others":           {"script.recall"},
	"failure-untold":             {"run.outlives-others"},
	"resumed-too-late":           {"resume.twice-loses-nothing"},
	"resumed-with-a-gap":         {"resume.twice-loses-nothing"},
	"resumed-cut":                {"resume.twice-loses-nothing"},
	"cursor-of-before-late":      {"resume.twice-loses-nothing"},
	"canceled-without-end":       {"resume.loses-nothing", "run.outlives-others"},
	"canceled-twice":             {"resume.loses-nothing"},
}
