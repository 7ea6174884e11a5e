package reports

import (
	"regexp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A group is one check that came out with one verdict in one or more scenarios:
// people are told of it once.
type group struct {
	Check              // the entry that tells most: with findings, and of the fewest requests
	Elsewhere []string // the other scenarios
	Same      []group  // other checks that the same bytes break

	places map[place]bool // of all findings, in all scenarios
}

// A place is where a finding was made.
type place struct {
	scenario                      string
	exchange, event, line, offset int
}

func (c Check) place(f Finding) place {
	p := place{c.Scenario, f.Exchange, -1, f.Line, f.Offset}
	if f.Event != nil {
		p.event = *f.Event
	}
	return p
}

// groups are the checks that came out with a verdict, in the order of the report.
// What follows from a cause is left out, unless all is wanted.
func (d Dialect) groups(v spec.Verdict, all bool) []group {
	var list []group
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
			list = append(list, group{Check: c, places: map[place]bool{}})
		case len(c.Findings) > 0 && (len(list[i].Findings) == 0 || c.Requests < list[i].Requests):
			list[i].Elsewhere = append(list[i].Elsewhere, list[i].Scenario)
			list[i].Check = c
		default:
			list[i].Elsewhere = append(list[i].Elsewhere, c.Scenario)
		}
		for _, f := range c.Findings {
			list[i].places[c.place(f)] = true
		}
	}
	return list
}

// bad are the groups that failed, and then those that warned, the other checks that the
// same bytes break under the one that says most precisely what is wrong with them.
func (d Dialect) bad(all bool) []group {
	list := slices.Concat(d.groups(spec.Failed, all), d.groups(spec.Warned, all))
	if all {
		return list
	}
	var kept []group
	for _, i := range byPrecision(list) {
		g := list[i]
		if k := slices.IndexFunc(kept, func(o group) bool { return o.covers(g) }); k >= 0 {
			kept[k].Same = append(kept[k].Same, g)
			continue
		}
		kept = append(kept, g)
	}
	position := map[string]int{}
	for i, g := range list {
		position[g.ID+g.Verdict.String()] = i
	}
	slices.SortStableFunc(kept, func(a, b group) int {
		return position[a.ID+a.Verdict.String()] - position[b.ID+b.Verdict.String()]
	})
	return kept
}

// byPrecision orders groups so that a check which names a member of an event comes
// before one that speaks of the event, and that before one on the content of the answer.
func byPrecision(list []group) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	rank := func(g group) int {
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

// covers reports whether another check was broken by the same bytes, and by no others.
func (g group) covers(o group) bool {
	if len(g.Findings) == 0 || len(o.Findings) == 0 || o.Dropped > 0 || g.place(g.Findings[0]) != o.place(o.Findings[0]) {
		return false
	}
	for p := range o.places {
		if !g.places[p] {
			return false
		}
	}
	return true
}

// A fault is the findings of one check that are alike.
type fault struct{ Findings []Finding }

// faults are the findings of an entry, those together that are alike.
func (c Check) faults() (all []fault) {
	at := map[string]int{}
	for _, f := range c.Findings {
		key := f.likeness()
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, fault{})
		}
		all[i].Findings = append(all[i].Findings, f)
	}
	return all
}

// varying is what differs between messages that say the same: numbers, quotations, and
// paths into a body.
var varying = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|/[^\s:,;]*|\d+`)

// likeness is equal for findings that are alike: answers with one status to requests for
// one operation, or events about which the same is said.
func (f Finding) likeness() string {
	if f.Event == nil && f.Response != "" {
		status, _, _ := strings.Cut(f.Response, "\n")
		_, wanted, _ := strings.Cut(f.Message, ";")
		return strings.Join([]string{f.Requirement, f.Operation, status, wanted}, "\x00")
	}
	return f.Requirement + "\x00" + varying.ReplaceAllString(f.Message[:min(len(f.Message), 400)], "…")
}
