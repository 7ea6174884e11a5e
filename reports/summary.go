package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// mostFindings is how many findings of one check are shown to people.
const mostFindings = 3

// A group is one check that came out with one verdict in one or more scenarios:
// people are told of it once.
type group struct {
	Check              // the entry that tells most: the first one with findings
	Elsewhere []string // the other scenarios
}

// groups are the checks that came out with a verdict, in the order of the report.
func (d Dialect) groups(v spec.Verdict) []group {
	var all []group
	at := map[string]int{}
	for _, c := range d.Checks {
		if c.Verdict != v {
			continue
		}
		i, known := at[c.ID]
		switch {
		case !known:
			at[c.ID] = len(all)
			all = append(all, group{Check: c})
		case len(all[i].Findings) == 0 && len(c.Findings) > 0:
			all[i].Elsewhere = append(all[i].Elsewhere, all[i].Scenario)
			all[i].Check = c
		default:
			all[i].Elsewhere = append(all[i].Elsewhere, c.Scenario)
		}
	}
	return all
}

// A doubt is one reason why something could not be told or was left out, and what
// it is about.
type doubt struct {
	Why               string
	Checks, Scenarios []string // each once
}

// doubts are the reasons for a verdict that is not the target's: a server that
// cannot be reached is one reason, however many checks it is the reason of.
func (d Dialect) doubts(v spec.Verdict) []doubt {
	var all []doubt
	for _, c := range d.Checks {
		if c.Verdict != v {
			continue
		}
		why := strings.TrimPrefix(c.headline(), "could not tell: ") // the title says so
		i := slices.IndexFunc(all, func(o doubt) bool { return o.Why == why })
		if i < 0 {
			i = len(all)
			all = append(all, doubt{Why: why})
		}
		o := &all[i]
		if !slices.Contains(o.Checks, c.ID) {
			o.Checks = append(o.Checks, c.ID)
		}
		if !slices.Contains(o.Scenarios, c.Scenario) {
			o.Scenarios = append(o.Scenarios, c.Scenario)
		}
	}
	return all
}

// about says how much a doubt is about.
func (o doubt) about() string {
	return fmt.Sprintf("%s in %s", several(len(o.Checks), "check"), several(len(o.Scenarios), "scenario"))
}

// headline is the one thing to know of an entry.
func (c Check) headline() string {
	switch {
	case len(c.Findings) > 0:
		return c.Findings[0].Message
	case c.Note != "":
		return c.Note
	case c.Verdict == spec.Silent:
		return "nothing in this scenario exercised it"
	}
	return c.Verdict.String()
}

// more is how many findings there are besides the first ones.
func (c Check) more() int { return max(0, len(c.Findings)-mostFindings) + c.Dropped }

// shown are the first findings.
func (c Check) shown() []Finding { return c.Findings[:min(len(c.Findings), mostFindings)] }

// broken are the requirements that an entry is about: those that its findings
// break, or all that oblige to the check where no finding says which.
func (d Dialect) broken(c Check) (laws []Requirement) {
	var ids []string
	for _, f := range c.Findings {
		if f.Requirement != "" && !slices.Contains(ids, f.Requirement) {
			ids = append(ids, f.Requirement)
		}
	}
	if len(ids) == 0 {
		ids = c.Requirements
	}
	for _, id := range ids {
		if i := slices.IndexFunc(d.Requirements, func(r Requirement) bool { return r.ID == id }); i >= 0 {
			laws = append(laws, d.Requirements[i])
		}
	}
	return laws
}

// place says where in the conversation a finding stands.
func (f Finding) place() string {
	s := fmt.Sprintf("exchange %d", f.Exchange)
	if f.Event != nil {
		s += fmt.Sprintf(", event %d", *f.Event)
	}
	if f.Line > 0 {
		s += fmt.Sprintf(", line %d, byte %d", f.Line, f.Offset)
	}
	if f.Pointer != "" {
		s += ", at " + f.Pointer
	}
	return s
}

// A tally counts requirements by verdict.
type tally struct {
	verdict  [spec.Error + 1]int
	excluded int // no check can judge them; they are in no other number
}

func (t *tally) count(d Dialect) {
	for _, r := range d.Requirements {
		if r.Excluded != nil {
			t.excluded++
			continue
		}
		t.verdict[r.Verdict]++
	}
}

// String says the numbers that are not 0.
func (t tally) String() string {
	var said []string
	for _, n := range []struct {
		n    int
		what string
	}{
		{t.verdict[spec.Failed], "MUST broken"}, {t.verdict[spec.Warned], "SHOULD broken"}, {t.verdict[spec.Error], "could not be told"},
		{t.verdict[spec.Passed], "passed"}, {t.verdict[spec.Silent], "silent"}, {t.verdict[spec.Skipped], "skipped"},
	} {
		if n.n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if len(said) == 0 {
		return "nothing to judge"
	}
	return strings.Join(said, ", ")
}

// worst is the verdict on a dialect.
func (d Dialect) worst() spec.Verdict {
	v := spec.Silent
	for _, c := range d.Checks {
		v = max(v, c.Verdict)
	}
	return v
}

// word is what the exit code means.
func (r *Report) word() string {
	switch r.Exit {
	case ExitHolds:
		return "PASSED"
	case ExitBroken:
		return "FAILED"
	case ExitHarness:
		return "HARNESS FAILURE"
	case ExitNothing:
		if r.Counts.Passed+r.Counts.Warned+r.Counts.Failed > 0 {
			return "COULD NOT TELL"
		}
		return "NOTHING MEASURED"
	}
	return strings.ToUpper(r.Verdict.String())
}

// conclusion is the report in one line, without its first word.
func (r *Report) conclusion() string {
	var t tally
	name := "no dialect"
	for _, d := range r.Dialects {
		t.count(d)
		name = d.Dialect
	}
	if len(r.Dialects) > 1 {
		name = several(len(r.Dialects), "dialect")
	}
	s := t.String()
	if r.Counts.Failed > 0 && t.verdict[spec.Failed] == 0 { // of no requirement in particular
		s = several(r.Counts.Failed, "check") + " failed, " + s
	}
	if n := r.flips(); n > 0 {
		s += fmt.Sprintf(", %d of them flaky in %s", n, several(r.Rounds, "round"))
	} else if r.Rounds > 0 {
		s += ", alike in " + several(r.Rounds, "round")
	}
	return fmt.Sprintf("%s: %s  (exit %d)", name, s, r.Exit)
}

// several is a number of things.
func several(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
