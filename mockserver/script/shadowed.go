package script

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// maxRulePairs is the maximum number of pairs of rules that are compared. It bounds the time for
// very large scripts, at the price of missing warnings.
const maxRulePairs = 5_000_000

// shadowedRules returns a warning for each rule that never matches because an earlier rule matches
// all of its requests.
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
		if r.maxMatches == 0 && len(r.conditions.scenarioSteps) == 0 {
			shadowing = append(shadowing, r)
		}
	}
	return all
}

// displayName returns the rule's name for a message, such as "rule greeting". A rule without a name
// in the script is already called by its number, such as "rule 3".
func (r *Rule) displayName() string {
	if strings.HasPrefix(r.Name, "rule ") {
		return r.Name
	}
	return "rule " + r.Name
}

// describe returns the rule's name and line for a message about the rule from. The file and the
// priority are included if they differ from those of that rule.
func (r *Rule) describe(from *Rule) string {
	where := fmt.Sprintf("line %d", r.Line)
	if r.File != from.File {
		where = fmt.Sprintf("%s:%d", r.File, r.Line)
	}
	if r.Priority > from.Priority {
		where += fmt.Sprintf(", priority %d", r.Priority)
	}
	return fmt.Sprintf("%s (%s)", r.displayName(), where)
}

// shadows reports whether r certainly matches every request that other matches. If it returns
// false, r may or may not match them.
func (r *Rule) shadows(other *Rule) bool {
	a, b := &r.conditions, &other.conditions
	switch {
	case !isSubset(other.dialects, r.dialects), !isSubset(b.operations, a.operations):
		return false
	case a.lastInput != "" && a.lastInput != b.lastInput:
		return false
	case a.turn != nil && (b.turn == nil || !a.turn.covers(*b.turn)):
		return false
	case !a.text.covers(b.text), !a.resume.covers(b.resume), !a.thread.covers(b.thread), !a.run.covers(b.run):
		return false
	case a.toolResult != nil && (b.toolResult == nil || !a.toolResult.covers(b.toolResult)):
		return false
	}
	return a.coversRest(b)
}

// coversRest reports whether the conditions of c on offered tools, header fields and values in the
// body certainly hold for every request that meets the conditions other.
func (c *conditions) coversRest(other *conditions) bool {
	if len(c.offers) > 0 && (len(other.offers) == 0 || !isSubset(c.offers, other.offers)) {
		return false
	}
	for _, h := range c.headers {
		if !slices.ContainsFunc(other.headers, func(o headerMatcher) bool {
			return strings.EqualFold(h.name, o.name) && h.matcher.covers(o.matcher)
		}) {
			return false
		}
	}
	for _, at := range c.body {
		if !slices.ContainsFunc(other.body, func(o bodyMatcher) bool {
			return at.pointer == o.pointer && at.matcher.covers(o.matcher) &&
				(at.value == nil || o.value != nil && reflect.DeepEqual(*at.value, *o.value))
		}) {
			return false
		}
	}
	return true
}

// isSubset reports whether all strings in these are also in those. An empty list stands for every
// string.
func isSubset(these, those []string) bool {
	if len(those) == 0 {
		return true
	}
	if len(these) == 0 {
		return false
	}
	return !slices.ContainsFunc(these, func(one string) bool { return !slices.Contains(those, one) })
}

// covers reports whether every integer in the range other is also in the range s.
func (s *intRange) covers(other intRange) bool {
	return s.low <= other.low && (s.high == 0 || other.high != 0 && other.high <= s.high)
}

// covers reports whether r certainly matches every tool result that other matches.
func (r *toolResultMatcher) covers(other *toolResultMatcher) bool {
	return r.name.covers(other.name) && r.call.covers(other.call) && r.text.covers(other.text)
}

// covers reports whether t certainly matches every text that other matches. A nil matcher matches
// every text.
func (t *textMatcher) covers(other *textMatcher) bool {
	if t == nil {
		return true
	}
	if other == nil {
		return false
	}
	if t.exists != nil && (other.exists == nil && *t.exists && other.hasNoTextCondition() ||
		other.exists != nil && *other.exists != *t.exists || other.exists == nil && !*t.exists) {
		return false
	}
	if other.equals != nil {
		return t.match(&matchContext{}, "", *other.equals, true) == nil
	}
	if t.equals != nil {
		return false
	}
	if t.contains != nil && (other.contains == nil || !strings.Contains(*other.contains, *t.contains)) {
		return false
	}
	return t.matches == nil || other.matches != nil && t.matches.String() == other.matches.String()
}

// hasNoTextCondition reports whether the matcher accepts any text, so that at most its existence
// matters.
func (t *textMatcher) hasNoTextCondition() bool {
	return t.equals == nil && t.contains == nil && t.matches == nil
}
