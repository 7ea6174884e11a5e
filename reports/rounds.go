package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// Rounds puts the reports of one suite that was played several times together: of each
// entry the worst one stays, with a count of all. The zero value has none.
type Rounds struct {
	all     *Report
	n       int
	exit    int
	verdict spec.Verdict
	laws    map[[2]string]*tried // dialect and requirement
	checks  map[[3]string]*tried // dialect, scenario and check
}

// A tried entry is where it stands in its list, and how often it came out how.
type tried struct {
	at int
	Counts
}

// Add takes in one more round, which is concluded. The report is the Rounds' from now on.
func (s *Rounds) Add(r *Report) {
	s.n++
	s.verdict = max(s.verdict, r.Verdict)
	if s.all == nil {
		s.all, s.exit = r, r.Exit
		s.laws, s.checks = map[[2]string]*tried{}, map[[3]string]*tried{}
	} else {
		s.exit = graver(s.exit, r.Exit)
		s.all.DurationMS += r.DurationMS
		s.all.Harness = append(s.all.Harness, r.Harness...)
		s.all.Incomplete = cmp.Or(s.all.Incomplete, r.Incomplete)
	}
	for _, d := range r.Dialects {
		into := s.dialect(d.Dialect)
		for _, note := range d.Notes {
			if !slices.Contains(into.Notes, note) {
				into.Notes = append(into.Notes, note)
			}
		}
		for _, law := range d.Requirements {
			s.law(into, law)
		}
		for _, c := range d.Checks {
			s.check(into, c)
		}
	}
}

// dialect is where a dialect's entries are kept.
func (s *Rounds) dialect(name string) *Dialect {
	at := func(d Dialect) bool { return d.Dialect == name }
	if i := slices.IndexFunc(s.all.Dialects, at); i >= 0 {
		return &s.all.Dialects[i]
	}
	s.all.Dialects = append(s.all.Dialects, Dialect{Dialect: name})
	return &s.all.Dialects[len(s.all.Dialects)-1]
}

func (s *Rounds) law(d *Dialect, r Requirement) {
	key := [2]string{d.Dialect, r.ID}
	t, known := s.laws[key]
	if !known {
		t = &tried{at: slices.IndexFunc(d.Requirements, func(o Requirement) bool { return o.ID == r.ID })}
		s.laws[key] = t
	}
	t.add(r.Verdict)
	if t.at < 0 {
		t.at, d.Requirements = len(d.Requirements), append(d.Requirements, r)
	} else if tells(r.Verdict, d.Requirements[t.at].Verdict) {
		d.Requirements[t.at] = r
	}
}

func (s *Rounds) check(d *Dialect, c Check) {
	key := [3]string{d.Dialect, c.Scenario, c.ID}
	t, known := s.checks[key]
	if !known {
		t = &tried{at: slices.IndexFunc(d.Checks, func(o Check) bool { return o.ID == c.ID && o.Scenario == c.Scenario })}
		s.checks[key] = t
	}
	t.add(c.Verdict)
	c.Round = s.n
	switch {
	case t.at < 0:
		t.at, d.Checks = len(d.Checks), append(d.Checks, c)
	case d.Checks[t.at].Round == 0 || tells(c.Verdict, d.Checks[t.at].Verdict):
		d.Checks[t.at] = c
	}
}

// tells says that one round's verdict says more than another's: the worse one does, but
// what one round has proven is not undone by another that could not tell.
func tells(v, than spec.Verdict) bool {
	weight := func(v spec.Verdict) int {
		if v == spec.Error {
			return 2*int(spec.Passed) + 1 // more than passed, less than warned
		}
		return 2 * int(v)
	}
	return weight(v) > weight(than)
}

// graver is the exit code of two rounds together: the harness's own failure, then what
// is broken, then that nothing could be told.
func graver(a, b int) int {
	order := []int{ExitHolds, ExitNothing, ExitBroken, ExitInterrupted, ExitTerminated, ExitHarness}
	return order[max(slices.Index(order, a), slices.Index(order, b), 0)]
}

// Report is all rounds in one: every entry that did not come out alike in all of them
// says how often it came out how, and verdict and exit code are those of the worst round.
func (s *Rounds) Report() *Report {
	r := s.all
	r.Rounds = s.n
	for i := range r.Dialects {
		d := &r.Dialects[i]
		for k := range d.Requirements {
			d.Requirements[k].Flaky = s.laws[[2]string{d.Dialect, d.Requirements[k].ID}].flaky()
		}
		for k := range d.Checks {
			c := &d.Checks[k]
			if c.Flaky = s.checks[[3]string{d.Dialect, c.Scenario, c.ID}].flaky(); c.Flaky == nil {
				c.Round = 0
			}
		}
	}
	r.Conclude(Options{Strict: r.Strict})
	r.Verdict, r.Exit = s.verdict, s.exit
	return r
}

// flaky is the counts, if there are several verdicts among them.
func (c *Counts) flaky() *Counts {
	if len(c.said()) < 2 {
		return nil
	}
	return c
}

// said are the verdicts that were counted, the worst first.
func (c *Counts) said() (all []string) {
	for _, n := range []struct {
		n int
		v spec.Verdict
	}{{c.Error, spec.Error}, {c.Failed, spec.Failed}, {c.Warned, spec.Warned}, {c.Passed, spec.Passed}, {c.Skipped, spec.Skipped}, {c.Silent, spec.Silent}} {
		if n.n > 0 {
			all = append(all, fmt.Sprintf("%s %d", n.v, n.n))
		}
	}
	return all
}

// String says the numbers that are not 0, in words such as "failed 1, passed 9".
func (c *Counts) String() string { return strings.Join(c.said(), ", ") }

// flips says how an entry came out in the rounds, "" if always alike.
func (c Check) flips() string {
	if c.Flaky == nil {
		return ""
	}
	return fmt.Sprintf("%s; told of here: round %d", c.Flaky, c.Round)
}

// flaky are the requirements of a dialect that did not come out alike in all rounds.
func (d Dialect) flaky() []Requirement {
	return slices.DeleteFunc(slices.Clone(d.Requirements), func(r Requirement) bool { return r.Flaky == nil })
}

// flips counts the requirements that did not come out alike.
func (r *Report) flips() (n int) {
	for _, d := range r.Dialects {
		n += len(d.flaky())
	}
	return n
}

// writeRounds tells people what did not come out alike, and what the harness itself got
// wrong.
func (r *Report) writeRounds(b *strings.Builder, s Style) {
	for _, d := range r.Dialects {
		laws := d.flaky()
		if len(laws) == 0 {
			continue
		}
		fmt.Fprintf(b, "%s  %s: not alike in %s\n", s.verdict(spec.Warned, "FLAKY"), visible(d.Dialect), several(r.Rounds, "round"))
		for _, law := range laws {
			labelled(b, string(law.Level), words(law.ID+": "+law.Flaky.String()))
		}
		b.WriteString("\n")
	}
	if len(r.Harness) == 0 {
		return
	}
	fmt.Fprintf(b, "%s  the same bytes got other verdicts when they were judged again: that is no fault of the target\n", s.verdict(spec.Error, "HARNESS FLAKY"))
	for _, why := range r.Harness {
		line(b, "  • ", clip(words(why), 600))
	}
	b.WriteString("\n")
}
