package journal

import (
	"fmt"
	"slices"
	"strings"
)

// An UnmetExpectation is an expected call that was received too rarely, too often or in the wrong
// order.
type UnmetExpectation struct {
	Call    int    `json:"call"`    // index in Expectations.Calls, from 0
	Name    string `json:"name"`    // what [Expectation.String] returns for the call
	Wanted  string `json:"wanted"`  // expected number of exchanges, such as "at least 1"
	Seen    int    `json:"seen"`    // number of exchanges that match the call
	Message string `json:"message"` // what was expected, and the exchanges received instead
}

// Verify compares the exchanges that match f with the calls that x expects. It returns a failure
// for each call that was received too rarely, too often or, if x.InOrder is set, in the wrong
// order. If exchanges were dropped from the journal, each call with a maximum fails, because the
// dropped exchanges may match. Verify ignores f.Offset and f.Limit. The result is never nil.
func (j *Journal) Verify(f Filter, x Expectations) (failures []UnmetExpectation) {
	failures = []UnmetExpectation{}
	f.Offset, f.Limit = 0, 0
	entries := j.selectEntries(f)
	latest, after := uint64(0), "" // the latest first exchange of the calls so far, and the name of that call
	for i, c := range x.Calls {
		seen, near := matchEntries(entries, c.filter())
		minimum, maximum := c.countRange()
		fail := func(format string, args ...any) {
			message := c.String() + ": " + fmt.Sprintf(format, args...)
			failures = append(failures, UnmetExpectation{i, c.String(), c.countText(), len(seen), message})
		}
		lost := j.Forgotten()
		switch {
		case len(seen) < minimum:
			fail("got %d, want %s%s", len(seen), c.countText(), describeSeen(seen, near, len(entries), lost))
		case maximum >= 0 && len(seen) > maximum:
			fail("got %d, want %s%s", len(seen), c.countText(), describeSeen(seen, nil, len(entries), lost))
		case maximum >= 0 && lost > 0:
			fail("got %d, want %s, but %d older exchanges were dropped: the journal is too small to decide",
				len(seen), c.countText(), lost)
		case x.InOrder && len(seen) > 0 && seen[0].id < latest:
			fail("first received as #%d, want it after %s, which was first received as #%d", seen[0].id, after, latest)
		}
		if len(seen) > 0 && seen[0].id >= latest {
			latest, after = seen[0].id, c.String()
		}
	}
	return failures
}

// An exchangeMatch is the result of matching an exchange with an expectation. It describes the
// exchange in the message of an UnmetExpectation.
type exchangeMatch struct {
	id         uint64
	text       string   // such as "#3 POST /runs → 200, whole"
	mismatches []string // why it does not match the expectation
}

// matchEntries compares the exchanges to which entries refer with the filter f. It returns
// summaries of those that match (seen), in the same order, and of the others (near), sorted by the
// number of mismatches, fewest first. It omits exchanges that were dropped from the journal, and
// ignores the fields Finding, Offset and Limit of f.
func matchEntries(entries []exchangeHandle, f Filter) (seen, near []exchangeMatch) {
	for _, r := range entries {
		if !r.lock() {
			continue
		}
		g := exchangeMatch{id: r.id, mismatches: f.mismatches(r.exchange)}
		g.text = fmt.Sprintf("#%d %s %s → %s", r.id, r.exchange.method, r.exchange.target, describeResponse(r.exchange))
		r.exchange.mu.Unlock()
		if len(g.mismatches) == 0 {
			seen = append(seen, g)
		} else {
			near = append(near, g)
		}
	}
	slices.SortStableFunc(near, func(a, b exchangeMatch) int { return len(a.mismatches) - len(b.mismatches) })
	return seen, near
}

// describeResponse returns the status of the response of s and how it ended as text, such as "200,
// whole". The caller must hold the lock of s.
func describeResponse(s *recordedExchange) string {
	switch {
	case s.status == 0:
		return "no response yet"
	case s.endReason == InProgress:
		return fmt.Sprintf("%d, in progress", s.status)
	}
	return fmt.Sprintf("%d, %s", s.status, s.endReason)
}

// maxShown is the maximum number of matching exchanges, and of exchanges that nearly match, in the
// message of an UnmetExpectation.
const maxShown = 3

// nothingReceived is the end of the message of an UnmetExpectation if there are no exchanges.
const nothingReceived = "; no requests received"

// describeSeen returns the end of the message of an UnmetExpectation, which lists exchanges: at
// most maxShown elements of seen, which match the expectation, and of near, which do not. The
// argument all is the number of exchanges that were compared with the expectation, and lost is the
// number of earlier exchanges that were dropped from the journal.
func describeSeen(seen, near []exchangeMatch, all int, lost uint64) string {
	var b strings.Builder
	list := func(separator string, entries []exchangeMatch) {
		for _, g := range entries[:min(len(entries), maxShown)] {
			b.WriteString(separator + g.text)
			if len(g.mismatches) > 0 {
				b.WriteString(", but " + strings.Join(g.mismatches, " and "))
			}
			separator = "; "
		}
	}
	list(": ", seen)
	if len(seen) > maxShown {
		fmt.Fprintf(&b, " and %d more", len(seen)-maxShown)
	}
	if all == 0 {
		b.WriteString(nothingReceived)
	}
	list("; nearest: ", near)
	if lost > 0 {
		fmt.Fprintf(&b, "; %d older exchanges were dropped", lost)
	}
	return b.String()
}
