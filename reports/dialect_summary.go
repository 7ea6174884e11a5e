package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// An inconclusiveReason is a reason why checks were not judged or were skipped, together with the
// checks and scenarios to which the reason applies.
type inconclusiveReason struct {
	Why               string
	Checks, Scenarios []string // names, each once
}

// inconclusiveReasons returns the reasons why results of the dialect have verdict v, which must be
// error or skipped. Each reason is listed once. If the argument all is false, results that a
// [Cause] explains are ignored.
func (d DialectResults) inconclusiveReasons(v spec.Verdict, all bool) []inconclusiveReason {
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

// scope returns the number of checks and of scenarios to which the reason applies, as text such as
// "2 checks in 1 scenario".
func (o inconclusiveReason) scope() string {
	return fmt.Sprintf("%s in %s", printable.Count(len(o.Checks), "check"), printable.Count(len(o.Scenarios), "scenario"))
}

// headline returns the text that reports show first for the result: the message of its first
// finding or, without findings, its note. If there is no note either, it describes the verdict.
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

// violatedRequirements returns the requirements that reports show with the result c, sorted by
// level: MUST, SHOULD, MAY. They are the requirements that the findings of c violate. If a finding
// names no requirement, or if there are no findings, they are all requirements that the check
// judges. If the verdict is failed or warned, requirements of level MAY are omitted, because they
// cannot be violated.
func (d DialectResults) violatedRequirements(c Check) (violated []RequirementResult) {
	ids := c.Requirements
	namesNone := func(f Finding) bool { return f.Requirement == "" }
	if len(c.Findings) > 0 && !slices.ContainsFunc(c.Findings, namesNone) {
		ids = nil
		for _, f := range c.Findings {
			if !slices.Contains(ids, f.Requirement) {
				ids = append(ids, f.Requirement)
			}
		}
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

// locationText returns the place at which the finding was made, as text such as
// "POST /runs, exchange 0, event 3, line 9, byte 211".
func (f Finding) locationText() string {
	s := fmt.Sprintf("exchange %d", f.Exchange)
	if f.Operation != "" {
		s = f.Operation + ", " + s
	}
	if f.Event != nil {
		s += fmt.Sprintf(", event %d", *f.Event)
	}
	switch {
	case f.Line == 0 || f.Event == nil && f.Line == 1 && f.Offset == 0 && f.Request != "": // about a whole response
	case f.Event == nil && f.Raw == "":
		s += fmt.Sprintf(", end of the body (byte %d)", f.Offset)
	default:
		s += fmt.Sprintf(", line %d, byte %d", f.Line, f.Offset)
	}
	if f.Pointer != "" {
		s += ", at " + f.Pointer
	}
	return s
}

// worstVerdict returns the worst verdict of all results of the dialect, or silent if there are no
// results.
func (d DialectResults) worstVerdict() spec.Verdict {
	v := spec.Silent
	for _, c := range d.Checks {
		v = max(v, c.Verdict)
	}
	return v
}
