package script

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// maxRulePairs is the maximum number of pairs of rules that shadowedRules compares. It limits the
// time for very large scripts, for which some warnings may then be missing.
const maxRulePairs = 5_000_000

// shadowedRules returns a warning for each rule that can never match, because an earlier rule
// matches every request that the rule would match. It compares at most maxRulePairs pairs of rules.
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

// displayName returns the name of r for messages, such as "rule greeting". This is r.Name with the
// prefix "rule ", unless r.Name already has that prefix, like the default name "rule 3".
func (r *Rule) displayName() string {
	if strings.HasPrefix(r.Name, "rule ") {
		return r.Name
	}
	return "rule " + r.Name
}

// describe returns the name and the line of r for a message about the rule other. It adds the file
// of r if other is in a different file, and the priority of r if it is higher than that of other.
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

// shadows reports whether r certainly matches every request that other matches. It ignores scenario
// steps and maximum numbers of matches. The caller must make sure that r has no condition on
// scenario steps and no maximum.
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

// coversRest reports whether every request that meets the conditions of other on offered tools,
// header fields and values in the body meets those of c, too. It ignores all other conditions, and
// returns false if it is not certain.
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

// isSubset reports whether the set these is a subset of the set those. Each argument lists the
// strings of a set, but an empty list stands for the set of all strings.
func isSubset(these, those []string) bool {
	isMissing := func(one string) bool { return !slices.Contains(those, one) }
	return len(those) == 0 || len(these) > 0 && !slices.ContainsFunc(these, isMissing)
}

// covers reports whether the range s contains every integer in the range other.
func (s *intRange) covers(other intRange) bool {
	return s.low <= other.low && (s.high == 0 || other.high != 0 && other.high <= s.high)
}

// covers reports whether r certainly matches every tool result that other matches. Neither of them
// may be nil.
func (r *toolResultMatcher) covers(other *toolResultMatcher) bool {
	return r.Name.covers(other.Name) && r.Call.covers(other.Call) && r.Text.covers(other.Text)
}

// covers reports whether t certainly matches every text that other matches. Both may be nil. A nil
// matcher matches every text, and also an absent one.
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

// hasNoTextCondition reports whether the matcher has no condition on the content of the text. It
// may still require that the text is present or absent.
func (t *textMatcher) hasNoTextCondition() bool {
	return t.equals == nil && t.contains == nil && t.matches == nil
}
