package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A tally counts requirements by verdict: those of the protocol, and apart from them
// those of the test prompts.
type tally struct {
	verdict  [spec.Error + 1]int
	prompts  [spec.Error + 1]int
	excluded int // no check can judge them; they are in no other number
	deaf     bool
}

func (t *tally) count(d Dialect) {
	t.deaf = t.deaf || d.deaf()
	for _, r := range d.Requirements {
		switch {
		case r.Excluded != nil:
			t.excluded++
		case r.Convention:
			t.prompts[r.Verdict]++
		default:
			t.verdict[r.Verdict]++
		}
	}
}

// deaf reports whether the target does not follow the test prompts.
func (d Dialect) deaf() bool {
	return slices.ContainsFunc(d.Causes, func(c Cause) bool { return c.Kind == notScripted })
}

// String returns the numbers that are not 0, in words.
func (t tally) String() string {
	var said []string
	add := func(n int, what string) {
		if n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(t.verdict[spec.Failed], "MUST broken")
	add(t.verdict[spec.Warned], "SHOULD broken")
	add(t.verdict[spec.Error], "could not be judged")
	if t.verdict[spec.Passed] == 1 {
		said = append(said, "1 clause holds")
	} else {
		add(t.verdict[spec.Passed], "clauses hold")
	}
	silent := "not exercised"
	if t.deaf {
		silent += " (the target does not follow the test prompts: docs/prompts.md)"
	}
	add(t.verdict[spec.Silent], silent)
	add(t.verdict[spec.Skipped], "skipped")
	add(t.excluded, "not testable")
	if len(said) == 0 {
		said = []string{"nothing to judge"}
	}
	s := strings.Join(said, ", ")
	if prompts := t.promptWords(); prompts != "" {
		s += "; test prompts: " + prompts
	}
	return s
}

// promptWords counts the requirements of the test prompts, "" if there is nothing to say.
func (t tally) promptWords() string {
	var said []string
	for _, n := range []struct {
		n    int
		what string
	}{
		{t.prompts[spec.Failed] + t.prompts[spec.Warned], "not followed"}, {t.prompts[spec.Passed], "followed"},
		{t.prompts[spec.Error], "could not be judged"}, {t.prompts[spec.Silent], "not exercised"}, {t.prompts[spec.Skipped], "skipped"},
	} {
		if n.n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if t.deaf && t.prompts[spec.Failed]+t.prompts[spec.Warned]+t.prompts[spec.Passed] == 0 {
		return "" // that is said of all
	}
	return strings.Join(said, ", ")
}

// fatal returns the cause that left next to nothing to judge, nil if there is none: where
// something holds all the same, the numbers say more.
func (d Dialect) fatal() *Cause {
	if slices.ContainsFunc(d.Checks, func(c Check) bool { return c.Verdict == spec.Passed }) {
		return nil
	}
	if i := slices.IndexFunc(d.Causes, func(c Cause) bool { return c.Fatal }); i >= 0 {
		return &d.Causes[i]
	}
	return nil
}

// summary is a dialect in one line: its numbers, or why there are none.
func (d Dialect) summary() string {
	if c := d.fatal(); c != nil {
		return strings.TrimSuffix("next to nothing could be judged: "+c.follows(true), ": ") + d.besides()
	}
	var t tally
	t.count(d)
	return t.String()
}

// besides counts the checks that are bad for a reason of their own.
func (d Dialect) besides() string {
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

// word is what the exit code means.
func (r *Report) word() string {
	switch r.Exit {
	case ExitHolds:
		if r.Counts.Warned > 0 {
			return "PASSED with warnings"
		}
		return "PASSED"
	case ExitBroken:
		return "FAILED"
	case ExitHarness:
		return "HARNESS FAILURE"
	case ExitInterrupted, ExitTerminated:
		return "INTERRUPTED"
	case ExitNothing:
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

// conclusion is the report in one line, without its first word.
func (r *Report) conclusion() string {
	var t tally
	name, fatal := "no dialect", (*Cause)(nil)
	for _, d := range r.Dialects {
		t.count(d)
		name, fatal = d.Dialect, d.fatal()
	}
	s := t.String()
	if len(r.Dialects) > 1 {
		name = several(len(r.Dialects), "dialect")
	} else if fatal != nil {
		return fmt.Sprintf("%s: %s%s  (exit %d)", name, clip(words(fatal.Message), 300), r.Dialects[0].besides(), r.Exit)
	}
	if r.Counts.Failed > 0 && t.verdict[spec.Failed]+t.prompts[spec.Failed] == 0 { // of no requirement in particular
		s = several(r.Counts.Failed, "check") + " failed, " + s
	}
	if n := r.flips(); n > 0 {
		s += fmt.Sprintf(", %d of them flaky in %s", n, several(r.Rounds, "round"))
	} else if r.Rounds > 0 {
		s += ", alike in " + several(r.Rounds, "round")
	}
	return fmt.Sprintf("%s: %s  (exit %d)", name, s, r.Exit)
}
