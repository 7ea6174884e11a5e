package script

import (
	"slices"

	"github.com/streamassay/streamassay/spec/dialect"
)

// LoadChecked is [Load] and [Set.Check]: a set that breaks the protocol, and does not say
// that it does, is not to be played either. Without a judge nothing is judged.
func LoadChecked(sources []Source, dialects []*dialect.Dialect, check ConformanceCheck) (*RuleSet, []Problem) {
	set, problems := Load(sources, dialects)
	if set == nil || check == nil {
		return set, problems
	}
	problems = append(problems, set.CheckReplies(check)...)
	if slices.ContainsFunc(problems, func(p Problem) bool { return p.Severity == Error }) {
		return nil, problems
	}
	return set, problems
}
