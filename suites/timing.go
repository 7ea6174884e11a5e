package suites

import (
	"context"
	"slices"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// timingChecks maps the name of a scenario to the check that may fail in it merely because the
// machine is busy. A client that reads late receives at once what the server sent over time.
var timingChecks = map[string]*spec.Check{"slow": rules.DeltasArriveIncrementally}

// maxTimingRetries is the maximum number of times that a scenario is replayed before its failed
// timing check is reported.
const maxTimingRetries = 4

// seedStride is the difference between the id seeds of two plays of one scenario. It exceeds the
// number of scenarios, so that no two plays share ids.
const seedStride = 1 << 16

// retryTiming replays each scenario whose timing check did not pass, up to [maxTimingRetries] times
// and one scenario at a time, and replaces its result in parts. A timing check is therefore
// reported only if it fails in all attempts.
func (t *Target) retryTiming(ctx context.Context, parts []ScenarioResult) {
	for i := range parts {
		check, timed := timingChecks[parts[i].Scenario.Name]
		for n := uint64(1); timed && n <= maxTimingRetries && t.failsTiming(&parts[i], check) && ctx.Err() == nil; n++ {
			parts[i] = t.playScenario(ctx, parts[i].Scenario, t.idSeed()+uint64(i)+1+n*seedStride)
		}
	}
}

// failsTiming reports whether the given timing check has findings in the conversation of p, which it
// evaluates if needed. It also returns true if the check had nothing to judge although an exchange
// is complete: all deltas had then arrived before the client read the first. It returns false if
// the check is not selected or the conversation cannot be judged.
func (t *Target) failsTiming(p *ScenarioResult, check *spec.Check) bool {
	if p.Err != nil || p.IncompleteReason != nil || p.Trimmed || len(p.Trace.Exchanges) == 0 || !p.Trace.Scripted {
		return false
	}
	t.evaluateOnce(p)
	return slices.ContainsFunc(p.Evaluation.Results, func(r spec.Result) bool {
		return r.Obligation.Check == check && (len(r.Findings) > 0 || r.Judged == 0 && p.Evaluation.Complete)
	})
}
