package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/suites"
)

// A dialectReportBuilder builds, from the results of scenarios, the part of a report that is about
// one dialect.
type dialectReportBuilder struct {
	target     suites.Target                      // the target, for the dialect that the part is about
	base       string                             // base URL in curl commands
	transcript func(suites.ScenarioResult) string // returns the path of the transcript; "" means none
	rerun      func(suites.ScenarioResult) string // returns a command that plays the scenario again; "" means none
}

// dialectReport returns the part of the report that is about one dialect, t.target.Dialect. The
// argument parts holds the results of all scenarios in that dialect.
func (t dialectReportBuilder) dialectReport(parts []suites.ScenarioResult) reports.DialectResults {
	d := reports.DialectResults{Dialect: t.target.Dialect.Name}
	why := suites.Diagnose(t.target, parts)
	for _, c := range why.Causes {
		d.Causes = append(d.Causes, t.reportCause(c, parts))
	}
	var results []spec.CheckResult
	merged := map[string]int{} // check id → index in d.Checks of the entry of all combinations without findings
	for i, p := range parts {
		shown := t.atEndpoint(p.Trace)
		for k, r := range p.Evaluation.Results {
			results = append(results, r)
			if suites.IsCombination(p.Scenario.Name) && (r.Verdict == spec.Passed || r.Verdict == spec.Silent) {
				id := r.PlannedCheck.Check.ID
				if n, ok := merged[id]; ok {
					d.Checks[n].Judged += r.Judged
					d.Checks[n].Verdict = max(d.Checks[n].Verdict, r.Verdict)
					continue
				}
				merged[id] = len(d.Checks)
				d.Checks = append(d.Checks, reports.NewCheckResult("combinations", t.base, spec.Trace{}, r))
				continue
			}
			c := reports.NewCheckResult(p.Scenario.Name, t.base, shown, r)
			c.Curl = t.reproduceCommand(p, r)
			c.Transcript = t.transcript(p)
			if len(p.Trace.Exchanges) > 0 {
				c.Rerun = t.rerun(p)
			}
			if n, ok := why.CauseOf(i, k); ok {
				c.Cause = &n
			}
			if capability, ok := suites.MissingCapability(p, r); ok {
				c.Advice = fmt.Sprintf("if the target does not have this operation, add --lacks %s", capability)
			}
			if len(t.target.OtherHeader) > 0 && suites.RejectsOtherUser(p, r) {
				c.Advice = "check the value of --other-header: the server replies to every request of that user with status 401"
			}
			d.Checks = append(d.Checks, c)
		}
	}
	d.Requirements = reports.RequirementResults(t.target.Dialect.Requirements, results)
	return d
}

// reportCause converts the cause c for the report. It adds the request and the response that show
// the cause, if there are any. The argument parts holds the results of all scenarios.
func (t dialectReportBuilder) reportCause(c suites.Cause, parts []suites.ScenarioResult) reports.Cause {
	shown := reports.Cause{
		Kind: c.Kind, Message: c.Message, Advice: c.Advice, Fatal: c.Fatal, Scenario: c.Scenario, Consequences: c.Checks,
	}
	for _, p := range parts {
		if p.Scenario.Name != c.Scenario || c.Exchange < 0 || c.Exchange >= len(p.Trace.Exchanges) {
			continue
		}
		shown.Exchange = &c.Exchange
		x := p.Trace.Exchanges[c.Exchange]
		shown.Operation = c.Operation
		x.Request = t.target.Dialect.AtEndpoint(x.Request)
		shown.Request, shown.Response = reports.RequestText(t.base, x.Request), reports.ResponseText(x.Response, true)
		if x.Request.Method != "" {
			shown.Curl = t.curl(x.Request)
		} else if x.Response.Status > 0 && x.Response.Header.MediaType() != spec.EventStream {
			shown.Message += " (the request is assumed)"
			shown.Advice = adviceOnRequest(c, p.Scenario.Doc)
		}
		break
	}
	return shown
}

// adviceOnRequest returns the advice for c, a cause whose evidence is an exchange in the recording
// file without its request: the request may not have been the one that was assumed.
func adviceOnRequest(c suites.Cause, file string) string {
	name, isHTTP := strings.CutSuffix(file, ".http")
	if !isHTTP {
		name = "NAME"
	}
	advice := fmt.Sprintf("the request was not recorded: if it was not %s, describe it in %s.request.json "+
		"(see streamassay lint --help)", c.Operation, name)
	if c.Advice != "" {
		advice += "; if it was, " + c.Advice
	}
	return advice
}

// atEndpoint returns a copy of trace in which the target of each request is relative to the
// endpoint (see [dialect.Dialect.AtEndpoint]). If the base URL of the dialect is not an endpoint,
// it returns trace unchanged.
func (t dialectReportBuilder) atEndpoint(trace spec.Trace) spec.Trace {
	if t.target.Dialect.IsEndpoint {
		trace.Exchanges = slices.Clone(trace.Exchanges)
		for i := range trace.Exchanges {
			trace.Exchanges[i].Request = t.target.Dialect.AtEndpoint(trace.Exchanges[i].Request)
		}
	}
	return trace
}

// reproduceCommand returns a curl command that reproduces r, a result of a check in p. The command
// sends the request to which the first finding of r refers or, if r has no findings, the first
// request of the scenario. The result is "" if that request was not recorded.
func (t dialectReportBuilder) reproduceCommand(p suites.ScenarioResult, r spec.CheckResult) string {
	i := 0
	if len(r.Findings) > 0 {
		i = r.Findings[0].Event.Exchange
	}
	if i >= len(p.Trace.Exchanges) || p.Trace.Exchanges[i].Request.Method == "" {
		return ""
	}
	return t.curl(t.target.Dialect.AtEndpoint(p.Trace.Exchanges[i].Request))
}

// curl returns a curl command that sends r. It adds the header fields of t.target that r does not
// have, unless the request target of r is a URL, such as a signed URL that the server issued.
func (t dialectReportBuilder) curl(r spec.Request) string {
	header := slices.Clone(r.Header)
	if !strings.Contains(r.Target, "://") {
		for _, f := range t.target.RedactedHeader(r.Principal) {
			if !r.Header.Has(f.Name) {
				header = append(header, f)
			}
		}
	}
	r.Header = header
	return reports.Curl(t.base, r)
}
