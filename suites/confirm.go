package suites

import (
	"context"
	"errors"
	"time"

	"github.com/streamassay/streamassay/spec"
)

// What is played again to tell a finding that comes and goes.
const (
	replays      = 2               // how often each scenario
	maxConfirmed = 6               // how many scenarios
	maxQuick     = 2 * time.Second // how long a scenario may have taken
)

// confirm plays scenarios with findings again, with other ids, and notes how often each
// finding was made where that was not every time. The verdicts stay: a fault that comes
// and goes is a fault.
func (t *Target) confirm(ctx context.Context, parts []Part) {
	left := maxConfirmed
	for i, p := range parts {
		if !broken(p) || !quick(p) {
			continue
		}
		if left--; left < 0 {
			return
		}
		seen, plays := map[findingKey]int{}, 1
		for n := range uint64(replays) {
			again := t.play(ctx, p.Scenario, t.ids()+uint64(i)+1+(mostLate+1+n)*aside)
			if ctx.Err() != nil || again.Err != nil || again.Unplayed != nil {
				break
			}
			plays++
			for key := range found(t.judge([]Part{again})[0]) {
				seen[key]++
			}
		}
		if plays > 1 {
			note(p, seen, plays)
		}
	}
}

// A findingKey is what findings of several plays of a scenario are taken for the same by.
type findingKey struct{ check, law string }

// found returns the findings of a part.
func found(p Part) map[findingKey]bool {
	all := map[findingKey]bool{}
	for _, r := range p.Hearing.Results {
		for _, f := range r.Findings {
			all[findingKey{r.Obligation.Check.ID, r.Obligation.Requirement(f).ID}] = true
		}
	}
	return all
}

// note notes which findings of a part were not made in all of its plays; seen counts the
// others than the first.
func note(p Part, seen map[findingKey]int, plays int) {
	for _, r := range p.Hearing.Results {
		for k := range r.Findings {
			f := &r.Findings[k]
			if n := 1 + seen[findingKey{r.Obligation.Check.ID, r.Obligation.Requirement(*f).ID}]; n < plays {
				f.Seen, f.Plays = n, plays
			}
		}
	}
}

// broken reports whether anything was found in a part that could be played, and is not too
// large to be played again.
func broken(p Part) bool {
	return p.Err == nil && p.Unplayed == nil && !p.Released && len(found(p)) > 0
}

// quick reports whether a part took little time, and none of its exchanges ran out of it,
// or over a limit.
func quick(p Part) bool {
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
	return took <= maxQuick
}
