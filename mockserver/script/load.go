package script

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec/dialect"
)

// mostSources is how many files a set is read from at most.
const mostSources = 1000

// Load reads scripts strictly, for the dialects that are served; without any, what depends
// on the dialect is not looked at. Problems are all that is wrong, in the order in which it
// stands in the files; with an error among them there is no set.
func Load(sources []Source, dialects []*dialect.Dialect) (*Set, []Problem) {
	s := &Set{dialects: dialects}
	var problems []Problem
	if len(sources) > mostSources {
		return nil, []Problem{{File: sources[0].Name, Text: fmt.Sprintf("there are %d files: at most %d are read", len(sources), mostSources)}}
	}
	seen := map[string]bool{}
	for _, source := range sources {
		if seen[source.Name] {
			problems = append(problems, Problem{File: source.Name, Text: "this file is named twice: name it once"})
			continue
		}
		seen[source.Name] = true
		r := &reader{file: source.Name, dialects: dialects}
		rules := r.read(source.Data)
		if len(s.rules)+len(rules) > mostRules {
			return nil, append(problems, Problem{File: source.Name, Text: fmt.Sprintf("with this file there are more than %d rules", mostRules)})
		}
		s.rules = append(s.rules, rules...)
		slices.SortStableFunc(r.problems, Problem.before)
		problems = append(problems, r.problems...)
	}
	if failed(problems) {
		return nil, problems
	}
	slices.SortStableFunc(s.rules, func(a, b *Rule) int { return cmp.Compare(b.Priority, a.Priority) })
	return s, append(problems, s.shadowed()...)
}

// read reads one file.
func (r *reader) read(data []byte) (rules []*Rule) {
	root, err := outline(data)
	var f *flaw
	switch {
	case errors.As(err, &f):
		r.wrong(&node{line: f.line, column: f.column}, "%s", f.text)
	case err != nil:
		r.wrong(&node{}, "%v", err)
	case root == nil:
		r.wrong(&node{}, "it is empty: a script has rules, a list, each with when and reply")
	default:
		rules = r.rules(root)
	}
	return rules
}

// failed says whether there is an error among problems.
func failed(all []Problem) bool {
	return slices.ContainsFunc(all, func(p Problem) bool { return p.Level == Error })
}
