package journal

import (
	"fmt"
	"slices"
	"strings"
)

// A Failure is what was wanted and not seen, or seen too often.
type Failure struct {
	Call    int    `json:"call"` // which of those that were wanted, from 0
	Name    string `json:"name"`
	Wanted  string `json:"wanted"`
	Seen    int    `json:"seen"`
	Message string `json:"message"` // with what was seen instead
}

// Verify says which of these calls are not what was seen. The filter chooses among which
// exchanges they are looked for: those of one test, those after one number.
func (j *Journal) Verify(f Filter, x Expect) (failures []Failure) {
	failures = []Failure{}
	f.Offset, f.Limit = 0, 0
	among := j.chosen(f)
	first, last := uint64(0), "" // where the call before came first
	for i, c := range x.Calls {
		seen, near := look(among, c.filter())
		fewest, most := c.bounds()
		fail := func(format string, args ...any) {
			failures = append(failures, Failure{i, c.String(), c.count(), len(seen), c.String() + ": " + fmt.Sprintf(format, args...)})
		}
		lost := j.Forgotten()
		switch {
		case len(seen) < fewest:
			fail("wanted %s, seen %d%s", c.count(), len(seen), instead(seen, near, len(among), lost))
		case most >= 0 && len(seen) > most:
			fail("wanted %s, seen %d%s", c.count(), len(seen), instead(seen, nil, len(among), lost))
		case most >= 0 && lost > 0:
			fail("wanted %s, seen %d, but %d older exchanges are no longer kept: the journal is too small to tell", c.count(), len(seen), lost)
		case x.InOrder && len(seen) > 0 && seen[0].n < first:
			fail("wanted after %s, which came first as #%d; it came first as #%d", last, first, seen[0].n)
		}
		if len(seen) > 0 {
			first, last = max(first, seen[0].n), c.String()
		}
	}
	return failures
}

// A glimpse is an exchange as failures speak of it.
type glimpse struct {
	n      uint64
	what   string
	misses []string // why it is not what was wanted
}

// look finds those that are wanted, and those that nearly are, the nearest first.
func look(among []ref, f Filter) (seen, near []glimpse) {
	for _, r := range among {
		if !r.lock() {
			continue
		}
		g := glimpse{n: r.n, misses: f.misses(r.s)}
		g.what = fmt.Sprintf("#%d %s %s → %s", r.n, r.s.method, r.s.target, answered(r.s))
		r.s.mu.Unlock()
		if len(g.misses) == 0 {
			seen = append(seen, g)
		} else {
			near = append(near, g)
		}
	}
	slices.SortStableFunc(near, func(a, b glimpse) int { return len(a.misses) - len(b.misses) })
	return seen, near
}

func answered(s *slot) string {
	switch {
	case s.status == 0:
		return "nothing yet"
	case s.how == Open:
		return fmt.Sprintf("%d, which goes on", s.status)
	}
	return fmt.Sprintf("%d, %s", s.status, s.how)
}

// mostShown is how many exchanges a failure speaks of.
const mostShown = 3

// instead says what was seen, right or nearly so.
func instead(seen, near []glimpse, all int, lost uint64) string {
	var b strings.Builder
	for i, g := range seen {
		if i == mostShown {
			fmt.Fprintf(&b, " and %d more", len(seen)-i)
			break
		}
		fmt.Fprintf(&b, "%s%s", separator(i, ": ", "; "), g.what)
	}
	switch {
	case all == 0:
		b.WriteString("; nothing was asked")
	case len(near) > 0:
		for i, g := range near[:min(len(near), mostShown)] {
			fmt.Fprintf(&b, "%s%s, but %s", separator(i, "; nearest: ", "; "), g.what, strings.Join(g.misses, " and "))
		}
	}
	if lost > 0 {
		fmt.Fprintf(&b, "; %d older exchanges are no longer kept", lost)
	}
	return b.String()
}

func separator(i int, first, other string) string {
	if i == 0 {
		return first
	}
	return other
}
