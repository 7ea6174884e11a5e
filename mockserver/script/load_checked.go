package script

import (
	"slices"

	"github.com/streamassay/streamassay/spec/dialect"
)

// LoadChecked loads scripts like [Load] and, if that succeeds, checks their replies like
// [RuleSet.CheckReplies]. It returns all problems that were found; if one of these is an error, the
// rule set is nil. If check is nil, replies are not checked.
func LoadChecked(sources []Source, dialects []*dialect.Dialect, check ReplyCheckFunc) (*RuleSet, []Problem) {
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
