package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// requirementCounts holds how many requirements have each verdict. It counts the requirements on
// replies to test prompts separately, because they are not part of the protocol. It also holds how
// many results of checks could not be judged.
type requirementCounts struct {
	byVerdict        [spec.Error + 1]int // requirements of the protocol; the index is the verdict
	promptsByVerdict [spec.Error + 1]int // requirements of the test prompts; the index is the verdict
	excluded         int                 // requirements that no check can judge; the other counts do not include them
	errors           int                 // results of checks that could not be judged
	ignoresPrompts   bool                // the agent does not follow the test prompts
}

// addDialect adds the requirements of the dialect in d to the counts.
func (t *requirementCounts) addDialect(d DialectResults) {
	t.ignoresPrompts = t.ignoresPrompts || d.ignoresPrompts()
	for _, r := range d.Requirements {
		switch {
		case r.Excluded != nil:
			t.excluded++
		case r.Convention:
			t.promptsByVerdict[r.Verdict]++
		default:
			t.byVerdict[r.Verdict]++
		}
	}
	for _, c := range d.Checks {
		if c.Verdict == spec.Error {
			t.errors++
		}
	}
}

// unjudgedText returns how many results of checks have the verdict error, as text such as "2
// checks". It returns "" if there are no such results, or if a requirement has the verdict error,
// because reports then show the number of these requirements instead.
func (t requirementCounts) unjudgedText() string {
	if t.errors == 0 || t.byVerdict[spec.Error]+t.promptsByVerdict[spec.Error] > 0 {
		return ""
	}
	return printable.Count(t.errors, "check")
}

// ignoresPrompts reports whether the run found that the agent does not follow the test prompts.
func (d DialectResults) ignoresPrompts() bool {
	return slices.ContainsFunc(d.Causes, func(c Cause) bool { return c.Kind == kindNotScripted })
}

// String returns the numbers that are not 0, as text such as "1 MUST violated, 20 requirements
// hold; test prompts: 2 followed". If all numbers for the protocol are 0, "nothing to judge" takes
// their place. The text also contains the result of unjudgedText if that is not "".
func (t requirementCounts) String() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.byVerdict[spec.Failed], "MUST violated")
	add(t.byVerdict[spec.Warned], "SHOULD violated")
	add(t.byVerdict[spec.Error], "could not be judged")
	if checks := t.unjudgedText(); checks != "" {
		parts = append(parts, checks+" could not be judged")
	}
	if t.byVerdict[spec.Passed] == 1 {
		parts = append(parts, "1 requirement holds")
	} else {
		add(t.byVerdict[spec.Passed], "requirements hold")
	}
	silent := "not tested"
	if t.ignoresPrompts {
		silent += " because the agent does not do what the test prompts ask (docs/prompts.md)"
	}
	add(t.byVerdict[spec.Silent], silent)
	add(t.byVerdict[spec.Skipped], "skipped")
	add(t.excluded, "that no test can decide")
	if len(parts) == 0 {
		parts = []string{"nothing to judge"}
	}
	s := strings.Join(parts, ", ")
	if prompts := t.promptSummary(); prompts != "" {
		s += "; test prompts: " + prompts
	}
	return s
}

