package suites

import (
	"context"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// timingChecks are the rules that a busy machine can make any target break, and what
// scenario is led for them: who listens late hears at once what was said in time.
var timingChecks = map[string]*spec.Check{"slow": rules.DeltasArriveIncrementally}

// maxTimingRetries is how often a scenario is played again before the clock is believed.
const maxTimingRetries = 4

// seedStride is how far apart the seeds of two attempts are.
const seedStride = 1 << 16

// retryTiming plays again, when nothing else of the target is being played, what the clock
// speaks against: it is held against the target only if it is so every time.
func (t *Target) retryTiming(ctx context.Context, parts []ScenarioResult) {
	for i := range parts {
		rule, timed := timingChecks[parts[i].Scenario.Name]
		for n := uint64(1); timed && n <= maxTimingRetries && t.failsTiming(parts[i], rule) && ctx.Err() == nil; n++ {
			parts[i] = t.playScenario(ctx, parts[i].Scenario, t.idSeed()+uint64(i)+1+n*seedStride)
		}
	}
}

// failsTiming says that a rule about time does not hold, or found nothing to judge in a telling
// that was whole: what was produced before anybody listened is found at once.
func (t *Target) failsTiming(p ScenarioResult, rule *spec.Check) bool {
	if p.Err != nil || p.IncompleteReason != nil || p.Trimmed || len(p.Trace.Exchanges) == 0 || !p.Trace.Scripted {
		return false
	}
	duty := spec.Plan{Obligations: []spec.Obligation{{Check: rule, Requirements: []spec.Requirement{{Level: spec.Must}}}}}
	events := t.Dialect.DecodeExchanges(p.Trace.All(), dialect.TargetInfo{Scripted: p.Trace.Scripted, StreamLimit: p.Trace.StreamLimit}, t.maxEventBytes())
	heard := spec.Run(duty, events, nil)
	verdict := heard.Results[0].Verdict
	return verdict == spec.Failed || verdict == spec.Silent && heard.Complete
}
