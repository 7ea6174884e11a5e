package suites

import (
	"context"
	"errors"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// Limits of the replays that detect intermittent findings.
const (
	confirmReplays        = 2               // of each scenario
	maxConfirmedScenarios = 6               // that are replayed
	maxQuickDuration      = 2 * time.Second // of a scenario that is replayed
)

// confirmFindings replays scenarios that have findings, with other ids, and marks the findings that
// do not occur each time with how often they do. Verdicts stay: an intermittent violation is
// one.
func (t *Target) confirmFindings(ctx context.Context, parts []ScenarioResult) {
	left := maxConfirmedScenarios
	for i, p := range parts {
		if !isReplayable(p) || !isQuick(p) {
			continue
		}
		if left--; left < 0 {
			return
		}
		seen, plays := map[findingKey]int{}, 1
		for n := range uint64(confirmReplays) {
			again := t.playScenario(ctx, p.Scenario, t.idSeed()+uint64(i)+1+(maxTimingRetries+1+n)*seedStride)
			if ctx.Err() != nil || again.Err != nil || again.IncompleteReason != nil {
				break
			}
			plays++
			for key := range findingKeys(t.evaluateAll([]ScenarioResult{again})[0]) {
				seen[key]++
			}
		}
		if plays > 1 {
			markIntermittent(p, seen, plays)
		}
	}
}

// A findingKey identifies findings of several plays of a scenario as the same one.
type findingKey struct{ check, requirement string }

// findingKeys returns the keys of the findings in a result.
func findingKeys(p ScenarioResult) map[findingKey]bool {
	all := map[findingKey]bool{}
	for _, r := range p.Evaluation.Results {
		for _, f := range r.Findings {
			all[findingKey{r.Obligation.Check.ID, r.Obligation.Requirement(f).ID}] = true
		}
	}
	return all
}

// markIntermittent marks the findings that do not occur in all plays. seen counts how often they
// occur in the replays.
func markIntermittent(p ScenarioResult, seen map[findingKey]int, plays int) {
	for _, r := range p.Evaluation.Results {
		for k := range r.Findings {
			f := &r.Findings[k]
			if n := 1 + seen[findingKey{r.Obligation.Check.ID, r.Obligation.Requirement(*f).ID}]; n < plays {
				f.Seen, f.Plays = n, plays
			}
		}
	}
}

// isReplayable reports whether a scenario was played completely, has findings and is not too large
// to be replayed.
func isReplayable(p ScenarioResult) bool {
	return p.Err == nil && p.IncompleteReason == nil && !p.Trimmed && len(findingKeys(p)) > 0
}

// isQuick reports whether a scenario took at most [maxQuickDuration] and no exchange exceeded a
// limit.
func isQuick(p ScenarioResult) bool {
	took := time.Duration(0)
	for _, x := range p.Trace.Exchanges {
		if errors.Is(x.Response.End, spec.ErrIdleTimeout) || errors.Is(x.Response.End, spec.ErrLimitExceeded) {
			return false
		}
		took = max(took, x.At)
		if reads := x.Response.Arrivals; len(reads) > 0 {
			took = max(took, x.At+reads[len(reads)-1].At)
		}
	}
	return took <= maxQuickDuration
}
