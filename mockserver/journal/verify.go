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
	among := j.selectEntries(f)
	first, last := uint64(0), "" // where the call before came first
	for i, c := range x.Calls {
		seen, near := matchEntries(among, c.filter())
		fewest, most := c.countRange()
		fail := func(format string, args ...any) {
			failures = append(failures, Failure{i, c.String(), c.countText(), len(seen), c.String() + ": " + fmt.Sprintf(format, args...)})
		}
		lost := j.Forgotten()
		switch {
		case len(seen) < fewest:
			fail("wanted %s, seen %d%s", c.countText(), len(seen), describeSeen(seen, near, len(among), lost))
		case most >= 0 && len(seen) > most:
			fail("wanted %s, seen %d%s", c.countText(), len(seen), describeSeen(seen, nil, len(among), lost))
		case most >= 0 && lost > 0:
			fail("wanted %s, seen %d, but %d older exchanges are no longer kept: the journal is too small to tell", c.countText(), len(seen), lost)
		case x.InOrder && len(seen) > 0 && seen[0].id < first:
			fail("wanted after %s, which came first as #%d; it came first as #%d", last, first, seen[0].id)
		}
		if len(seen) > 0 {
			first, last = max(first, seen[0].id), c.String()
		}
	}
	return failures
}

// A exchangeSummary is an exchange as failures speak of it.
type exchangeSummary struct {
	id         uint64
	text       string
	mismatches []string // why it is not what was wanted
}

// matchEntries finds those that are wanted, and those that nearly are, the nearest first.
func matchEntries(among []entryRef, f Filter) (seen, near []exchangeSummary) {
	for _, r := range among {
		if !r.lock() {
			continue
		}
		g := exchangeSummary{id: r.id, mismatches: f.mismatches(r.buffer)}
		g.text = fmt.Sprintf("#%d %s %s → %s", r.id, r.buffer.method, r.buffer.target, describeResponse(r.buffer))
		r.buffer.mu.Unlock()
		if len(g.mismatches) == 0 {
			seen = append(seen, g)
		} else {
			near = append(near, g)
		}
	}
	slices.SortStableFunc(near, func(a, b exchangeSummary) int { return len(a.mismatches) - len(b.mismatches) })
	return seen, near
}

func describeResponse(s *entryBuffer) string {
	switch {
	case s.status == 0:
		return "nothing yet"
	case s.endReason == InProgress:
		return fmt.Sprintf("%d, which goes on", s.status)
	}
	return fmt.Sprintf("%d, %s", s.status, s.endReason)
}

// maxShown is how many exchanges a failure speaks of.
const maxShown = 3

// describeSeen says what was seen, right or nearly so.
func describeSeen(seen, near []exchangeSummary, all int, lost uint64) string {
	var b strings.Builder
	for i, g := range seen {
		if i == maxShown {
			fmt.Fprintf(&b, " and %d more", len(seen)-i)
			break
		}
		fmt.Fprintf(&b, "%s%s", separator(i, ": ", "; "), g.text)
	}
	switch {
	case all == 0:
		b.WriteString("; nothing was asked")
	case len(near) > 0:
		for i, g := range near[:min(len(near), maxShown)] {
			fmt.Fprintf(&b, "%s%s, but %s", separator(i, "; nearest: ", "; "), g.text, strings.Join(g.mismatches, " and "))
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
