package reports

import (
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A checkGroup is one check that came out with one verdict in one or more scenarios:
// people are told of it once.
type checkGroup struct {
	Check                  // the entry that tells most: with findings, and of the fewest requests
	Elsewhere []string     // the other scenarios
	Same      []checkGroup // other checks that the same bytes break

	locations map[findingLocation]bool // of all findings, in all scenarios
}

// A findingLocation is where a finding was made.
type findingLocation struct {
	scenario                      string
	exchange, event, line, offset int
}

func (c Check) locationOf(f Finding) findingLocation {
	p := findingLocation{c.Scenario, f.Exchange, -1, f.Line, f.Offset}
	if f.Event != nil {
		p.event = *f.Event
	}
	return p
}

// checkGroups are the checks that came out with a verdict, in the order of the report.
// What follows from a cause is left out, unless all is wanted.
func (d DialectReport) checkGroups(v spec.Verdict, all bool) []checkGroup {
	var list []checkGroup
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
			list = append(list, checkGroup{Check: c, locations: map[findingLocation]bool{}})
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

// failedGroups are the groups that failed, and then those that warned, the other checks that the
// same bytes break under the one that says most precisely what is wrong with them.
func (d DialectReport) failedGroups(all bool) []checkGroup {
	list := slices.Concat(d.checkGroups(spec.Failed, all), d.checkGroups(spec.Warned, all))
	if all {
		return list
	}
	var kept []checkGroup
	for _, i := range byPrecision(list) {
		g := list[i]
		if k := slices.IndexFunc(kept, func(o checkGroup) bool { return o.coversGroup(g) }); k >= 0 {
			kept[k].Same = append(kept[k].Same, g)
			continue
		}
		kept = append(kept, g)
	}
	position := map[string]int{}
	for i, g := range list {
		position[g.ID+g.Verdict.String()] = i
	}
	slices.SortStableFunc(kept, func(a, b checkGroup) int {
		return position[a.ID+a.Verdict.String()] - position[b.ID+b.Verdict.String()]
	})
	return kept
}

// byPrecision orders groups so that a check which names a member of an event comes
// before one that speaks of the event, and that before one on the content of the answer.
func byPrecision(list []checkGroup) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	rank := func(g checkGroup) int {
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

// coversGroup reports whether another check was broken by the same bytes, and by no others.
func (g checkGroup) coversGroup(o checkGroup) bool {
	if len(g.Findings) == 0 || len(o.Findings) == 0 || o.Dropped > 0 || g.locationOf(g.Findings[0]) != o.locationOf(o.Findings[0]) {
		return false
	}
	for p := range o.locations {
		if !g.locations[p] {
			return false
		}
	}
	return true
}

// A findingGroup is the findings of one check that are alike.
type findingGroup struct{ Findings []Finding }

// findingGroups are the findings of an entry, those together that are alike.
func (c Check) findingGroups() (all []findingGroup) {
	at := map[string]int{}
	for _, f := range c.Findings {
		key := f.similarityKey()
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, findingGroup{})
		}
		all[i].Findings = append(all[i].Findings, f)
	}
	return all
}

// variableParts is what differs between messages that say the same: numbers, quotations, and
// paths into a body.
var variableParts = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|/[^\s:,;]*|\d+`)

// similarityKey is equal for findings that are alike: answers with one status to requests for
// one operation, or events about which the same is said.
func (f Finding) similarityKey() string {
	if f.Event == nil && f.Response != "" {
		status, _, _ := strings.Cut(f.Response, "\n")
		_, wanted, _ := strings.Cut(f.Message, ";")
		return strings.Join([]string{f.Requirement, f.Operation, status, wanted}, "\x00")
	}
	return f.Requirement + "\x00" + variableParts.ReplaceAllString(f.Message[:min(len(f.Message), 400)], "…")
}
