package script

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/streamassay/streamassay/mockserver/fault"
)

// maxMismatches is how many rules are told of that did not match.
const maxMismatches = 20

// Decide finds the rule for a request: the first that matches. It takes what the rule
// counts and sets. It is safe for concurrent use; what requests are about the same
// conversation are taken in the order in which they come.
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
			decision.Reply.Refusal = &fault.Refusal{
				Status: http.StatusTooManyRequests, Message: "the quota of " + r.displayName() + " is used up", RetryAfter: retryAfter,
			}
		} else {
			decision.Reply = r.renderReply(&p)
		}
		if decision.Reply.Refusal != nil && f.undoTurn != nil { // what was refused was no turn
			f.undoTurn()
		}
		return decision
	}
	return Decision{Mismatches: s.mismatches(f, st)}
}

// mismatches say why each rule did not match: the nearest first.
func (s *RuleSet) mismatches(f *RequestContext, st *State) []Mismatch {
	type near struct {
		rule *Rule
		why  mismatchReason
		held int
	}
	all := make([]near, 0, len(s.rules))
	for _, r := range s.rules {
		p := matchContext{request: f, state: st}
		why := r.match(&p)
		if why == nil {
			p.conditionsMet++
			why = func() string { return st.blockedReason(r) }
		}
		all = append(all, near{r, why, p.conditionsMet})
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(b.held, a.held) })
	var out []Mismatch
	for _, n := range all[:min(len(all), maxMismatches)] {
		out = append(out, Mismatch{n.rule.Name, cmp.Or(n.why(), "it matches by now")})
	}
	return out
}
