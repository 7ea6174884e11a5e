package reports

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// MaxRaw bounds the bytes of a frame or body that a finding shows. The transcript
// has all of them.
const MaxRaw = 4 << 10

// maxPointer bounds a JSON Pointer, in bytes: its names are the target's.
const maxPointer = 512

// NewCheckResult is what one check concluded in one scenario, whose conversation was t. base is
// the URL that the paths of its requests are appended to, "" where it is not known.
//
// A result may be bad without any finding: a promise that was not kept. That
// promise is then the one thing that was judged, so that 0 judgements always mean
// that nothing can be concluded.
func NewCheckResult(scenario, base string, t spec.Trace, r spec.Result) Check {
	c := Check{
		ID: r.Obligation.Check.ID, Title: r.Obligation.Check.Title(), Level: r.Obligation.Level(), Scenario: scenario,
		Verdict: r.Verdict, Judged: r.Judged, Note: boundedText([]byte(r.Note), MaxRaw), Dropped: r.Dropped,
		Findings: []Finding{}, Requirements: []string{}, Requests: len(t.Exchanges),
	}
	if c.Judged == 0 && (c.Verdict == spec.Warned || c.Verdict == spec.Failed) {
		c.Judged = 1
	}
	for _, law := range r.Obligation.Requirements {
		c.Requirements = append(c.Requirements, law.ID)
	}
	for _, f := range r.Findings {
		found := newFinding(f, r.Obligation.Requirement(f))
		if f.Event.Exchange < len(t.Exchanges) {
			found.addExchange(base, f.Event, t.Exchanges[f.Event.Exchange])
		}
		c.Findings = append(c.Findings, found)
	}
	return c
}

func newFinding(f spec.Finding, law spec.Requirement) Finding {
	e := f.Event
	found := Finding{
		Message: boundedText([]byte(f.Message), MaxRaw), Requirement: law.ID,
		Exchange: e.Exchange, Line: e.Line, Offset: e.Offset, Raw: boundedText(e.Raw, MaxRaw),
	}
	if f.Plays > 0 {
		found.Seen, found.Plays = f.Seen, f.Plays
		found.Message += fmt.Sprintf(" (seen in %d of %d)", f.Seen, f.Plays)
	}
	if nth := e.Frame; nth >= 0 {
		found.Event = &nth
	}
	// A pointer leads into what the target sent: what is wrong with a request was
	// wrong on purpose. Of several wrong places none is the place.
	if e.Kind != spec.HTTPRequest && len(e.Violations) == 1 {
		found.Pointer = boundedText([]byte(e.Violations[0].Pointer), maxPointer)
	}
	return found
}

// boundedText makes valid UTF-8 of bytes: every byte that is not part of a character
// becomes U+FFFD, so that their number can still be seen. Of more than most bytes
// the first are shown, and the number of those that are left out.
func boundedText(b []byte, most int) string {
	shown := b
	if len(b) > most {
		shown = b[:runeBoundary(b, most)]
	}
	s := string(shown)
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	if left := len(b) - len(shown); left > 0 {
		s += truncationNote(left)
	}
	return s
}

// runeBoundary is the largest length up to most at which no character is cut.
func runeBoundary(b []byte, most int) int {
	for n := most; n > most-utf8.UTFMax && n > 0; n-- {
		if utf8.RuneStart(b[n]) {
			return n
		}
	}
	return most // that is not text; any cut is as good
}

const truncationMark = " … ("

// truncationNote is the note in place of n bytes.
func truncationNote(n int) string { return fmt.Sprintf("%s%d more bytes)", truncationMark, n) }

// cutTruncationNote takes that note off again.
func cutTruncationNote(s string) (shown, note string) {
	if i := strings.LastIndex(s, truncationMark); i >= 0 && strings.HasSuffix(s, " more bytes)") {
		return s[:i], s[i:]
	}
	return s, ""
}

// RequirementResults are a catalogue's in its order, each with the worst verdict that the
// results have on it: silent where none has, and where none can.
func RequirementResults(catalogue []spec.Requirement, results []spec.Result) []RequirementResult {
	worst := map[string]spec.Verdict{}
	for _, r := range results {
		for _, law := range r.Obligation.Requirements {
			worst[law.ID] = max(worst[law.ID], r.VerdictOn(law))
		}
	}
	all := make([]RequirementResult, 0, len(catalogue))
	for _, law := range catalogue {
		r := RequirementResult{
			ID: law.ID, Level: law.Level, Verdict: worst[law.ID], Quote: law.Quote, English: law.English, Source: law.Source,
			Checks: append([]string{}, law.Checks...), Excluded: law.Excluded, Convention: law.Convention(),
		}
		if law.Excluded != nil {
			r.Verdict = spec.Silent
		}
		all = append(all, r)
	}
	return all
}
