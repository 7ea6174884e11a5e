package suites

import (
	"context"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/rules"
)

// timingChecks maps a scenario to the check in it that may fail merely because the machine is busy:
// a client that reads late receives at once what the server sent over time.
var timingChecks = map[string]*spec.Check{"slow": rules.DeltasArriveIncrementally}

// maxTimingRetries is how often a scenario is replayed before a failed check of time is reported.
const maxTimingRetries = 4

// seedStride is the difference between the id seeds of two plays of one scenario. It exceeds the
// number of scenarios, so that no two plays share ids.
const seedStride = 1 << 16

// retryTiming replays each scenario whose check of time did not pass, up to [maxTimingRetries]
// times and one scenario at a time, and replaces its result in parts. So only a check that fails in
// all attempts is reported.
func (t *Target) retryTiming(ctx context.Context, parts []ScenarioResult) {
	for i := range parts {
		check, timed := timingChecks[parts[i].Scenario.Name]
		for n := uint64(1); timed && n <= maxTimingRetries && t.failsTiming(parts[i], check) && ctx.Err() == nil; n++ {
			parts[i] = t.playScenario(ctx, parts[i].Scenario, t.idSeed()+uint64(i)+1+n*seedStride)
		}
	}
}

// failsTiming reports whether a check of time fails in a scenario. A complete exchange that gave
// the check nothing to judge counts as a failure: all deltas had arrived before the client read the
// first.
func (t *Target) failsTiming(p ScenarioResult, check *spec.Check) bool {
	if p.Err != nil || p.IncompleteReason != nil || p.Trimmed || len(p.Trace.Exchanges) == 0 || !p.Trace.Scripted {
		return false
	}
	plan := spec.Plan{Obligations: []spec.Obligation{{Check: check, Requirements: []spec.Requirement{{Level: spec.Must}}}}}
	evaluation := spec.Run(plan, t.decode(p.Trace), nil)
	verdict := evaluation.Results[0].Verdict
	return verdict == spec.Failed || verdict == spec.Silent && evaluation.Complete
}
