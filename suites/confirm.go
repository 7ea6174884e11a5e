package suites

import (
	"context"
	"errors"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// What is played again to tell a finding that comes and goes.
const (
	confirmReplays        = 2               // how often each scenario
	maxConfirmedScenarios = 6               // how many scenarios
	maxQuickDuration      = 2 * time.Second // how long a scenario may have taken
)

// confirmFindings plays scenarios with findings again, with other ids, and notes how often each
// finding was made where that was not every time. The verdicts stay: a fault that comes
// and goes is a fault.
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

// A findingKey is what findings of several plays of a scenario are taken for the same by.
type findingKey struct{ check, requirement string }

// findingKeys returns the findings of a part.
func findingKeys(p ScenarioResult) map[findingKey]bool {
	all := map[findingKey]bool{}
	for _, r := range p.Evaluation.Results {
		for _, f := range r.Findings {
			all[findingKey{r.Obligation.Check.ID, r.Obligation.Requirement(f).ID}] = true
		}
	}
	return all
}

// markIntermittent notes which findings of a part were not made in all of its plays; seen counts the
// others than the first.
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

// isReplayable reports whether anything was found in a part that could be played, and is not too
// large to be played again.
func isReplayable(p ScenarioResult) bool {
	return p.Err == nil && p.IncompleteReason == nil && !p.Trimmed && len(findingKeys(p)) > 0
}

// isQuick reports whether a part took little time, and none of its exchanges ran out of it,
// or over a limit.
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
