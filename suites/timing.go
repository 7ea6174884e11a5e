package suites

import (
	"context"
	"slices"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// A timingSensitiveCheck describes a check that may fail in a scenario, or judge nothing, because
// the machine is busy. The scenario is then replayed.
type timingSensitiveCheck struct {
	check   *spec.Check
	retries uint64 // maximum number of times that the scenario is replayed

	// The scenario is replayed if the check judges nothing although precondition judges something.
	// If precondition is nil, it is replayed if the check judges nothing or fails.
	precondition *spec.Check
}

// timingChecks maps the name of a scenario to its timing check. On a busy machine, the client may
// read so late that several events seem to arrive at the same time, or cancel a run so late that
// another run has already ended. A server may need longer than the time-out to send a long stream
// while many other streams are open.
var timingChecks = map[string]timingSensitiveCheck{
	"idle":     {rules.ScriptIdle, 1, nil},
	"many":     {rules.ResponseEnds, 1, nil},
	"slow":     {rules.DeltasArriveIncrementally, maxTimingRetries, nil},
	"together": {rules.CancelAffectsNamedRunOnly, 1, rules.CancelEndsRun},
}

// maxTimingRetries is the largest number of retries in [timingChecks].
const maxTimingRetries = 4

// seedStride is the difference between the seeds of ids in successive plays of a scenario. It is
// greater than the number of scenarios, so that all seeds are different.
const seedStride = 1 << 16

// retryTiming replays each scenario in parts that [timingChecks] contains, as often as it allows
// and as long as [Target.failsTiming] returns true, and replaces the result in parts. A failure is
// therefore reported only if all attempts fail. Then, unless the deltas of one of these scenarios
// are still late, retryTiming calls [Target.retryLateDeltas] for each result in parts, until a call
// returns true. If ctx is done before that, it removes the findings that no replay has confirmed.
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
		if ctx.Err() != nil {
			parts[i].dropFindings(c.check, "interrupted before the scenario could be repeated")
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

// retryLateDeltas replays the conversation of p if its deltas arrive late, at most
// [maxTimingRetries] times. It stops at the first replay whose deltas do not arrive late, and
// replaces p with its result. However, if p has findings of other checks, which the replay might
// not have, it keeps p and removes only the findings about late deltas. isLate is true if the
// deltas of p arrive late and there was no such replay.
//
// The function play must play the conversation with new ids, without concurrent conversations. Its
// argument is 1 in the first call and increases with each call.
func (t *Target) retryLateDeltas(
	ctx context.Context, p *ScenarioResult, play func(n uint64) ScenarioResult,
) (isLate bool) {
	if !t.hasLateDeltas(p) {
		return false
	}
	isOther := func(id findingKey) bool { return id.check != rules.DeltasArriveIncrementally.ID }
	for n := uint64(1); n <= maxTimingRetries && ctx.Err() == nil; n++ {
		switch again := play(n); {
		case t.hasLateDeltas(&again) || !judgesDeltas(&again):
		case slices.ContainsFunc(t.findingIDs(p), isOther):
			p.dropFindings(rules.DeltasArriveIncrementally,
				"deltas arrived late at first, but not when the scenario was repeated")
			return false
		default:
			*p = again
			return false
		}
	}
	if ctx.Err() != nil {
		p.dropFindings(rules.DeltasArriveIncrementally, "interrupted before the scenario could be repeated")
		return false
	}
	return true
}

// dropFindings makes the result of check in p silent for the given reason if it has findings.
func (p *ScenarioResult) dropFindings(check *spec.Check, reason string) {
	for i := range p.Evaluation.Results {
		if r := &p.Evaluation.Results[i]; r.PlannedCheck.Check == check && len(r.Findings) > 0 {
			r.Overrule(spec.Silent, reason)
			r.Findings, r.Judged = nil, 0
		}
	}
}

// hasLateDeltas reports whether [rules.DeltasArriveIncrementally] has findings in p. It evaluates p
// if that has not been done before.
func (t *Target) hasLateDeltas(p *ScenarioResult) bool {
	t.evaluateOnce(p)
	return hasDeltaResult(p, func(r spec.CheckResult) bool { return len(r.Findings) > 0 })
}

// judgesDeltas reports whether [rules.DeltasArriveIncrementally] judged anything in p, which must
// have been evaluated.
func judgesDeltas(p *ScenarioResult) bool {
	return hasDeltaResult(p, func(r spec.CheckResult) bool { return r.Judged > 0 })
}

// hasDeltaResult reports whether p has a result of [rules.DeltasArriveIncrementally] for which
// matches returns true.
func hasDeltaResult(p *ScenarioResult, matches func(spec.CheckResult) bool) bool {
	return slices.ContainsFunc(p.Evaluation.Results, func(r spec.CheckResult) bool {
		return r.PlannedCheck.Check == rules.DeltasArriveIncrementally && matches(r)
	})
}

// failsTiming reports whether a replay of the scenario of p is needed because of c; see
// [timingSensitiveCheck]. It returns false if the check is not selected, if the agent does not
// follow the test prompts (docs/prompts.md), or if the conversation is empty, incomplete or
// trimmed. It evaluates p if that has not been done before.
func (t *Target) failsTiming(p *ScenarioResult, c timingSensitiveCheck) bool {
	if p.Err != nil || p.IncompleteReason != nil || p.Trimmed || len(p.Trace.Exchanges) == 0 || !p.Trace.Scripted {
		return false
	}
	t.evaluateOnce(p)
	hasJudged := func(check *spec.Check) bool {
		return slices.ContainsFunc(p.Evaluation.Results, func(r spec.CheckResult) bool {
			return r.PlannedCheck.Check == check && r.Judged > 0
		})
	}
	isExpected := p.Evaluation.Complete && (c.precondition == nil || hasJudged(c.precondition))
	return slices.ContainsFunc(p.Evaluation.Results, func(r spec.CheckResult) bool {
		return r.PlannedCheck.Check == c.check &&
			(len(r.Findings) > 0 && c.precondition == nil || r.Judged == 0 && isExpected)
	})
}
