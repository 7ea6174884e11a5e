package reports

import (
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A checkResultGroup combines the results of one check that have the same verdict, from one or more
// scenarios. Reports for people show a group as one entry.
type checkResultGroup struct {
	Check                        // the most useful result: one with findings, from the scenario with the fewest requests
	Elsewhere []string           // names of the scenarios of the other results
	Same      []checkResultGroup // groups of other checks that failed because of the same part of a response

	others    []Check                  // the other results
	locations map[findingLocation]bool // locations of the findings of all results
}

// A findingLocation is the place to which a finding refers: a scenario, and in it an exchange,
// event, line and byte.
type findingLocation struct {
	scenario                      string
	exchange, event, line, offset int // as in [Finding]; event is -1 if there is none
}

// locationOf returns the place to which f, a finding of c, refers. The field event of the result is
// -1 if f does not refer to an event.
func (c Check) locationOf(f Finding) findingLocation {
	p := findingLocation{c.Scenario, f.Exchange, -1, f.Line, f.Offset}
	if f.Event != nil {
		p.event = *f.Event
	}
	return p
}

// checkGroups returns the results of the dialect that have verdict v, in one group per check and in
// the order of the report. If the argument all is false, results that a [Cause] explains are
// omitted.
func (d DialectResults) checkGroups(v spec.Verdict, all bool) []checkResultGroup {
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
			list[i].others = append(list[i].others, list[i].Check)
			list[i].Check = c
		default:
			list[i].Elsewhere = append(list[i].Elsewhere, c.Scenario)
			list[i].others = append(list[i].others, c)
		}
		for _, f := range c.Findings {
			list[i].locations[c.locationOf(f)] = true
		}
	}
	return list
}

// An unshownViolation is a requirement that some results of a group violate, but that the
// result shown in the report does not violate. The fields Finding and Scenario are the first
// finding about the requirement and the scenario of that finding.
type unshownViolation struct {
	RequirementResult
	Finding  Finding
	Scenario string
}

// furtherViolations returns the requirements that findings of the group violate, except those that
// violatedRequirements returns for g.Check, in the order of the findings.
func (d DialectResults) furtherViolations(g checkResultGroup) (all []unshownViolation) {
	known := map[string]bool{"": true}
	for _, r := range d.violatedRequirements(g.Check) {
		known[r.ID] = true
	}
	for _, c := range g.others {
		for _, f := range c.Findings {
			i := slices.IndexFunc(d.Requirements, func(r RequirementResult) bool { return r.ID == f.Requirement })
			if i >= 0 && !known[f.Requirement] {
				all = append(all, unshownViolation{d.Requirements[i], f, c.Scenario})
			}
			known[f.Requirement] = true
		}
	}
	return all
}

// failedGroups returns the groups of checks that failed, followed by the groups of checks that
// warned.
//
// If the argument all is false, results that a [Cause] explains are omitted. Groups whose checks
// failed because of the same part of a response are then merged: the group that describes the
// defect best (see byPrecision) is kept, and its field Same holds the others.
func (d DialectResults) failedGroups(all bool) []checkResultGroup {
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

// byPrecision returns the indexes of the groups in list, sorted by how precisely the groups
// describe a defect. The criteria, the most important first, are: failures precede warnings; checks
// of the protocol precede checks of the replies to test prompts ("script.*"); groups whose first
// finding has no JSON Pointer follow the others. Groups that are equal in all of these keep their
// order.
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

// coversGroup reports whether g describes the same defect as o, so that a report that shows g can
// omit o: the first findings of both groups are at the same location, and g has a finding at every
// location where o has one. The result is false if g or o has no findings. It is also false if a
// result of o has findings that were not kept, because the locations of these are unknown.
func (g checkResultGroup) coversGroup(o checkResultGroup) bool {
	if len(g.Findings) == 0 || len(o.Findings) == 0 ||
		o.Dropped > 0 || slices.ContainsFunc(o.others, func(c Check) bool { return c.Dropped > 0 }) ||
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

// findingGroups returns the findings of c, with similar ones grouped together (see
// [Finding.similarityKey]). The groups are in the order of their first findings.
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

// similarityKey returns a key by which similar findings are grouped. The key of a finding about a
// whole response consists of the requirement, the operation, the status line, and what the message
// says is required. Any other key consists of the requirement and the beginning of the message, in
// which [variableParts] are replaced.
func (f Finding) similarityKey() string {
	if f.isAboutResponse() {
		status, _, _ := strings.Cut(f.Response, "\n")
		_, required := f.splitMessage()
		return strings.Join([]string{f.Requirement, f.Operation, status, required}, "\x00")
	}
	return f.Requirement + "\x00" + variableParts.ReplaceAllString(f.Message[:min(len(f.Message), 400)], "…")
}

// isAboutResponse reports whether the finding is about a whole response, not about one event.
func (f Finding) isAboutResponse() bool { return f.Event == nil && f.Response != "" }

// splitMessage splits the message of a finding about a whole response, at its last "; ", into what
// was seen and what is required. If the message contains no "; ", or if the finding is not about a
// whole response, seen is the whole message and required is "".
func (f Finding) splitMessage() (seen, required string) {
	if i := strings.LastIndex(f.Message, "; "); i >= 0 && f.isAboutResponse() {
		return f.Message[:i], f.Message[i+len("; "):]
	}
	return f.Message, ""
}
