package script

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/streamassay/streamassay/spec/dialect"
)

// maxSources is the maximum number of script files in a rule set.
const maxSources = 1000

// Load parses script files and returns their rules in the order in which they are tried. Rules of
// higher priority come first, and rules of the same priority are in source order. The argument
// dialects lists the dialects that the mock serves. If it is empty, checks that depend on a dialect
// are omitted.
//
// Load also returns the problems that it found, such as unknown keys. They are in the order of the
// files, and sorted by position within a file. Warnings about rules that never match come last. If
// at least one problem is an error, the rule set is nil.
func Load(sources []Source, dialects []*dialect.Dialect) (*RuleSet, []Problem) {
	s := &RuleSet{dialects: dialects}
	var problems []Problem
	if len(sources) > maxSources {
		message := fmt.Sprintf("too many files: %d, at most %d are allowed", len(sources), maxSources)
		return nil, []Problem{{File: sources[0].Name, Message: message}}
	}
	seen := map[string]bool{}
	for _, source := range sources {
		if seen[source.Name] {
			problems = append(problems, Problem{File: source.Name, Message: "this file is given twice: give it once"})
			continue
		}
		seen[source.Name] = true
		d := &decoder{file: source.Name, dialects: dialects}
		rules := d.decodeFile(source.Data)
		if len(s.rules)+len(rules) > maxRules {
			message := fmt.Sprintf("too many rules: with this file there are more than %d", maxRules)
			return nil, append(problems, Problem{File: source.Name, Message: message})
		}
		s.rules = append(s.rules, rules...)
		slices.SortStableFunc(d.problems, Problem.compare)
		problems = append(problems, d.problems...)
	}
	if hasErrors(problems) {
		return nil, problems
	}
	slices.SortStableFunc(s.rules, func(a, b *Rule) int { return cmp.Compare(b.Priority, a.Priority) })
	return s, append(problems, s.shadowedRules()...)
}

// LoadChecked loads scripts with [Load] and, if that succeeds and check is not nil, checks their
// replies with [RuleSet.CheckReplies]. It returns all problems that were found. If at least one of
// them is an error, the rule set is nil.
func LoadChecked(sources []Source, dialects []*dialect.Dialect, check ConformanceCheckFunc) (*RuleSet, []Problem) {
	set, problems := Load(sources, dialects)
	if set == nil || check == nil {
		return set, problems
	}
	if problems = append(problems, set.CheckReplies(check)...); hasErrors(problems) {
		return nil, problems
	}
	return set, problems
}

// decodeFile returns the rules in data, the content of one file. If data is empty or cannot be
// parsed, it returns nil. It adds the problems that it finds to d.problems.
func (d *decoder) decodeFile(data []byte) []*Rule {
	if at := openAPIKey.FindIndex(data); at != nil {
		line := 1 + bytes.Count(data[:at[0]], []byte("\n"))
		message := "this is an OpenAPI document, not a script: the flag --dialect takes the path of one"
		d.add(Problem{d.file, line, 1, Error, message})
		return nil
	}
	root, value, err := parseYAML(data)
	var e *positionError
	switch {
	case errors.As(err, &e):
		d.add(Problem{d.file, e.line, e.column, Error, e.text})
		return nil
	case root == nil:
		message := "the file is empty: a script needs a list of rules, each with when and reply"
		d.add(Problem{File: d.file, Message: message})
		return nil
	}
	return d.decodeRules(root, value)
}

// openAPIKey matches a line that begins with the key "openapi" or "swagger". A file with such a
// line is an OpenAPI document in YAML, rather than a script.
var openAPIKey = regexp.MustCompile(`(?m)^(openapi|swagger):[ \t]`)

// hasErrors reports whether at least one problem in all is an error rather than a warning.
func hasErrors(all []Problem) bool {
	return slices.ContainsFunc(all, func(p Problem) bool { return p.Severity == Error })
}
