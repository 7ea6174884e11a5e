package script

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/streamassay/streamassay/mockserver/fault"
)

// mostMisses is how many rules are told of that did not match.
const mostMisses = 20

// Decide finds the rule for a request: the first that matches. It takes what the rule
// counts and sets. It is safe for concurrent use; what requests are about the same
// conversation are taken in the order in which they come.
func (s *Set) Decide(f *Facts, st *State) Decision {
	if s == nil || len(s.rules) == 0 {
		return Decision{}
	}
	f.learn(st)
	for _, r := range s.rules {
		p := probe{f: f, st: st}
		if r.try(&p) != nil {
			continue
		}
		why, after := st.claim(r, f.Now)
		if why != "" {
			continue
		}
		to := Decision{Rule: r}
		if after > 0 {
			to.Reply.Refuse = &fault.Refusal{
				Status: http.StatusTooManyRequests, Text: "the quota of " + r.title() + " is used up", RetryAfter: after,
			}
		} else {
			to.Reply = r.reply(&p)
		}
		if to.Reply.Refuse != nil && f.undo != nil { // what was refused was no turn
			f.undo()
		}
		return to
	}
	return Decision{Misses: s.misses(f, st)}
}

// misses say why each rule did not match: the nearest first.
func (s *Set) misses(f *Facts, st *State) []Miss {
	type near struct {
		rule *Rule
		why  failure
		held int
	}
	all := make([]near, 0, len(s.rules))
	for _, r := range s.rules {
		p := probe{f: f, st: st}
		why := r.try(&p)
		if why == nil {
			p.held++
			why = func() string { return st.blocks(r) }
		}
		all = append(all, near{r, why, p.held})
	}
	slices.SortStableFunc(all, func(a, b near) int { return cmp.Compare(b.held, a.held) })
	var out []Miss
	for _, n := range all[:min(len(all), mostMisses)] {
		out = append(out, Miss{n.rule.Name, cmp.Or(n.why(), "it matches by now")})
	}
	return out
}
