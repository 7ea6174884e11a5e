package script

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec/dialect"
)

// maxSources is how many files a set is read from at most.
const maxSources = 1000

// Load reads scripts strictly, for the dialects that are served; without any, what depends
// on the dialect is not looked at. Problems are all that is wrong, in the order in which it
// stands in the files; with an error among them there is no set.
func Load(sources []Source, dialects []*dialect.Dialect) (*RuleSet, []Problem) {
	s := &RuleSet{dialects: dialects}
	var problems []Problem
	if len(sources) > maxSources {
		return nil, []Problem{{File: sources[0].Name, Message: fmt.Sprintf("there are %d files: at most %d are read", len(sources), maxSources)}}
	}
	seen := map[string]bool{}
	for _, source := range sources {
		if seen[source.Name] {
			problems = append(problems, Problem{File: source.Name, Message: "this file is named twice: name it once"})
			continue
		}
		seen[source.Name] = true
		r := &scriptParser{file: source.Name, dialects: dialects}
		rules := r.parseFile(source.Data)
		if len(s.rules)+len(rules) > maxRules {
			return nil, append(problems, Problem{File: source.Name, Message: fmt.Sprintf("with this file there are more than %d rules", maxRules)})
		}
		s.rules = append(s.rules, rules...)
		slices.SortStableFunc(r.problems, Problem.compare)
		problems = append(problems, r.problems...)
	}
	if hasErrors(problems) {
		return nil, problems
	}
	slices.SortStableFunc(s.rules, func(a, b *Rule) int { return cmp.Compare(b.Priority, a.Priority) })
	return s, append(problems, s.shadowedRules()...)
}

// parseFile reads one file.
func (r *scriptParser) parseFile(data []byte) (rules []*Rule) {
	root, err := parseYAML(data)
	var f *positionError
	switch {
	case errors.As(err, &f):
		r.errorf(&yamlNode{line: f.line, column: f.column}, "%s", f.text)
	case err != nil:
		r.errorf(&yamlNode{}, "%v", err)
	case root == nil:
		r.errorf(&yamlNode{}, "it is empty: a script has rules, a list, each with when and reply")
	default:
		rules = r.parseRules(root)
	}
	return rules
}

// hasErrors says whether there is an error among problems.
func hasErrors(all []Problem) bool {
	return slices.ContainsFunc(all, func(p Problem) bool { return p.Severity == Error })
}
