package suites

import (
	"fmt"
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// maxDifferences is the maximum number of differences that [Rejudge] returns.
const maxDifferences = 20

// Rejudge evaluates recordings a second time. The argument parts contains results of [Run]. Rejudge
// returns the differences between the old and the new evaluations, one line each, or nil if there
// are none. If there are more than 20 differences, it returns the first 20 and a line with the
// number of the others. A difference is a bug in streamassay, because the same recording must lead
// to the same verdicts.
//
// Rejudge calls read to obtain the stored recording of each result. It does not evaluate results
// that are trimmed or have no exchanges. It returns an error if t is invalid, or an error that
// wraps the one from read.
func Rejudge(
	t Target, parts []ScenarioResult, read func(ScenarioResult) (spec.Trace, error),
) (differences []string, err error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	again := make([]ScenarioResult, len(parts))
	for i, p := range parts {
		again[i] = ScenarioResult{Scenario: p.Scenario, Dialect: p.Dialect, Err: p.Err, IncompleteReason: p.IncompleteReason}
		t.isScripted, t.noReplay = t.isScripted || p.Trace.Scripted, t.noReplay || p.Trace.NoReplay
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
// the evaluation of its recording, one line each. It returns nil if there are none.
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
			all = append(all, fmt.Sprintf("%s: %s when recorded, %s from the recording", r.PlannedCheck.Check.ID, was, is))
			continue
		}
		for _, requirement := range r.PlannedCheck.Requirements {
			if was, is := r.VerdictOn(requirement), b.Results[i].VerdictOn(requirement); was != is {
				all = append(all, fmt.Sprintf(
					"%s on %s: %s when recorded, %s from the recording", r.PlannedCheck.Check.ID, requirement.ID, was, is))
			}
		}
	}
	return all
}

// describeResult returns a description of a result in one line, which diffEvaluations compares. It
// contains the verdict, the number of judgements, the first [maxComparedFindings] findings and the
// note. If there are more findings, it also contains their total number.
func describeResult(r spec.CheckResult) string {
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

// maxComparedFindings is the maximum number of findings in the result of describeResult.
const maxComparedFindings = 3

// timeResolution is the resolution of times in a recording.
const timeResolution = time.Microsecond

// truncateTimes truncates the times in t to [timeResolution] and returns t, so that a conversation
// and its recording lead to the same verdicts. It modifies the exchanges in place, but gives
// them new slices of arrivals, because the old ones may be in use elsewhere.
func truncateTimes(t spec.Trace) spec.Trace { // rounding could change the order of arrivals and requests
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
