package suites

import (
	"context"
	"slices"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// A timingCheck is a check that may fail, or have nothing to judge, in a scenario merely because the
// machine is busy.
type timingCheck struct {
	check   *spec.Check
	retries uint64 // maximum number of times that the scenario is replayed

	// If not nil, the scenario is replayed only if the check has nothing to judge although this one
	// has. Otherwise it is also replayed if the check fails.
	precondition *spec.Check
}

// timingChecks maps the name of a scenario to its timing check. A client that reads late receives at
// once what the server sent over time, and one that sends late cancels a run when the other has ended.
var timingChecks = map[string]timingCheck{
	"slow":     {rules.DeltasArriveIncrementally, maxTimingRetries, nil},
	"together": {rules.CancelAffectsNamedRunOnly, 1, rules.CancelEndsRun},
}

// maxTimingRetries is the largest number of retries in [timingChecks].
const maxTimingRetries = 4

// seedStride is the difference between the id seeds of two plays of one scenario. It exceeds the
// number of scenarios, so that no two plays share ids.
const seedStride = 1 << 16

// retryTiming replays each scenario whose timing check did not pass, one scenario at a time, and
// replaces its result in parts. A timing check is therefore reported only if it fails in all attempts.
func (t *Target) retryTiming(ctx context.Context, parts []ScenarioResult) {
	for i := range parts {
		c := timingChecks[parts[i].Scenario.Name]
		for n := uint64(1); n <= c.retries && t.failsTiming(&parts[i], c) && ctx.Err() == nil; n++ {
			parts[i] = t.playScenario(ctx, parts[i].Scenario, t.idSeed()+uint64(i)+1+n*seedStride)
		}
	}
}

// failsTiming reports whether the timing check c has findings in the conversation of p, which it
// evaluates if needed, or had nothing to judge although an exchange is complete: all deltas had then
// arrived before the client read the first. With a precondition, only the latter counts. It returns
// false if the check is not selected or the conversation cannot be judged.
func (t *Target) failsTiming(p *ScenarioResult, c timingCheck) bool {
	if p.Err != nil || p.IncompleteReason != nil || p.Trimmed || len(p.Trace.Exchanges) == 0 || !p.Trace.Scripted {
		return false
	}
	t.evaluateOnce(p)
	hasJudged := func(check *spec.Check) bool {
		return slices.ContainsFunc(p.Evaluation.Results, func(r spec.Result) bool {
			return r.Obligation.Check == check && r.Judged > 0
		})
	}
	isExpected := p.Evaluation.Complete && (c.precondition == nil || hasJudged(c.precondition))
	return slices.ContainsFunc(p.Evaluation.Results, func(r spec.Result) bool {
		return r.Obligation.Check == c.check && (len(r.Findings) > 0 && c.precondition == nil || r.Judged == 0 && isExpected)
	})
}
