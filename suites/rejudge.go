package suites

import (
	"fmt"
	"slices"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// MaxDifferences bounds what [Again] tells of one target.
const MaxDifferences = 20

// Rejudge judges parts that [Hear] has judged once more, each from what read makes of its
// conversation, and says what came out differently: the same bytes have to give the same
// verdicts, or the harness itself is flaky. The error says what could not be read.
func Rejudge(t Target, parts []ScenarioResult, read func(ScenarioResult) (spec.Trace, error)) (differences []string, err error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	again := make([]ScenarioResult, len(parts))
	for i, p := range parts {
		again[i] = ScenarioResult{Scenario: p.Scenario, Dialect: p.Dialect, Err: p.Err, IncompleteReason: p.IncompleteReason}
		t.isScripted = t.isScripted || p.Trace.Scripted
		if p.Trimmed { // of its bytes only the beginnings are left
			again[i] = p
			continue
		}
		if len(p.Trace.Exchanges) == 0 { // nobody has recorded it
			continue
		}
		if again[i].Trace, err = read(p); err != nil {
			return nil, fmt.Errorf("what was recorded of %s %s cannot be read: %w", p.Dialect.Name, p.Scenario.Name, err)
		}
	}
	again = t.evaluateAll(again)
	for i, p := range parts {
		for _, d := range diffEvaluations(p.Evaluation, again[i].Evaluation) {
			differences = append(differences, fmt.Sprintf("%s %s: %s", p.Dialect.Name, p.Scenario.Name, d))
		}
	}
	if more := len(differences) - MaxDifferences; more > 0 {
		differences = append(differences[:MaxDifferences], fmt.Sprintf("… and %d more", more))
	}
	return differences, nil
}

// diffEvaluations says in what two hearings of one conversation differ.
func diffEvaluations(a, b spec.Evaluation) (all []string) {
	if a.Complete != b.Complete {
		all = append(all, fmt.Sprintf("an exchange was whole: %v when it was recorded, %v from its bytes", a.Complete, b.Complete))
	}
	if len(a.Results) != len(b.Results) {
		return append(all, fmt.Sprintf("%d checks when it was recorded, %d from its bytes", len(a.Results), len(b.Results)))
	}
	for i, r := range a.Results {
		if was, is := describeResult(r), describeResult(b.Results[i]); was != is {
			all = append(all, fmt.Sprintf("%s: %s when it was recorded, %s from its bytes", r.Obligation.Check.ID, was, is))
			continue
		}
		for _, law := range r.Obligation.Requirements {
			if was, is := r.VerdictOn(law), b.Results[i].VerdictOn(law); was != is {
				all = append(all, fmt.Sprintf("%s on %s: %s when it was recorded, %s from its bytes", r.Obligation.Check.ID, law.ID, was, is))
			}
		}
	}
	return all
}

// describeResult is a result in a line: all that a report says of it.
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

// maxComparedFindings is how many findings of a result are compared word for word.
const maxComparedFindings = 3

// timeResolution is how exactly a recording holds times.
const timeResolution = time.Microsecond

// truncateTimes is a trace with the times that a recording can hold, cut and not rounded: what
// came before a request comes before it still when times are added up. So the verdict on
// a conversation is the one that its recording gets.
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
