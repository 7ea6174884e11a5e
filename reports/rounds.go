package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// A RoundMerger merges the reports of the rounds of a repeated test run into one report. For each
// requirement and check it keeps the worst result and counts the rounds with each verdict. The zero
// value is a merger to which no round has been added.
type RoundMerger struct {
	report       *Report                           // report of the first round, into which the others are merged
	count        int                               // number of rounds
	exit         int                               // worst exit code of a round so far
	verdict      spec.Verdict                      // worst verdict of a round so far
	requirements map[[2]string]*countsAcrossRounds // dialect and requirement
	checks       map[[3]string]*countsAcrossRounds // dialect, scenario and check
}

// A countsAcrossRounds counts the verdicts of one requirement, or of one check in a scenario, over
// all rounds.
type countsAcrossRounds struct {
	index int // of the entry in DialectResults.Requirements or DialectResults.Checks
	Counts
}

// AddRound adds r, the report of one more round. [Report.Conclude] must have been called on r.
// AddRound retains r and may modify it, so the caller must not use r afterwards.
func (s *RoundMerger) AddRound(r *Report) {
	s.count++
	s.verdict = max(s.verdict, r.Verdict)
	if s.report == nil {
		s.report, s.exit = r, r.Exit
		s.requirements, s.checks = map[[2]string]*countsAcrossRounds{}, map[[3]string]*countsAcrossRounds{}
	} else {
		s.exit = exitcode.Worse(s.exit, r.Exit)
		s.report.DurationMS += r.DurationMS
		s.report.Harness = append(s.report.Harness, r.Harness...)
		s.report.Incomplete = cmp.Or(s.report.Incomplete, r.Incomplete)
	}
	for _, d := range r.Dialects {
		into := s.dialectReport(d.Dialect)
		if s.report != r {
			into.addCauses(&d)
		}
		for _, note := range d.Notes {
			if !slices.Contains(into.Notes, note) {
				into.Notes = append(into.Notes, note)
			}
		}
		for _, r := range d.Requirements {
			s.addRequirement(into, r)
		}
		for _, c := range d.Checks {
			s.addCheck(into, c)
		}
	}
}

// addCauses appends the causes of other, the report of the same dialect in a later round, to d. It
// leaves out causes that d already has. It marks appended causes as not fatal, because an earlier
// round did not have them. It also changes the field Cause of the checks of other to the indexes of
// the causes in d.
func (d *DialectResults) addCauses(other *DialectResults) {
	index := make([]int, len(other.Causes)) // in d.Causes
	for i, c := range other.Causes {
		same := func(o Cause) bool { return o.Kind == c.Kind && o.Message == c.Message && o.Scenario == c.Scenario }
		if index[i] = slices.IndexFunc(d.Causes, same); index[i] < 0 {
			c.Fatal = false
			index[i], d.Causes = len(d.Causes), append(d.Causes, c)
		}
	}
	for i, c := range other.Checks {
		if c.Cause != nil && *c.Cause < len(index) {
			other.Checks[i].Cause = &index[*c.Cause]
		}
	}
}

// dialectReport returns the part of the merged report about the dialect with the given name. If the
// report has no such part yet, dialectReport adds an empty one.
func (s *RoundMerger) dialectReport(name string) *DialectResults {
	at := func(d DialectResults) bool { return d.Dialect == name }
	if i := slices.IndexFunc(s.report.Dialects, at); i >= 0 {
		return &s.report.Dialects[i]
	}
	s.report.Dialects = append(s.report.Dialects, DialectResults{Dialect: name})
	return &s.report.Dialects[len(s.report.Dialects)-1]
}

// addRequirement merges r, the result for a requirement in one round, into d, the part of the
// merged report about the dialect of the requirement.
func (s *RoundMerger) addRequirement(d *DialectResults, r RequirementResult) {
	key := [2]string{d.Dialect, r.ID}
	t, known := s.requirements[key]
	if !known {
		i := slices.IndexFunc(d.Requirements, func(o RequirementResult) bool { return o.ID == r.ID })
		t = &countsAcrossRounds{index: i}
		s.requirements[key] = t
	}
	t.add(r.Verdict)
	if t.index < 0 {
		t.index, d.Requirements = len(d.Requirements), append(d.Requirements, r)
	} else if old := d.Requirements[t.index].Verdict; worseOfRequirement(old, r.Verdict) != old {
		d.Requirements[t.index] = r
	}
}

