package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// An inconclusiveReason is one reason why checks were not judged or skipped.
type inconclusiveReason struct {
	Why               string
	Checks, Scenarios []string // names, each once
}

// inconclusiveReasons returns the reasons of the entries with a verdict (error or skipped), each
// once. Entries that a cause explains are left out unless all is set.
func (d DialectReport) inconclusiveReasons(v spec.Verdict, all bool) []inconclusiveReason {
	var list []inconclusiveReason
	for _, c := range d.Checks {
		if c.Verdict != v || c.Cause != nil && !all {
			continue
		}
		why := strings.TrimPrefix(c.headline(), "not judged: ") // the title says so
		i := slices.IndexFunc(list, func(o inconclusiveReason) bool { return o.Why == why })
		if i < 0 {
			i = len(list)
			list = append(list, inconclusiveReason{Why: why})
		}
		o := &list[i]
		if !slices.Contains(o.Checks, c.ID) {
			o.Checks = append(o.Checks, c.ID)
		}
		if !slices.Contains(o.Scenarios, c.Scenario) {
			o.Scenarios = append(o.Scenarios, c.Scenario)
		}
	}
	return list
}

// scope returns the numbers of checks and scenarios of the reason.
func (o inconclusiveReason) scope() string {
	return fmt.Sprintf("%s in %s", countNoun(len(o.Checks), "check"), countNoun(len(o.Scenarios), "scenario"))
}

// headline returns the first finding's message, or else the note.
func (c Check) headline() string {
	switch {
	case len(c.Findings) > 0:
		return c.Findings[0].Message
	case c.Note != "":
		return c.Note
	case c.Verdict == spec.Silent:
		return "nothing in this scenario tests it"
	}
	return c.Verdict.String()
}

// violatedRequirements returns the requirements that an entry is about, by level: those that its
// findings violate, or all that the check serves if no finding names one. Of an entry that failed
// or warned, those of level MAY are left out: they cannot be violated.
func (d DialectReport) violatedRequirements(c Check) (violated []RequirementResult) {
	var ids []string
	for _, f := range c.Findings {
		if f.Requirement != "" && !slices.Contains(ids, f.Requirement) {
			ids = append(ids, f.Requirement)
		}
	}
	if len(ids) == 0 {
		ids = c.Requirements
	}
	bad := c.Verdict == spec.Failed || c.Verdict == spec.Warned
	for _, id := range ids {
		if i := slices.IndexFunc(d.Requirements, func(r RequirementResult) bool { return r.ID == id }); i >= 0 {
			if r := d.Requirements[i]; !bad || r.Level != spec.May {
				violated = append(violated, r)
			}
		}
	}
	order := []spec.Level{spec.Must, spec.Should, spec.May}
	slices.SortStableFunc(violated, func(a, b RequirementResult) int {
		return slices.Index(order, a.Level) - slices.Index(order, b.Level)
	})
	return violated
}

// locationText returns the place of a finding: "POST /runs, exchange 0, event 3, line 9, byte 211".
func (f Finding) locationText() string {
	s := fmt.Sprintf("exchange %d", f.Exchange)
	if f.Operation != "" {
		s = f.Operation + ", " + s
	}
	if f.Event != nil {
		s += fmt.Sprintf(", event %d", *f.Event)
	}
	if f.Line > 0 && (f.Event != nil || f.Line > 1 || f.Offset > 0 || f.Request == "") { // not about a complete body
		s += fmt.Sprintf(", line %d, byte %d", f.Line, f.Offset)
	}
	if f.Pointer != "" {
		s += ", at " + f.Pointer
	}
	return s
}

// worstVerdict returns the worst verdict of the dialect's entries.
func (d DialectReport) worstVerdict() spec.Verdict {
	v := spec.Silent
	for _, c := range d.Checks {
		v = max(v, c.Verdict)
	}
	return v
}

// countNoun returns "1 check" or "2 checks".
func countNoun(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
