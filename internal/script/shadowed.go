package script

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// maxRulePairs is the maximum number of pairs of rules that shadowedRules compares. It limits the
// time for very large scripts, at the cost of some missing warnings.
const maxRulePairs = 5_000_000

// shadowedRules returns a warning for each rule that can never match because a rule that is tried
// earlier matches every request that it would match. After maxRulePairs comparisons, shadowedRules
// stops and returns the warnings found so far.
func (s *RuleSet) shadowedRules() (all []Problem) {
	var shadowing []*Rule
	pairs := 0
	for _, r := range s.rules {
		for _, before := range shadowing {
			if pairs++; pairs > maxRulePairs {
				return all
			}
			if before.shadows(r) {
				all = append(all, Problem{r.File, r.Line, r.column, Warning, fmt.Sprintf(
					"%s never matches: %s matches all of its requests first; narrow that rule, or give this one a higher priority",
					r.displayName(), before.describe(r))})
				break
			}
		}
		if r.Times == 0 && len(r.When.ScenarioSteps) == 0 {
			shadowing = append(shadowing, r)
		}
	}
	return all
}

// displayName returns r.Name in the form in which messages show it: with "rule " before it, as in
// "rule greeting". If r.Name already begins with "rule ", it is returned unchanged. An example is
// "rule 3", which is the Name of a rule to which the script gives none.
func (r *Rule) displayName() string {
	if strings.HasPrefix(r.Name, "rule ") {
		return r.Name
	}
	return "rule " + r.Name
}

// describe returns the name and the line of r for a message about the rule other. It adds the file
// of r if the two rules are in different files, and the priority of r if that is higher than the
// priority of other.
func (r *Rule) describe(other *Rule) string {
	where := fmt.Sprintf("line %d", r.Line)
	if r.File != other.File {
		where = fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	if r.Priority > other.Priority {
		where += fmt.Sprintf(", priority %d", r.Priority)
	}
	return fmt.Sprintf("%s (%s)", r.displayName(), where)
}

// shadows reports whether it is certain that r matches every request that other matches. It ignores
// conditions on scenario steps and maximum numbers of matches, so r must have neither.
func (r *Rule) shadows(other *Rule) bool {
	a, b := &r.When, &other.When
	switch {
	case !isSubset(other.dialects, r.dialects), !isSubset(b.Operations, a.Operations):
		return false
	case a.Last != "" && a.Last != b.Last:
		return false
	case a.Turn != nil && (b.Turn == nil || !a.Turn.covers(*b.Turn)):
		return false
	case !a.Text.covers(b.Text), !a.Resume.covers(b.Resume), !a.Thread.covers(b.Thread), !a.Run.covers(b.Run):
		return false
	case a.ToolResult != nil && (b.ToolResult == nil || !a.ToolResult.covers(b.ToolResult)):
		return false
	}
	return a.coversRest(b)
}

// coversRest reports whether it is certain that every request that meets the conditions in other
// also meets the conditions in c. It compares only the conditions on offered tools, header fields
// and values in the body.
func (c *conditions) coversRest(other *conditions) bool {
	if len(c.Offers) > 0 && (len(other.Offers) == 0 || !isSubset(c.Offers, other.Offers)) {
		return false
	}
	for _, h := range c.Headers {
		if !slices.ContainsFunc(other.Headers, func(o headerMatcher) bool {
			return strings.EqualFold(h.name, o.name) && h.matcher.covers(o.matcher)
		}) {
			return false
		}
	}
	for _, at := range c.Body {
		if !slices.ContainsFunc(other.Body, func(o bodyMatcher) bool {
			return at.pointer == o.pointer && at.matcher.covers(o.matcher) &&
				(at.value == nil || o.value != nil && reflect.DeepEqual(*at.value, *o.value))
		}) {
			return false
		}
	}
	return true
}

// isSubset reports whether every string in the set these is also in the set those. Each argument
// lists the strings of a set, except that an empty list stands for the set of all possible strings.
func isSubset(these, those []string) bool {
	isMissing := func(one string) bool { return !slices.Contains(those, one) }
	return len(those) == 0 || len(these) > 0 && !slices.ContainsFunc(these, isMissing)
}

// covers reports whether every integer in the range other is also in the range s.
func (s *intRange) covers(other intRange) bool {
	return s.low <= other.low && (s.high == 0 || other.high != 0 && other.high <= s.high)
}

// covers reports whether it is certain that r matches every tool result that other matches.
func (r *toolResultMatcher) covers(other *toolResultMatcher) bool {
	return r.Name.covers(other.Name) && r.Call.covers(other.Call) && r.Text.covers(other.Text)
}

// covers reports whether it is certain that t matches every text that other matches. Both t and
// other may be nil; a nil matcher matches every text, even an absent one.
func (t *textMatcher) covers(other *textMatcher) bool {
	switch {
	case t == nil:
		return true
	case other == nil:
		return false
	case t.exists != nil && (other.exists == nil && *t.exists && other.hasNoTextCondition() ||
		other.exists != nil && *other.exists != *t.exists || other.exists == nil && !*t.exists):
		return false
	case other.equals != nil:
		return t.match(&matchContext{}, "", *other.equals, true) == nil
	case t.equals != nil:
		return false
	case t.contains != nil && (other.contains == nil || !strings.Contains(*other.contains, *t.contains)):
		return false
	}
	return t.matches == nil || other.matches != nil && t.matches.String() == other.matches.String()
}

// hasNoTextCondition reports whether the matcher imposes no condition on the content of the text.
// It may still require that the text exists or is absent.
func (t *textMatcher) hasNoTextCondition() bool {
	return t.equals == nil && t.contains == nil && t.matches == nil
}
