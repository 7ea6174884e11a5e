package suites

import (
	"context"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/rules"
)

// timingChecks maps scenarios to checks of time that may fail because the machine is busy: a client
// that is late reads at once what was sent in time.
var timingChecks = map[string]*spec.Check{"slow": rules.DeltasArriveIncrementally}

// maxTimingRetries is how often a scenario is replayed before a failure of time counts.
const maxTimingRetries = 4

// seedStride is the difference between the seeds of two attempts.
const seedStride = 1 << 16

// retryTiming replays the scenarios whose check of time does not pass, one at a time. Only a failure
// in all attempts remains.
func (t *Target) retryTiming(ctx context.Context, parts []ScenarioResult) {
	for i := range parts {
		check, timed := timingChecks[parts[i].Scenario.Name]
		for n := uint64(1); timed && n <= maxTimingRetries && t.failsTiming(parts[i], check) && ctx.Err() == nil; n++ {
			parts[i] = t.playScenario(ctx, parts[i].Scenario, t.idSeed()+uint64(i)+1+n*seedStride)
		}
	}
}

// failsTiming reports whether a check of time fails, or was not exercised by a complete exchange:
// then all deltas had arrived before the client read the first.
func (t *Target) failsTiming(p ScenarioResult, check *spec.Check) bool {
	if p.Err != nil || p.IncompleteReason != nil || p.Trimmed || len(p.Trace.Exchanges) == 0 || !p.Trace.Scripted {
		return false
	}
	plan := spec.Plan{Obligations: []spec.Obligation{{Check: check, Requirements: []spec.Requirement{{Level: spec.Must}}}}}
	evaluation := spec.Run(plan, t.decode(p.Trace), nil)
	verdict := evaluation.Results[0].Verdict
	return verdict == spec.Failed || verdict == spec.Silent && evaluation.Complete
}
