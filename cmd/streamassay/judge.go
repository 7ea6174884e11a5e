package main

import (
	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/suites"
)

// dialectReport is what the parts of one dialect came to. base is what the
// requests of a reproduction begin with; file names the transcript of a part.
func dialectReport(parts []suites.Part, catalogue []spec.Requirement, name, base string, file func(suites.Part) string) reports.Dialect {
	d := reports.Dialect{Dialect: name}
	var results []spec.Result
	for _, p := range parts {
		for _, r := range p.Hearing.Results {
			results = append(results, r)
			c := reports.Entry(p.Scenario.Name, r)
			c.Curl = reproduce(base, p, r)
			c.Transcript = file(p)
			d.Checks = append(d.Checks, c)
		}
	}
	d.Requirements = reports.Requirements(catalogue, results)
	return d
}

// reproduce is the request that shows a result: that of its first finding, or the
// first one.
func reproduce(base string, p suites.Part, r spec.Result) string {
	i := 0
	if len(r.Findings) > 0 {
		i = r.Findings[0].Event.Exchange
	}
	if i >= len(p.Trace.Exchanges) || p.Trace.Exchanges[i].Request.Method == "" {
		return ""
	}
	return reports.Curl(base, p.Trace.Exchanges[i].Request)
}
