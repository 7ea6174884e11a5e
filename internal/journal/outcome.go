package journal

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
)

// A ClientTestReport is a report on all clients of a mock. Its checks are those that judge clients.
// The dialect with the empty name stands for the requests that belong to no dialect; the report on
// it also contains the checks of the expected calls.
type ClientTestReport struct {
	reports.Report
	Strict    bool               `json:"strict"`    // replaces Report.Strict, which is left out of JSON if false
	Exchanges int                `json:"asked"`     // number of exchanges that were judged
	Forgotten uint64             `json:"forgotten"` // number of exchanges that were dropped from the journal
	Failures  []UnmetExpectation `json:"failures"`  // calls received too rarely, too often or in the wrong order
}

// Conclude judges the exchanges in j by the checks for clients and by x, and returns a report on
// them. The report contains the findings about these exchanges and those that j kept of dropped
// exchanges, a check for each expected call, the verdict and the exit code.
func (x Expectations) Conclude(j *Journal) ClientTestReport {
	out := ClientTestReport{Strict: x.Strict, Forgotten: j.Forgotten(), Failures: j.Verify(Filter{}, x)}
	out.Dialects = []reports.DialectResults{}
	dropped, kept := j.evaluations()
	out.Exchanges = len(kept)
	byDialect, found := map[string][]exchangeEvaluation{}, 0
	for _, v := range slices.Concat(dropped, kept) {
		if x.AllowUnmatched {
			v.findings = slices.DeleteFunc(slices.Clone(v.findings), func(f Finding) bool {
				return f.Kind == rules.UsesOperations.ID || f.Kind == rules.MatchesRule.ID
			})
		}
		byDialect[v.dialect] = append(byDialect[v.dialect], v)
		found += len(v.findings)
	}
	for _, name := range slices.Sorted(maps.Keys(byDialect)) {
		out.Dialects = append(out.Dialects, clientReport(name, j.clientPlan(name), byDialect[name]))
	}
	if len(x.Calls) > 0 {
		i := slices.IndexFunc(out.Dialects, func(d reports.DialectResults) bool { return d.Dialect == "" })
		if i < 0 {
			i = len(out.Dialects)
			out.Dialects = append(out.Dialects, clientReport("", spec.Plan{}, nil))
		}
		out.Dialects[i].Checks = append(out.Dialects[i].Checks, x.callChecks(out.Failures)...)
	}
	out.Report.Conclude(reports.ExitCodeOptions{Strict: x.Strict})
	switch {
	case out.Exchanges == 0 && found == 0: // whatever calls were expected
		out.Verdict, out.Exit = spec.Silent, reports.ExitInconclusive
	case out.Exit == reports.ExitInconclusive: // requests were received, but none that a check is about
		out.Exit = reports.ExitPassed
	}
	return out
}

// clientReport returns the report on the requests of the dialect with the given name. The argument
// plan is the plan for judging the clients of that dialect, and evaluations holds the evaluations
// of the dialect's requests.
func clientReport(name string, plan spec.Plan, evaluations []exchangeEvaluation) reports.DialectResults {
	d := reports.DialectResults{
		Dialect: name, Causes: []reports.Cause{}, Requirements: []reports.RequirementResult{}, Checks: []reports.Check{},
	}
	for _, o := range plan.PlannedChecks {
		c := newCheck(o.Check.ID, o.Check.Title(), o.Level())
		for _, v := range evaluations {
			if c.Judged += v.judged[c.ID]; c.Judged > 0 {
				c.Verdict = max(c.Verdict, spec.Passed)
			}
			for _, f := range v.findings {
				if f.Kind == c.ID {
					d.Requirements = addFinding(&c, d.Requirements, o, v, f)
				}
			}
		}
		d.Checks = append(d.Checks, c)
	}
	return d
}

// addFinding adds the finding f to c, the result of the check o, and sets the verdict of c
// accordingly. The argument v is the evaluation that contains f. If f is the first finding in c
// about its requirement, addFinding also appends the result for this requirement to violated. It
// returns the updated slice.
func addFinding(
	c *reports.Check, violated []reports.RequirementResult, o spec.PlannedCheck, v exchangeEvaluation, f Finding,
) []reports.RequirementResult {
	verdict := f.Level.FailureVerdict()
	c.Judged, c.Verdict = max(c.Judged, 1), max(c.Verdict, verdict)
	if len(c.Findings) < spec.MaxFindings {
		c.Findings = append(c.Findings, reports.Finding{
			Message: f.Message, Level: f.Level, Requirement: f.Requirement, Exchange: int(v.id), Request: v.request, Where: f.Where,
		})
	}
	if f.Requirement == "" || slices.Contains(c.Requirements, f.Requirement) {
		return violated
	}
	c.Requirements = append(c.Requirements, f.Requirement)
	i := slices.IndexFunc(o.Requirements, func(r spec.Requirement) bool { return r.ID == f.Requirement })
	result := reports.RequirementResults(o.Requirements[i:i+1], nil)[0]
	result.Verdict, result.Checks = verdict, []string{c.ID}
	return append(violated, result)
}

// newCheck returns the result of a check that has judged nothing yet: it has no findings, and its
// verdict is spec.Silent.
func newCheck(id, title string, level spec.Level) reports.Check {
	return reports.Check{ID: id, Title: title, Level: level, Findings: []reports.Finding{}, Requirements: []string{}}
}

// callChecks returns one check result for each expected call. The verdict of a result is failed if
// failures contains a failure of the call, and passed otherwise.
func (x Expectations) callChecks(failures []UnmetExpectation) (all []reports.Check) {
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

// WriteJSON writes the report to w as one line of JSON. It returns the first error from encoding
// the report or from writing to w.
func (o ClientTestReport) WriteJSON(w io.Writer) error {
	data, err := encodeJSON(o)
	if err == nil {
		_, err = w.Write(append(data, '\n'))
	}
	return err
}

// Text returns the report as text: a line for each finding and a last line with the verdict and the
// number of exchanges. If no requests were received, there is no last line, and the caller must say
// so.
func (o ClientTestReport) Text() string {
	var b strings.Builder
	for _, d := range o.Dialects {
		for _, c := range d.Checks {
			for _, f := range c.Findings {
				if f.Exchange == 0 {
					fmt.Fprintf(&b, "%s %s\n", c.Verdict, strings.TrimSuffix(f.Message, nothingReceived))
					continue
				}
				rule := c.ID
				if f.Requirement != "" {
					rule = f.Requirement
				}
				message := f.Message
				if !strings.HasPrefix(message, f.Where) {
					message = f.Where + ": " + message
				}
				fmt.Fprintf(&b, "%s %s %s: #%d %s: %s\n",
					f.Level.FailureVerdict(), f.Level, rule, f.Exchange, f.Request, message)
			}
		}
	}
	switch {
	case o.Exit == reports.ExitInconclusive:
	case o.Forgotten > 0:
		fmt.Fprintf(&b, "%s: %s, and %d older dropped from the journal\n",
			o.Verdict, printable.Count(o.Exchanges, "exchange"), o.Forgotten)
	default:
		fmt.Fprintf(&b, "%s: %s\n", o.Verdict, printable.Count(o.Exchanges, "exchange"))
	}
	return b.String()
}
