package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A requirementCounts counts requirements by verdict: those of the protocol, and apart from them
// those of the test prompts.
type requirementCounts struct {
	byVerdict        [spec.Error + 1]int
	promptsByVerdict [spec.Error + 1]int
	excluded         int // no check can judge them; they are in no other number
	ignoresPrompts   bool
}

func (t *requirementCounts) addDialect(d DialectReport) {
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
}

// ignoresPrompts reports whether the target does not follow the test prompts.
func (d DialectReport) ignoresPrompts() bool {
	return slices.ContainsFunc(d.Causes, func(c Cause) bool { return c.Kind == kindNotScripted })
}

// String returns the numbers that are not 0, in words.
func (t requirementCounts) String() string {
	var said []string
	add := func(n int, what string) {
		if n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.byVerdict[spec.Failed], "MUST broken")
	add(t.byVerdict[spec.Warned], "SHOULD broken")
	add(t.byVerdict[spec.Error], "could not be judged")
	if t.byVerdict[spec.Passed] == 1 {
		said = append(said, "1 clause holds")
	} else {
		add(t.byVerdict[spec.Passed], "clauses hold")
	}
	silent := "not exercised"
	if t.ignoresPrompts {
		silent += " (the target does not follow the test prompts: docs/prompts.md)"
	}
	add(t.byVerdict[spec.Silent], silent)
	add(t.byVerdict[spec.Skipped], "skipped")
	add(t.excluded, "not testable")
	if len(said) == 0 {
		said = []string{"nothing to judge"}
	}
	s := strings.Join(said, ", ")
	if prompts := t.promptSummary(); prompts != "" {
		s += "; test prompts: " + prompts
	}
	return s
}

// promptSummary counts the requirements of the test prompts, "" if there is nothing to say.
func (t requirementCounts) promptSummary() string {
	var said []string
	for _, n := range []struct {
		n    int
		what string
	}{
		{t.promptsByVerdict[spec.Failed] + t.promptsByVerdict[spec.Warned], "not followed"}, {t.promptsByVerdict[spec.Passed], "followed"},
		{t.promptsByVerdict[spec.Error], "could not be judged"}, {t.promptsByVerdict[spec.Silent], "not exercised"}, {t.promptsByVerdict[spec.Skipped], "skipped"},
	} {
		if n.n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if t.ignoresPrompts && t.promptsByVerdict[spec.Failed]+t.promptsByVerdict[spec.Warned]+t.promptsByVerdict[spec.Passed] == 0 {
		return "" // that is said of all
	}
	return strings.Join(said, ", ")
}

// fatalCause returns the cause that left next to nothing to judge, nil if there is none: where
// something holds all the same, the numbers say more.
func (d DialectReport) fatalCause() *Cause {
	if slices.ContainsFunc(d.Checks, func(c Check) bool { return c.Verdict == spec.Passed }) {
		return nil
	}
	if i := slices.IndexFunc(d.Causes, func(c Cause) bool { return c.Fatal }); i >= 0 {
		return &d.Causes[i]
	}
	return nil
}

// summaryLine is a dialect in one line: its numbers, or why there are none.
func (d DialectReport) summaryLine() string {
	if c := d.fatalCause(); c != nil {
		return strings.TrimSuffix("next to nothing could be judged: "+c.consequenceText(true), ": ") + d.otherFailures()
	}
	var t requirementCounts
	t.addDialect(d)
	return t.String()
}

// otherFailures counts the checks that are bad for a reason of their own.
func (d DialectReport) otherFailures() string {
	bad := map[string]bool{}
	for _, c := range d.Checks {
		if c.Cause == nil && c.Verdict > spec.Passed {
			bad[c.ID] = true
		}
	}
	switch len(bad) {
	case 0:
		return ""
	case 1:
		return "; 1 more check did not pass"
	}
	return fmt.Sprintf("; %d more checks did not pass", len(bad))
}

// exitWord is what the exit code means.
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
		return "HARNESS FAILURE"
	case ExitInterrupted, ExitTerminated:
		return "INTERRUPTED"
	case ExitInconclusive:
		if r.Counts.Passed+r.Counts.Warned+r.Counts.Failed > 0 {
			if r.Incomplete != "" && r.Counts.Error == 0 {
				return "INCOMPLETE"
			}
			return "COULD NOT TELL"
		}
		return "NOTHING MEASURED"
	}
	return strings.ToUpper(r.Verdict.String())
}

// conclusionLine is the report in one line, without its first word.
func (r *Report) conclusionLine() string {
	var t requirementCounts
	name, fatal := "no dialect", (*Cause)(nil)
	for _, d := range r.Dialects {
		t.addDialect(d)
		name, fatal = d.Dialect, d.fatalCause()
	}
	s := t.String()
	if len(r.Dialects) > 1 {
		name = countNoun(len(r.Dialects), "dialect")
	} else if fatal != nil {
		return fmt.Sprintf("%s: %s%s  (exit %d)", name, truncateText(singleLine(fatal.Message), 300), r.Dialects[0].otherFailures(), r.Exit)
	}
	if r.Counts.Failed > 0 && t.byVerdict[spec.Failed]+t.promptsByVerdict[spec.Failed] == 0 { // of no requirement in particular
		s = countNoun(r.Counts.Failed, "check") + " failed, " + s
	}
	if n := r.countFlaky(); n > 0 {
		s += fmt.Sprintf(", %d of them flaky in %s", n, countNoun(r.Rounds, "round"))
	} else if r.Rounds > 0 {
		s += ", alike in " + countNoun(r.Rounds, "round")
	}
	return fmt.Sprintf("%s: %s  (exit %d)", name, s, r.Exit)
}
