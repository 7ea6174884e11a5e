package journal

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/rules"
)

// An Outcome is a report on all clients of a mock. Its checks are those of clients and, in the
// dialect with an empty name, the expected calls. That dialect also has the requests that belong to
// no other.
type Outcome struct {
	reports.Report
	Strict    bool      `json:"strict"`
	Exchanges int       `json:"asked"`     // exchanges that were judged
	Forgotten uint64    `json:"forgotten"` // exchanges that were dropped from the journal
	Failures  []Failure `json:"failures"`
}

// Conclude judges the exchanges in j. The outcome contains the findings about them, a check for
// each expected call, the verdict and the exit code.
func (x Expect) Conclude(j *Journal) Outcome {
	out := Outcome{Strict: x.Strict, Forgotten: j.Forgotten(), Failures: j.Verify(Filter{}, x)}
	out.Dialects = []reports.DialectReport{}
	found := j.keptFindings(Filter{})
	judged := map[string]map[string]int{} // number of judgements, by dialect and check
	count := func(dialect string, judgements map[string]int) {
		if judged[dialect] == nil {
			judged[dialect] = map[string]int{}
		}
		for id, n := range judgements {
			judged[dialect][id] += n
		}
	}
	for _, r := range j.entryRefs() {
		v := j.evaluate(r)
		count(v.located.Dialect, v.judged)
		found = append(found, v.locatedFindings()...)
		out.Exchanges++
	}
	if x.AllowUnmatched {
		found = slices.DeleteFunc(found, func(g LocatedFinding) bool {
			return g.Kind == rules.UsesOperations.ID || g.Kind == rules.MatchesRule.ID
		})
	}
	for _, g := range found {
		count(g.Dialect, nil) // all exchanges of the dialect may have been dropped
	}
	for _, name := range slices.Sorted(maps.Keys(judged)) {
		out.Dialects = append(out.Dialects, clientReport(name, j.clientPlan(name), judged[name], found))
	}
	if len(x.Calls) > 0 {
		i := slices.IndexFunc(out.Dialects, func(d reports.DialectReport) bool { return d.Dialect == "" })
		if i < 0 {
			i = len(out.Dialects)
			out.Dialects = append(out.Dialects, clientReport("", spec.Plan{}, nil, nil))
		}
		out.Dialects[i].Checks = append(out.Dialects[i].Checks, x.callChecks(out.Failures)...)
	}
	out.Report.Conclude(reports.ConcludeOptions{Strict: x.Strict})
	switch {
	case out.Exchanges == 0 && len(found) == 0: // whatever calls were expected
		out.Verdict, out.Exit = spec.Silent, reports.ExitInconclusive
	case out.Exit == reports.ExitInconclusive: // requests were received, but none that a check is about
		out.Exit = reports.ExitPassed
	}
	return out
}

// clientReport returns the report on the requests of the named dialect. The parameter judged is the
// number of judgements by check. Findings in found about other dialects are ignored.
func clientReport(name string, plan spec.Plan, judged map[string]int, found []LocatedFinding) reports.DialectReport {
	d := reports.DialectReport{
		Dialect: name, Causes: []reports.Cause{}, Requirements: []reports.RequirementResult{}, Checks: []reports.Check{},
	}
	for _, o := range plan.Obligations {
		c := newCheck(o.Check.ID, o.Check.Title(), o.Level())
		if c.Judged = judged[c.ID]; c.Judged > 0 {
			c.Verdict = spec.Passed
		}
		for _, g := range found {
			verdict := g.Level.FailureVerdict()
			if g.Kind != c.ID || g.Dialect != name || verdict == spec.Silent {
				continue
			}
			c.Judged, c.Verdict = max(c.Judged, 1), max(c.Verdict, verdict)
			if len(c.Findings) < spec.MaxFindings {
				c.Findings = append(c.Findings, reports.Finding{
					Message: g.Message, Level: g.Level, Requirement: g.Requirement, Exchange: int(g.ID), Request: g.Request, Where: g.Where,
				})
			}
			if g.Requirement != "" && !slices.Contains(c.Requirements, g.Requirement) {
				c.Requirements = append(c.Requirements, g.Requirement)
				i := slices.IndexFunc(o.Requirements, func(r spec.Requirement) bool { return r.ID == g.Requirement })
				violated := reports.RequirementResults(o.Requirements[i:i+1], nil)[0]
				violated.Verdict, violated.Checks = verdict, []string{c.ID}
				d.Requirements = append(d.Requirements, violated)
			}
		}
		d.Checks = append(d.Checks, c)
	}
	return d
}

// newCheck returns the result of a check that nothing exercised.
func newCheck(id, title string, level spec.Level) reports.Check {
	return reports.Check{ID: id, Title: title, Level: level, Findings: []reports.Finding{}, Requirements: []string{}}
}

// callChecks returns one check result for each expected call. The verdict is failed if failures
// contains an entry for the call, and passed otherwise.
func (x Expect) callChecks(failures []Failure) (all []reports.Check) {
	for i, call := range x.Calls {
		c := newCheck(fmt.Sprintf("expect.%d", i+1), call.String()+": "+call.countText(), spec.Must)
		c.Verdict, c.Judged = spec.Passed, 1
		for _, f := range failures {
			if f.Call == i {
				c.Verdict = spec.Failed
				c.Findings = append(c.Findings, reports.Finding{Message: f.Message, Level: spec.Must})
			}
		}
		all = append(all, c)
	}
	return all
}

// WriteJSON writes the outcome to w as one line of JSON. It returns any error from encoding the
// outcome or from writing to w.
func (o Outcome) WriteJSON(w io.Writer) error {
	data, err := encodeJSON(o)
	if err == nil {
		_, err = w.Write(append(data, '\n'))
	}
	return err
}

// Text returns the outcome as text: a line for each finding and, at the end, a line with the
// verdict and the number of exchanges.
func (o Outcome) Text() string {
	var b strings.Builder
	for _, d := range o.Dialects {
		for _, c := range d.Checks {
			for _, f := range c.Findings {
				if f.Exchange == 0 {
					fmt.Fprintf(&b, "%s %s\n", c.Verdict, f.Message)
					continue
				}
				rule := c.ID
				if f.Requirement != "" {
					rule = f.Requirement
				}
				fmt.Fprintf(&b, "%s %s %s: #%d %s: %s: %s\n",
					f.Level.FailureVerdict(), f.Level, rule, f.Exchange, f.Request, f.Where, f.Message)
			}
		}
	}
	switch {
	case o.Exit == reports.ExitInconclusive:
		b.WriteString("no requests received\n")
	case o.Forgotten > 0:
		fmt.Fprintf(&b, "%s: %d exchanges, and %d older ones dropped from the journal\n", o.Verdict, o.Exchanges, o.Forgotten)
	default:
		fmt.Fprintf(&b, "%s: %d exchanges\n", o.Verdict, o.Exchanges)
	}
	return b.String()
}
