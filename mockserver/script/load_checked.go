package script

import (
	"slices"

	"github.com/streamassay/streamassay/spec/dialect"
)

// LoadChecked combines [Load] and [RuleSet.CheckReplies]: a rule set with a reply that violates the
// protocol, without being marked as such, is not returned either. If check is nil, replies are not
// checked.
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
