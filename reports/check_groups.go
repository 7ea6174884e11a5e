package reports

import (
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A checkResultGroup combines the results of one check that have the same verdict, in one or more
// scenarios. Reports for people show a group as one entry.
type checkResultGroup struct {
	Check                        // the most useful result: one with findings, from the scenario with the fewest requests
	Elsewhere []string           // names of the other scenarios
	Same      []checkResultGroup // groups of other checks that the same bytes violate

	locations map[findingLocation]bool // of the findings in all scenarios
}

// A findingLocation is the place in a run at which a finding was made: its scenario, exchange,
// event, line and byte.
type findingLocation struct {
	scenario                      string
	exchange, event, line, offset int // as in [Finding]; event is -1 if there is none
}

// locationOf returns the place in the run at which f, a finding of this check, was made. The field
// event of the result is -1 if f does not refer to an event.
func (c Check) locationOf(f Finding) findingLocation {
	p := findingLocation{c.Scenario, f.Exchange, -1, f.Line, f.Offset}
	if f.Event != nil {
		p.event = *f.Event
	}
	return p
}

// checkGroups returns the results of the dialect that have verdict v, in one group per check and in
// the order of the report. If the argument all is false, it omits results with a [Cause], which is
// reported in their place.
func (d DialectReport) checkGroups(v spec.Verdict, all bool) []checkResultGroup {
	var list []checkResultGroup
	at := map[string]int{}
	for _, c := range d.Checks {
		if c.Verdict != v || c.Cause != nil && !all {
			continue
		}
		i, known := at[c.ID]
		switch {
		case !known:
			i = len(list)
			at[c.ID] = i
			list = append(list, checkResultGroup{Check: c, locations: map[findingLocation]bool{}})
		case len(c.Findings) > 0 && (len(list[i].Findings) == 0 || c.Requests < list[i].Requests):
			list[i].Elsewhere = append(list[i].Elsewhere, list[i].Scenario)
			list[i].Check = c
		default:
			list[i].Elsewhere = append(list[i].Elsewhere, c.Scenario)
		}
		for _, f := range c.Findings {
			list[i].locations[c.locationOf(f)] = true
		}
	}
	return list
}

// failedGroups returns the groups of checks that failed, followed by the groups of checks that
// warned. If the argument all is false, it omits results with a [Cause], which is reported in their
// place. It then also merges groups whose checks fail because of the same bytes: of several such
// groups it returns only the one that describes the defect best (see byPrecision), with the others
// in its field Same.
func (d DialectReport) failedGroups(all bool) []checkResultGroup {
	list := slices.Concat(d.checkGroups(spec.Failed, all), d.checkGroups(spec.Warned, all))
	if all {
		return list
	}
	var kept []int // indexes in list
	for _, i := range byPrecision(list) {
		if k := slices.IndexFunc(kept, func(k int) bool { return list[k].coversGroup(list[i]) }); k >= 0 {
			covering := &list[kept[k]]
			covering.Same = append(covering.Same, list[i])
			continue
		}
		kept = append(kept, i)
	}
	slices.Sort(kept)
	groups := make([]checkResultGroup, len(kept))
	for n, i := range kept {
		groups[n] = list[i]
	}
	return groups
}

// byPrecision returns the indexes of the groups in list, the most precise group first. Failures
// precede warnings. Groups with the same verdict are ordered by their checks: checks of the
// protocol precede checks of the test prompts. Within that order, groups whose first finding has no
// JSON Pointer come last, and groups that are equally precise keep the order of list.
func byPrecision(list []checkResultGroup) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	rank := func(g checkResultGroup) int {
		n := 0
		if g.Verdict != spec.Failed {
			n += 4
		}
		if strings.HasPrefix(g.ID, "script.") {
			n += 2
		}
		if len(g.Findings) > 0 && g.Findings[0].Pointer == "" {
			n++
		}
		return n
	}
	slices.SortStableFunc(order, func(a, b int) int { return rank(list[a]) - rank(list[b]) })
	return order
}

// coversGroup reports whether a report that shows g can omit the group o. That is the case if the
// first findings of the two groups are at the same place, and g has a finding at every place where
// o has one. The result is false if one of the groups has no findings, or if not all findings of o
// were kept.
func (g checkResultGroup) coversGroup(o checkResultGroup) bool {
	if len(g.Findings) == 0 || len(o.Findings) == 0 || o.Dropped > 0 ||
		g.locationOf(g.Findings[0]) != o.locationOf(o.Findings[0]) {
		return false
	}
	for p := range o.locations {
		if !g.locations[p] {
			return false
		}
	}
	return true
}

// A similarFindings holds findings of one check that differ only in details, such as numbers.
type similarFindings struct{ Findings []Finding }

// findingGroups returns the findings of c in groups of similar findings, which have equal
// similarityKeys. The groups are in the order of their first findings.
func (c Check) findingGroups() (all []similarFindings) {
	at := map[string]int{}
	for _, f := range c.Findings {
		key := f.similarityKey()
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, similarFindings{})
		}
		all[i].Findings = append(all[i].Findings, f)
	}
	return all
}

// variableParts matches the parts of a message that may differ between similar findings: numbers,
// JSON Pointers, and quotations, including the ellipsis of a shortened quotation.
var variableParts = regexp.MustCompile("…?(?:\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`)…?" + `|/[^\s:,;]*|\d+`)

// similarityKey returns a key that is equal for similar findings. Findings about a whole response
// rather than an event are similar if they have the same requirement, operation, status line and
// text after the first semicolon of the message. Other findings are similar if they have the same
// requirement and the first 400 bytes of their messages differ only in [variableParts].
func (f Finding) similarityKey() string {
	if f.Event == nil && f.Response != "" {
		status, _, _ := strings.Cut(f.Response, "\n")
		_, required, _ := strings.Cut(f.Message, ";")
		return strings.Join([]string{f.Requirement, f.Operation, status, required}, "\x00")
	}
	return f.Requirement + "\x00" + variableParts.ReplaceAllString(f.Message[:min(len(f.Message), 400)], "…")
}
