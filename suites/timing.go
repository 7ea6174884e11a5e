package suites

import (
	"context"
	"slices"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// A timingSensitiveCheck holds a check that may fail in a scenario, or have nothing to judge,
// merely because the machine is busy. In that case, the scenario is replayed.
type timingSensitiveCheck struct {
	check   *spec.Check
	retries uint64 // maximum number of times that the scenario is replayed

	// If precondition is nil, the scenario is replayed if the check fails or has nothing to judge.
	// Otherwise it is replayed only if the check had nothing to judge although precondition had.
	precondition *spec.Check
}

// timingChecks maps the name of a scenario to its timing check. A busy client may read so late that
// an event seems late, or that events seem to arrive at once although the server sent them one by
// one. It may also cancel a run so late that another run has already ended.
var timingChecks = map[string]timingSensitiveCheck{
	"idle":     {rules.ScriptIdle, 1, nil},
	"slow":     {rules.DeltasArriveIncrementally, maxTimingRetries, nil},
	"together": {rules.CancelAffectsNamedRunOnly, 1, rules.CancelEndsRun},
}

// maxTimingRetries is the largest number of retries in [timingChecks].
const maxTimingRetries = 4

// seedStride is the difference between the id seeds of two successive plays of one scenario. It is
// greater than the number of scenarios, so that no two plays share ids.
const seedStride = 1 << 16

// retryTiming replays each scenario in parts whose timing check did not pass, one scenario at a
// time, and replaces its result in parts. A failure of a timing check is therefore reported only if
// all attempts fail. Then it does the same with all other scenarios in which deltas arrived late
// (see [Target.retryLateDeltas]), until the deltas of one scenario are late in all attempts.
func (t *Target) retryTiming(ctx context.Context, parts []ScenarioResult) {
	replay := func(i int, n uint64) ScenarioResult {
		return t.playScenario(ctx, parts[i].Scenario, t.idSeed()+uint64(i)+1+n*seedStride)
	}
	t.evaluateEach(parts)
	isLate := false
	for i := range parts {
		c := timingChecks[parts[i].Scenario.Name]
		for n := uint64(1); n <= c.retries && t.failsTiming(&parts[i], c) && ctx.Err() == nil; n++ {
			parts[i] = replay(i, n)
		}
		isLate = isLate || c.check == rules.DeltasArriveIncrementally && t.hasLateDeltas(&parts[i])
	}
	for i := range parts {
		if isLate {
			return
		}
		isLate = t.retryLateDeltas(ctx, &parts[i], func(n uint64) ScenarioResult { return replay(i, n) })
	}
}

// retryLateDeltas replays the conversation of p as long as deltas arrive late in it, but at most
// [maxTimingRetries] times. It replaces p with the result of the last replay, and reports whether
// deltas arrive late in that result, too. If p has a finding of another check, which a replay might
// lose, it does nothing and returns false. The function play must play the conversation with new
// ids while no other conversation is played. Its argument counts the calls from 1.
func (t *Target) retryLateDeltas(
	ctx context.Context, p *ScenarioResult, play func(n uint64) ScenarioResult,
) (isLate bool) {
	isOther := func(id findingKey) bool { return id.check != rules.DeltasArriveIncrementally.ID }
	if slices.ContainsFunc(t.findingIDs(p), isOther) {
		return false
	}
	for n := uint64(1); n <= maxTimingRetries && t.hasLateDeltas(p) && ctx.Err() == nil; n++ {
		*p = play(n)
	}
	return t.hasLateDeltas(p)
}

// hasLateDeltas reports whether [rules.DeltasArriveIncrementally] fails in the conversation of p.
// It evaluates p if needed.
func (t *Target) hasLateDeltas(p *ScenarioResult) bool {
	t.evaluateOnce(p)
	return slices.ContainsFunc(p.Evaluation.Results, func(r spec.Result) bool {
		return r.Obligation.Check == rules.DeltasArriveIncrementally && len(r.Findings) > 0
	})
}

// failsTiming reports whether the scenario of p must be replayed because of the timing check c.
// That is the case if the check has findings, unless c has a precondition. It is also the case if
// the check had nothing to judge although at least one exchange is complete and the precondition,
// if any, judged something. failsTiming evaluates p if needed. It returns false if the check is not
// selected, the agent is not scripted, or the conversation is empty, incomplete or trimmed.
func (t *Target) failsTiming(p *ScenarioResult, c timingSensitiveCheck) bool {
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
