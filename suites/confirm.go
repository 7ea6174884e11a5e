package suites

import (
	"context"
	"errors"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// Limits on the replays that distinguish intermittent findings from constant ones. They limit the
// time that replays add to a test run with many findings.
const (
	confirmReplays        = 2               // number of replays of each scenario
	maxConfirmedScenarios = 6               // maximum number of scenarios that are replayed
	maxQuickDuration      = 2 * time.Second // scenarios that took longer are not replayed
)

// confirmFindings replays scenarios that have findings, each time with new thread and run ids. It
// marks the findings that do not occur in every replay as intermittent; see markIntermittent. It
// replays at most [maxConfirmedScenarios] scenarios, and only those for which isReplayable and
// isQuick return true. Verdicts do not change: a violation that occurs only once is still a
// violation.
func (t *Target) confirmFindings(ctx context.Context, parts []ScenarioResult) {
	left := maxConfirmedScenarios
	for i, p := range parts {
		if !t.isReplayable(p) || !isQuick(p) {
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
			for _, id := range t.findingIDs(&t.evaluateAll([]ScenarioResult{again})[0]) {
				seen[id]++
			}
		}
		if plays > 1 {
			markIntermittent(p, seen, plays)
		}
	}
}

// markIntermittent sets the fields Seen and Plays of the findings in p that did not occur in every
// play of the scenario. Seen is the number of plays in which the finding occurred. The argument
// seen maps each finding to the number of replays in which it occurred, and plays is the number of
// replays plus 1, for the original play.
func markIntermittent(p ScenarioResult, seen map[findingKey]int, plays int) {
	for _, r := range p.Evaluation.Results {
		for k := range r.Findings {
			f := &r.Findings[k]
			if n := 1 + seen[idOf(r, *f)]; n < plays {
				f.Seen, f.Plays = n, plays
			}
		}
	}
}

// isReplayable reports whether a replay can confirm the findings in p. It returns false if there
// are no findings, if the scenario was not completed, or if its recording was trimmed.
func (t *Target) isReplayable(p ScenarioResult) bool {
	return p.Err == nil && p.IncompleteReason == nil && !p.Trimmed && len(t.findingIDs(&p)) > 0
}

// isQuick reports whether the scenario of p took at most [maxQuickDuration]. It returns false if a
// response exceeded the time-out or a size limit, or if a stream stayed open too long after the end
// of its run.
func isQuick(p ScenarioResult) bool {
	took := time.Duration(0)
	for _, x := range p.Trace.Exchanges {
		if errors.Is(x.Response.End, spec.ErrIdleTimeout) || errors.Is(x.Response.End, spec.ErrLimitExceeded) ||
			errors.Is(x.Response.End, spec.ErrStillOpen) {
			return false
		}
		took = max(took, x.At)
		if reads := x.Response.Arrivals; len(reads) > 0 {
			took = max(took, x.At+reads[len(reads)-1].At)
		}
	}
	return took <= maxQuickDuration
}