// addCheck merges c, the result of a check in one round, into d, the part of the merged report
// about the dialect in which the check was made.
func (s *RoundMerger) addCheck(d *DialectResults, c Check) {
	key := [3]string{d.Dialect, c.Scenario, c.ID}
	t, known := s.checks[key]
	if !known {
		same := func(o Check) bool { return o.ID == c.ID && o.Scenario == c.Scenario }
		t = &countsAcrossRounds{index: slices.IndexFunc(d.Checks, same)}
		s.checks[key] = t
	}
	t.add(c.Verdict)
	c.Round = s.count
	switch {
	case t.index < 0:
		t.index, d.Checks = len(d.Checks), append(d.Checks, c)
	case d.Checks[t.index].Round == 0 || isMoreSevere(c.Verdict, d.Checks[t.index].Verdict):
		d.Checks[t.index] = c
	}
}

// isMoreSevere reports whether the verdict v on a check is worse than the verdict other on the same
// check. The verdict error, which means that nothing was judged, is worse than passed, but not
// worse than warned or failed. For requirements, see worseOfRequirement.
func isMoreSevere(v, other spec.Verdict) bool {
	weight := func(v spec.Verdict) int {
		if v == spec.Error {
			return 2*int(spec.Passed) + 1 // more than passed, less than warned
		}
		return 2 * int(v)
	}
	return weight(v) > weight(other)
}

// Merged returns the merged report of all rounds. AddRound must have been called at least once. If
// the verdict of a requirement or check differs between rounds, the field Flaky of its result holds
// the number of rounds with each verdict. The verdict of the report is the worst verdict of a
// round, and its exit code is the worst exit code of a round (see exitcode.Worse).
func (s *RoundMerger) Merged() *Report {
	r := s.report
	r.Rounds = s.count
	for i := range r.Dialects {
		d := &r.Dialects[i]
		for k := range d.Requirements {
			d.Requirements[k].Flaky = s.requirements[[2]string{d.Dialect, d.Requirements[k].ID}].ifFlaky()
		}
		for k := range d.Checks {
			c := &d.Checks[k]
			if c.Flaky = s.checks[[3]string{d.Dialect, c.Scenario, c.ID}].ifFlaky(); c.Flaky == nil {
				c.Round = 0
			}
		}
	}
	r.Conclude(ExitCodeOptions{Strict: r.Strict})
	r.Verdict, r.Exit = s.verdict, s.exit
	return r
}

// ifFlaky returns c if at least two of its numbers are not 0, that is, if the counted verdicts
// differ. Otherwise it returns nil.
func (c *Counts) ifFlaky() *Counts {
	if len(c.nonZero()) < 2 {
		return nil
	}
	return c
}

// nonZero returns the numbers that are not 0, each as a text such as "failed 1", the worst verdict
// first.
func (c *Counts) nonZero() (all []string) {
	for v := spec.Error; v >= spec.Silent; v-- {
		if n := *c.of(v); n > 0 {
			all = append(all, fmt.Sprintf("%s %d", v, n))
		}
	}
	return all
}

// String returns the numbers that are not 0, the worst verdict first, as text such as
// "failed 1, passed 9".
func (c *Counts) String() string { return strings.Join(c.nonZero(), ", ") }

// flakyText returns a text that states in how many rounds the result had each verdict, and which
// round the report shows. It returns "" if the verdict was the same in all rounds.
func (c Check) flakyText() string {
	if c.Flaky == nil {
		return ""
	}
	return fmt.Sprintf("%s; shown here: round %d", c.Flaky, c.Round)
}

// flakyRequirements returns the requirements of the dialect whose verdict differs between rounds.
func (d DialectResults) flakyRequirements() []RequirementResult {
	return slices.DeleteFunc(slices.Clone(d.Requirements), func(r RequirementResult) bool { return r.Flaky == nil })
}

// countFlaky returns the number of requirements, in all dialects together, whose verdict differs
// between rounds.
func (r *Report) countFlaky() (n int) {
	for _, d := range r.Dialects {
		n += len(d.flakyRequirements())
	}
	return n
}

// writeRounds writes, for a repeated test run, the requirements whose verdict differs between rounds,
// followed by the internal errors of streamassay.
func (r *Report) writeRounds(b *strings.Builder, s TextStyle) {
	for _, d := range r.Dialects {
		flaky := d.flakyRequirements()
		if len(flaky) == 0 {
			continue
		}
		fmt.Fprintf(b,
			"%s  %s: verdicts differ between %s\n", s.colorVerdict(spec.Warned, "FLAKY"), safeText(d.Dialect), printable.Count(r.Rounds, "round"))
		for _, f := range flaky {
			writeLabelled(b, string(f.Level), singleLine(f.ID+": "+f.Flaky.String()))
		}
		b.WriteString("\n")
	}
	if len(r.Harness) == 0 {
		return
	}
	fmt.Fprintf(b,
		"%s  judged again, the same bytes got other verdicts: an error of streamassay, not of the server\n", s.colorVerdict(spec.Error, "INTERNAL ERROR"))
	for _, why := range r.Harness {
		writeWrapped(b, "  • ", truncateText(singleLine(why), 600))
	}
	b.WriteString("\n")
}
