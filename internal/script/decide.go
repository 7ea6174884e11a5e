package script

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/streamassay/streamassay/internal/fault"
)

// maxMismatches is the maximum number of rules for which a [Decision] states why they do not match.
// The limit keeps messages short.
const maxMismatches = 20

// Decide returns the first rule that matches request f, and its reply. It records the match in st:
// it updates the match count and the quota of the rule, and the scenario steps that the rule sets.
// If no rule matches, Decision.Rule is nil, and Decision.Mismatches contains the reasons. If s is
// nil or has no rules, Decide returns the zero Decision.
//
// If the quota of the rule is exhausted, Decide records nothing, and the reply is a refusal with
// status 429. If a template of the reply fails, the reply is a refusal with status 500. A refused
// request does not count as a turn.
//
// Decide may be called concurrently for different requests. Concurrent requests in one thread (a
// conversation) count as successive turns, in the order of the calls.
func (s *RuleSet) Decide(f *RequestContext, st *State) Decision {
	if s == nil || len(s.rules) == 0 {
		return Decision{}
	}
	f.analyze(st)
	for _, r := range s.rules {
		p := matchContext{request: f, state: st}
		if r.match(&p) != nil {
			continue
		}
		blocked, retryAfter := st.claim(r, f.Now)
		if blocked != "" {
			continue
		}
		decision := Decision{Rule: r}
		if retryAfter > 0 {
			decision.Reply.Refusal = &fault.CannedResponse{
				Status:     http.StatusTooManyRequests,
				Message:    "the quota of " + r.displayName() + " is exhausted",
				RetryAfter: retryAfter,
			}
		} else {
			decision.Reply = r.renderReply(&p)
		}
		if decision.Reply.Refusal != nil && f.undoTurn != nil { // a refused request does not count as a turn
			f.undoTurn()
		}
		return decision
	}
	return Decision{Mismatches: s.mismatches(f, st)}
}

// mismatches returns the reason why each rule does not match request f, for at most maxMismatches
// rules. The rules are sorted by the number of conditions met before the first one that is not met,
// largest number first.
func (s *RuleSet) mismatches(f *RequestContext, st *State) []Mismatch {
	type rankedRule struct {
		rule          *Rule
		why           mismatchReasonFunc
		conditionsMet int
	}
	all := make([]rankedRule, 0, len(s.rules))
	for _, r := range s.rules {
		p := matchContext{request: f, state: st}
		why := r.match(&p)
		if why == nil {
			p.conditionsMet++
			why = func() string {
				st.mu.Lock()
				defer st.mu.Unlock()
				return st.blockedReason(r)
			}
		}
		all = append(all, rankedRule{r, why, p.conditionsMet})
	}
	slices.SortStableFunc(all, func(a, b rankedRule) int { return cmp.Compare(b.conditionsMet, a.conditionsMet) })
	var out []Mismatch
	for _, n := range all[:min(len(all), maxMismatches)] {
		out = append(out, Mismatch{n.rule.Name, cmp.Or(n.why(), "it would match now")})
	}
	return out
}
