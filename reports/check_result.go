package reports

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// MaxRaw is the maximum number of bytes of a frame or body that a finding quotes. The transcript
// contains the whole frame or body.
const MaxRaw = 4 << 10

// maxPointer is the maximum number of bytes of a JSON Pointer or of a path in a finding. There is a
// limit because the server chooses the names in a pointer and can make them long.
const maxPointer = 512

// NewCheckResult converts r, the result of a check in the named scenario, to an entry of a report.
// The parameter t is the conversation of the scenario. The parameter base is the URL to which the
// paths of requests are appended, or "" if it is unknown.
//
// The field Judged of a failed or warned check is at least 1. In contrast, r.Judged is 0 if the
// only reason for the failure is that the scenario did not exercise the check although it should
// have.
func NewCheckResult(scenario, base string, t spec.Trace, r spec.CheckResult) Check {
	c := Check{
		ID: r.PlannedCheck.Check.ID, Title: r.PlannedCheck.Check.Title(), Level: r.PlannedCheck.Level(), Scenario: scenario,
		Verdict: r.Verdict, Judged: r.Judged, Note: boundedText([]byte(r.Note), MaxRaw), Dropped: r.Dropped,
		Findings: []Finding{}, Requirements: []string{}, Requests: len(t.Exchanges),
	}
	if c.Judged == 0 && (c.Verdict == spec.Warned || c.Verdict == spec.Failed) {
		c.Judged = 1
	}
	for _, requirement := range r.PlannedCheck.Requirements {
		c.Requirements = append(c.Requirements, requirement.ID)
	}
	for _, f := range r.Findings {
		found := newFinding(f)
		if len(c.Requirements) == 1 {
			found.Requirement = c.Requirements[0]
		}
		if f.Event.Exchange < len(t.Exchanges) {
			found.addExchange(base, f.Event, t.Exchanges[f.Event.Exchange])
		}
		c.Findings = append(c.Findings, found)
	}
	return c
}

// newFinding converts f to a finding of a report. The field Requirement is that of the event in f,
// which may be "". The operation, the request and the response are not set; see
// [Finding.addExchange].
func newFinding(f spec.Finding) Finding {
	e := f.Event
	found := Finding{
		Message: boundedText([]byte(f.Message), MaxRaw), Requirement: e.Requirement,
		Exchange: e.Exchange, Line: e.Line, Offset: e.Offset, Raw: boundedText(e.Raw, MaxRaw),
	}
	if f.Plays > 0 {
		found.Seen, found.Plays = f.Seen, f.Plays
		found.Message += fmt.Sprintf(" (this was found in %d of %d repetitions of the scenario)", f.Seen, f.Plays)
	}
	if nth := e.Frame; nth >= 0 {
		found.Event = &nth
	}
	// The suite intends the violations of its requests, and if there are several violations,
	// none of them is the only place.
	if e.Kind != spec.HTTPRequest && len(e.Violations) == 1 {
		found.Pointer = boundedText([]byte(e.Violations[0].Pointer), maxPointer)
	}
	return found
}

// boundedText returns at most the first limit bytes of b as valid UTF-8, followed by a note with
// the number of bytes left out, if any. Each byte that is not part of a valid character becomes one
// U+FFFD.
func boundedText(b []byte, limit int) string {
	shown := b
	if len(b) > limit {
		shown = b[:runeBoundary(b, limit)]
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

// runeBoundary returns the largest n, at most limit, such that b[:n] does not end within a UTF-8
// character. If no character begins in the last four bytes of b[:limit+1], so that b is not UTF-8,
// it returns limit. The slice b must be longer than limit.
func runeBoundary(b []byte, limit int) int {
	for n := limit; n > limit-utf8.UTFMax && n > 0; n-- {
		if utf8.RuneStart(b[n]) {
			return n
		}
	}
	return limit // not UTF-8
}

// truncationMark is the beginning of the note that replaces the omitted end of a text; see
// truncationNote.
const truncationMark = " … ("

// truncationNote returns the note that replaces the last n bytes of a text, such as " … (12 more
// bytes)".
func truncationNote(n int) string { return fmt.Sprintf("%s%d more bytes)", truncationMark, n) }

// cutTruncationNote splits s, a result of boundedText, into the text that was kept and the note
// about the bytes that were left out. The note is "" if no bytes were left out.
func cutTruncationNote(s string) (shown, note string) {
	if i := strings.LastIndex(s, truncationMark); i >= 0 && strings.HasSuffix(s, " more bytes)") {
		return s[:i], s[i:]
	}
	return s, ""
}

// truncatedBytes returns the number of bytes that were left out according to note, a note of
// boundedText.
func truncatedBytes(note string) (n int) {
	_, _ = fmt.Sscanf(note, truncationMark+"%d", &n)
	return n
}

// RequirementResults returns the result of each requirement of the catalogue, in the order of the
// catalogue. Requirements that occur only in results, such as those of a check that a user added,
// follow.
//
// The verdict on a requirement is the worst one in results. However, it is [spec.Error] only if no
// check judged the requirement, so that an error in one scenario does not hide the verdicts from
// other scenarios. The verdict is [spec.Silent] if results contains no result for the requirement,
// or if the requirement is excluded because no check can judge it.
func RequirementResults(catalogue []spec.Requirement, results []spec.CheckResult) []RequirementResult {
	known, worst := map[string]bool{}, map[string]spec.Verdict{}
	for _, c := range catalogue {
		known[c.ID] = true
	}
	catalogue = slices.Clone(catalogue)
	for _, r := range results {
		for _, requirement := range r.PlannedCheck.Requirements {
			worst[requirement.ID] = worseOfRequirement(worst[requirement.ID], r.VerdictOn(requirement))
			if !known[requirement.ID] {
				known[requirement.ID] = true
				catalogue = append(catalogue, requirement)
			}
		}
	}
	all := make([]RequirementResult, 0, len(catalogue))
	for _, c := range catalogue {
		r := RequirementResult{
			ID: c.ID, Level: c.Level, Verdict: worst[c.ID], Quote: c.Quote, English: c.English, Source: c.Source,
			Checks: append([]string{}, c.Checks...), Excluded: c.Excluded, Convention: c.Convention(),
		}
		if c.Excluded != nil {
			r.Verdict = spec.Silent
		}
		all = append(all, r)
	}
	return all
}

// worseOfRequirement returns the worse of two verdicts on the same requirement. The verdict
// [spec.Error] is worse than silent and skipped, but better than all other verdicts.
func worseOfRequirement(a, b spec.Verdict) spec.Verdict {
	better, worse := min(a, b), max(a, b)
	if worse == spec.Error && better >= spec.Passed {
		return better
	}
	return worse
}
