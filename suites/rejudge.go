package suites

import (
	"fmt"
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// maxDifferences is the maximum number of differences that [Rejudge] lists. If there are more, one
// more line gives the number of the others.
const maxDifferences = 20

// Rejudge evaluates the stored recordings of the results of [Run] again. It returns the differences
// between the old and the new evaluations, one line each, or nil if they agree. The function read
// returns the stored recording of a result; if it returns an error, so does Rejudge. Since the same
// bytes must lead to the same verdicts, any difference is a bug of streamassay.
func Rejudge(
	t Target, parts []ScenarioResult, read func(ScenarioResult) (spec.Trace, error),
) (differences []string, err error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	again := make([]ScenarioResult, len(parts))
	for i, p := range parts {
		again[i] = ScenarioResult{Scenario: p.Scenario, Dialect: p.Dialect, Err: p.Err, IncompleteReason: p.IncompleteReason}
		t.isScripted = t.isScripted || p.Trace.Scripted
		if p.Trimmed { // the bytes are incomplete
			again[i] = p
			continue
		}
		if len(p.Trace.Exchanges) == 0 { // there is no recording
			continue
		}
		if again[i].Trace, err = read(p); err != nil {
			return nil, fmt.Errorf("the recording of %s %s cannot be read: %w", p.Dialect.Name, p.Scenario.Name, err)
		}
	}
	again = t.evaluateAll(again)
	for i, p := range parts {
		for _, d := range diffEvaluations(p.Evaluation, again[i].Evaluation) {
			differences = append(differences, fmt.Sprintf("%s %s: %s", p.Dialect.Name, p.Scenario.Name, d))
		}
	}
	if more := len(differences) - maxDifferences; more > 0 {
		differences = append(differences[:maxDifferences], fmt.Sprintf("… and %d more", more))
	}
	return differences, nil
}

// diffEvaluations returns the differences between a, the evaluation of a live conversation, and b,
// that of its recording, as one line each. It returns nil if they agree.
func diffEvaluations(a, b spec.Evaluation) (all []string) {
	if a.Complete != b.Complete {
		all = append(all, fmt.Sprintf(
			"an exchange is complete: %v when recorded, %v from the recording", a.Complete, b.Complete))
	}
	if len(a.Results) != len(b.Results) {
		return append(all, fmt.Sprintf("%d checks when recorded, %d from the recording", len(a.Results), len(b.Results)))
	}
	for i, r := range a.Results {
		if was, is := describeResult(r), describeResult(b.Results[i]); was != is {
			all = append(all, fmt.Sprintf("%s: %s when recorded, %s from the recording", r.Obligation.Check.ID, was, is))
			continue
		}
		for _, requirement := range r.Obligation.Requirements {
			if was, is := r.VerdictOn(requirement), b.Results[i].VerdictOn(requirement); was != is {
				all = append(all, fmt.Sprintf(
					"%s on %s: %s when recorded, %s from the recording", r.Obligation.Check.ID, requirement.ID, was, is))
			}
		}
	}
	return all
}

// describeResult returns a result in one line: its verdict, the number of judgements, its first
// findings and its note. Equal results have equal lines.
func describeResult(r spec.Result) string {
	s := fmt.Sprintf("%s of %d judgements", r.Verdict, r.Judged)
	for i, f := range r.Findings {
		if i == maxComparedFindings {
			s += fmt.Sprintf("; %d findings in all", len(r.Findings)+r.Dropped)
			break
		}
		s += fmt.Sprintf("; exchange %d, line %d: %.200s", f.Event.Exchange, f.Event.Line, f.Message)
	}
	if r.Note != "" {
		s += "; " + r.Note
	}
	return s
}

// maxComparedFindings is how many findings of a result are compared one by one. If a result has
// more findings, only the number of the others is compared.
const maxComparedFindings = 3

// timeResolution is the unit to which times are truncated in a recording.
const timeResolution = time.Microsecond

// truncateTimes truncates the times in t to [timeResolution], in place, and returns t. A
// conversation and its recording then get the same verdicts. It does not round, because rounding
// could change the order of arrivals and requests.
func truncateTimes(t spec.Trace) spec.Trace {
	for i := range t.Exchanges {
		x := &t.Exchanges[i]
		x.At = x.At.Truncate(timeResolution)
		x.Response.Arrivals = slices.Clone(x.Response.Arrivals)
		for k := range x.Response.Arrivals {
			x.Response.Arrivals[k].At = x.Response.Arrivals[k].At.Truncate(timeResolution)
		}
	}
	return t
}
