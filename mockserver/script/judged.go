package script

import (
	"slices"

	"github.com/streamassay/streamassay/spec/dialect"
)

// LoadJudged is [Load] and [Set.Check]: a set that breaks the protocol, and does not say
// that it does, is not to be played either. Without a judge nothing is judged.
func LoadJudged(sources []Source, dialects []*dialect.Dialect, judge Judge) (*Set, []Problem) {
	set, problems := Load(sources, dialects)
	if set == nil || judge == nil {
		return set, problems
	}
	problems = append(problems, set.Check(judge)...)
	if slices.ContainsFunc(problems, func(p Problem) bool { return p.Level == Error }) {
		return nil, problems
	}
	return set, problems
}
