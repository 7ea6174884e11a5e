package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A inconclusiveReason is one reason why something could not be told or was left out, and what
// it is about.
type inconclusiveReason struct {
	Why               string
	Checks, Scenarios []string // each once
}

// inconclusiveReasons are the reasons for a verdict that is not the target's: a server that
// cannot be reached is one reason, however many checks it is the reason of.
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

// scope says how much a doubt is about.
func (o inconclusiveReason) scope() string {
	return fmt.Sprintf("%s in %s", countNoun(len(o.Checks), "check"), countNoun(len(o.Scenarios), "scenario"))
}

// headline is the one thing to know of an entry.
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

// violatedRequirements are the requirements that an entry is about, the strictest first: those that
// its findings break, or all that oblige to the check where no finding says which. What
// is only permitted cannot be broken.
func (d DialectReport) violatedRequirements(c Check) (laws []RequirementResult) {
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
				laws = append(laws, r)
			}
		}
	}
	order := []spec.Level{spec.Must, spec.Should, spec.May}
	slices.SortStableFunc(laws, func(a, b RequirementResult) int { return slices.Index(order, a.Level) - slices.Index(order, b.Level) })
	return laws
}

// locationText says where in the conversation a finding stands.
func (f Finding) locationText() string {
	s := fmt.Sprintf("exchange %d", f.Exchange)
	if f.Operation != "" {
		s = f.Operation + ", " + s
	}
	if f.Event != nil {
		s += fmt.Sprintf(", event %d", *f.Event)
	}
	if f.Line > 0 && (f.Event != nil || f.Line > 1 || f.Offset > 0 || f.Request == "") { // not of a body as a whole
		s += fmt.Sprintf(", line %d, byte %d", f.Line, f.Offset)
	}
	if f.Pointer != "" {
		s += ", at " + f.Pointer
	}
	return s
}

// worstVerdict is the verdict on a dialect.
func (d DialectReport) worstVerdict() spec.Verdict {
	v := spec.Silent
	for _, c := range d.Checks {
		v = max(v, c.Verdict)
	}
	return v
}

// countNoun is a number of things.
func countNoun(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