// promptSummary returns how many requirements of the test prompts have each verdict, as text such
// as "2 not followed (MUST), 1 followed". It returns "" if the dialect has none of these
// requirements, or if the agent ignores the test prompts, so that none of them was tested.
func (t requirementCounts) promptSummary() string {
	n := t.promptsByVerdict
	violated := n[spec.Failed] + n[spec.Warned]
	if t.ignoresPrompts && violated+n[spec.Passed] == 0 {
		return "" // the reason why the others were not tested says so
	}
	notFollowed := "not followed"
	if n[spec.Failed] > 0 {
		notFollowed += " (MUST)" // why the dialect failed, even if no requirement of the protocol is violated
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{violated, notFollowed}, {n[spec.Passed], "followed"}, {n[spec.Error], "could not be judged"},
		{n[spec.Silent], "not tested"}, {n[spec.Skipped], "skipped"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// fatalCause returns the cause that kept the dialect from being tested, or nil if there is none. It
// also returns nil if a check passed, because then the dialect was tested at least in part.
func (d DialectResults) fatalCause() *Cause {
	if slices.ContainsFunc(d.Checks, func(c Check) bool { return c.Verdict == spec.Passed }) {
		return nil
	}
	if i := slices.IndexFunc(d.Causes, func(c Cause) bool { return c.Fatal }); i >= 0 {
		return &d.Causes[i]
	}
	return nil
}

// summaryLine returns the results of the dialect in one line: how many requirements have each
// verdict or, if the dialect could not be tested, how many checks are affected.
func (d DialectResults) summaryLine() string {
	if c := d.fatalCause(); c != nil {
		return strings.TrimSuffix("could not be tested: "+c.consequenceText(true), ": ") + d.otherFailures()
	}
	var t requirementCounts
	t.addDialect(d)
	return t.String()
}

// otherFailures returns a clause such as "; 2 more checks did not pass". It counts the checks with
// at least one result that failed, warned or could not be judged, but ignores results that a
// [Cause] explains. If there are no such checks, it returns "".
func (d DialectResults) otherFailures() string {
	bad := map[string]bool{}
	for _, c := range d.Checks {
		if c.Cause == nil && c.Verdict > spec.Passed {
			bad[c.ID] = true
		}
	}
	if len(bad) == 0 {
		return ""
	}
	return "; " + printable.Count(len(bad), "more check") + " did not pass"
}

// exitWord returns the meaning of the exit code in one or a few words, such as "PASSED", for the
// beginning of the last line of the report.
func (r *Report) exitWord() string {
	switch r.Exit {
	case ExitPassed:
		if r.Counts.Warned > 0 {
			return "PASSED with warnings"
		}
		return "PASSED"
	case ExitFailed:
		return "FAILED"
	case ExitInternal:
		return "INTERNAL ERROR"
	case ExitInterrupted, ExitTerminated:
		return "INTERRUPTED"
	case ExitInconclusive:
		if r.Counts.Passed+r.Counts.Warned+r.Counts.Failed > 0 {
			if r.Incomplete != "" && r.Counts.Error == 0 {
				return "INCOMPLETE"
			}
			return "INCONCLUSIVE"
		}
		return "NOTHING TESTED"
	}
	return strings.ToUpper(r.Verdict.String())
}

// conclusionLine returns the last line of the report without the word that exitWord returns. The
// line states the name of the dialect or the number of dialects, how many requirements have each
// verdict, and the exit code. If the only dialect could not be tested, or if there is no dialect,
// it states the reason instead of the numbers.
func (r *Report) conclusionLine() string {
	var t requirementCounts
	name, fatal := "no dialect", (*Cause)(nil)
	for _, d := range r.Dialects {
		t.addDialect(d)
		name, fatal = d.Dialect, d.fatalCause()
	}
	s := t.String()
	if len(r.Dialects) == 0 && r.Incomplete != "" {
		name, s = "nothing to judge", truncateText(singleLine(r.Incomplete), 300)
	} else if len(r.Dialects) > 1 {
		name = printable.Count(len(r.Dialects), "dialect")
	} else if fatal != nil {
		why := truncateText(singleLine(fatal.Message), 300)
		return fmt.Sprintf("%s: %s%s  (exit %d)", name, why, r.Dialects[0].otherFailures(), r.Exit)
	}
	violated := t.byVerdict[spec.Failed] + t.promptsByVerdict[spec.Failed]
	if r.Counts.Failed > 0 && violated == 0 { // for no requirement in particular
		s = printable.Count(r.Counts.Failed, "check") + " failed, " + s
	}
	if n := r.countFlaky(); n > 0 {
		s += fmt.Sprintf(", %d of them flaky in %s", n, printable.Count(r.Rounds, "round"))
	} else if r.Rounds > 0 {
		s += ", the same in " + printable.Count(r.Rounds, "round")
	}
	return fmt.Sprintf("%s: %s  (exit %d)", name, s, r.Exit)
}
