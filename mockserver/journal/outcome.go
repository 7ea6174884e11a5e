package journal

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/spec"
)

// An Outcome is the verdict on all clients of a mock. Its JSON form follows the JSON report of a
// conformance run where possible. In place of the checks of a run it has the kinds of findings and
// the expected calls.
type Outcome struct {
	Verdict   spec.Verdict     `json:"verdict"`
	ExitCode  int              `json:"exit"`
	Strict    bool             `json:"strict"`
	Exchanges int              `json:"asked"`     // exchanges that were judged
	Forgotten uint64           `json:"forgotten"` // exchanges that were dropped from the journal
	Counts    map[string]int   `json:"counts"`    // number of checks by verdict
	Dialects  []DialectOutcome `json:"dialects"`
	Failures  []Failure        `json:"failures"`
}

// A DialectOutcome is the part of an Outcome for the requests of one dialect. The one with an empty
// name is for the expected calls and for requests that belong to no dialect.
type DialectOutcome struct {
	Dialect      string                `json:"dialect"`
	Requirements []ViolatedRequirement `json:"requirements"`
	Checks       []CheckResult         `json:"checks"`
}

// A ViolatedRequirement is a requirement that a client violated, with the verdict and the ids of
// the checks that found the violation.
type ViolatedRequirement struct {
	ID      string       `json:"id"`
	Level   spec.Level   `json:"level"`
	Verdict spec.Verdict `json:"verdict"`
	Checks  []string     `json:"checks"`
}

// A CheckResult is the result of one check of clients: a kind of finding or an expected
// call.
type CheckResult struct {
	ID           string            `json:"id"`
	Title        string            `json:"title"`
	Level        spec.Level        `json:"level"`
	Verdict      spec.Verdict      `json:"verdict"`
	Judged       int               `json:"judged"`
	Findings     []ReportedFinding `json:"findings"`
	Requirements []string          `json:"requirements"`
}

// ReportedFinding is a finding as a CheckResult reports it: what was wrong, and in which request.
type ReportedFinding struct {
	Message     string     `json:"message"`
	Level       spec.Level `json:"level"`
	Requirement string     `json:"requirement,omitempty"`
	Exchange    uint64     `json:"exchange"` // id of the exchange; 0: none
	Request     string     `json:"request,omitempty"`
	Location    string     `json:"where"`
}

// Conclude judges the exchanges in j that match f. The result contains the findings about them, a
// check for each expected call, the verdict and the exit code.
func (x Expect) Conclude(j *Journal, f Filter) Outcome {
	out := Outcome{Strict: x.Strict, Counts: map[string]int{}, Dialects: []DialectOutcome{}, Forgotten: j.Forgotten()}
	exchanges := map[string]int{} // by dialect
	for _, r := range j.selectEntries(Filter{Dialect: f.Dialect, Test: f.Test, After: f.After, Since: f.Since}) {
		if r.lock() {
			exchanges[r.buffer.dialect]++
			out.Exchanges++
			r.buffer.mu.Unlock()
		}
	}
	found := j.Judge(f)
	if x.AllowUnmatched {
		found = slices.DeleteFunc(found, func(g LocatedFinding) bool {
			return g.Kind == FindingRoute || g.Kind == FindingUnmatched
		})
	}
	for _, g := range found {
		exchanges[g.Dialect] += 0 // all exchanges of the dialect may have been dropped
	}
	for _, name := range sortedKeys(exchanges) {
		out.Dialects = append(out.Dialects, dialectOutcome(name, exchanges[name], found))
	}
	out.Failures = j.Verify(f, x)
	if len(x.Calls) > 0 {
		i := slices.IndexFunc(out.Dialects, func(t DialectOutcome) bool { return t.Dialect == "" })
		if i < 0 {
			i = len(out.Dialects)
			out.Dialects = append(out.Dialects, DialectOutcome{Requirements: []ViolatedRequirement{}})
		}
		out.Dialects[i].Checks = append(out.Dialects[i].Checks, x.callChecks(out.Failures)...)
	}
	out.conclude(len(found))
	return out
}

// dialectOutcome returns the outcome for the named dialect, with one check for each kind of
// finding. The parameter exchanges is the number of exchanges of the dialect. Findings in found
// about other dialects are ignored.
func dialectOutcome(name string, exchanges int, found []LocatedFinding) DialectOutcome {
	t := DialectOutcome{Dialect: name, Requirements: []ViolatedRequirement{}, Checks: []CheckResult{}}
	for _, kind := range findingKinds {
		c := CheckResult{
			ID: kind.id, Title: kind.title, Level: spec.Must, Judged: exchanges,
			Findings: []ReportedFinding{}, Requirements: []string{},
		}
		if exchanges > 0 {
			c.Verdict = spec.Passed
		}
		for _, g := range found {
			if g.Kind != kind.id || g.Dialect != name || g.Level.FailureVerdict() == spec.Passed {
				continue
			}
			c.Judged = max(c.Judged, 1)
			c.Verdict = max(c.Verdict, g.Level.FailureVerdict())
			if len(c.Findings) < spec.MaxFindings {
				c.Findings = append(c.Findings, ReportedFinding{g.Message, g.Level, g.Requirement, g.ID, g.Request, g.Where})
			}
			if g.Requirement != "" && !slices.Contains(c.Requirements, g.Requirement) {
				c.Requirements = append(c.Requirements, g.Requirement)
				t.Requirements = append(t.Requirements, ViolatedRequirement{
					g.Requirement, g.Level, g.Level.FailureVerdict(), []string{kind.id},
				})
			}
		}
		if c.Verdict == spec.Warned {
			c.Level = spec.Should
		}
		t.Checks = append(t.Checks, c)
	}
	return t
}

// callChecks returns one check result for each expected call. The verdict is failed if failures
// contains an entry for the call, and passed otherwise.
func (x Expect) callChecks(failures []Failure) (all []CheckResult) {
	for i, call := range x.Calls {
		c := CheckResult{ID: fmt.Sprintf("expect.%d", i+1), Title: call.String() + ": " + call.countText(), Level: spec.Must,
			Verdict: spec.Passed, Judged: 1, Findings: []ReportedFinding{}, Requirements: []string{}}
		for _, f := range failures {
			if f.Call == i {
				c.Verdict = spec.Failed
				c.Findings = append(c.Findings, ReportedFinding{Message: f.Message, Level: spec.Must})
			}
		}
		all = append(all, c)
	}
	return all
}

// conclude sets the counts, the verdict and the exit code from the checks. found is the number of
// findings. If there are neither exchanges nor findings, the verdict is silent, whatever calls
// were expected.
func (o *Outcome) conclude(found int) {
	for _, v := range []spec.Verdict{spec.Passed, spec.Failed, spec.Warned, spec.Silent, spec.Skipped, spec.Error} {
		o.Counts[v.String()] = 0
	}
	for _, d := range o.Dialects {
		for _, c := range d.Checks {
			o.Counts[c.Verdict.String()]++
			o.Verdict = max(o.Verdict, c.Verdict)
		}
	}
	switch {
	case o.Exchanges == 0 && found == 0:
		o.Verdict, o.ExitCode = spec.Silent, exitcode.Inconclusive
	case o.Verdict == spec.Failed || o.Strict && o.Verdict == spec.Warned:
		o.ExitCode = exitcode.Failed
	}
}

// WriteJSON writes the outcome to w as one line of JSON. It returns any error from encoding the
// outcome or from writing to w.
func (o Outcome) WriteJSON(w io.Writer) error {
	data, err := encodeJSON(o)
	if err == nil {
		_, err = w.Write(append(data, '\n'))
	}
	return err
}

// Text returns the outcome as text: a line for each finding and, at the end, a line with the
// verdict and the number of exchanges.
func (o Outcome) Text() string {
	var b strings.Builder
	for _, d := range o.Dialects {
		for _, c := range d.Checks {
			for _, f := range c.Findings {
				if f.Exchange == 0 {
					fmt.Fprintf(&b, "%s %s\n", c.Verdict, f.Message)
					continue
				}
				rule := c.ID
				if f.Requirement != "" {
					rule = f.Requirement
				}
				fmt.Fprintf(&b, "%s %s %s: #%d %s: %s: %s\n",
					f.Level.FailureVerdict(), f.Level, rule, f.Exchange, f.Request, f.Location, f.Message)
			}
		}
	}
	switch {
	case o.ExitCode == exitcode.Inconclusive:
		b.WriteString("no requests received\n")
	case o.Forgotten > 0:
		fmt.Fprintf(&b, "%s: %d exchanges, and %d older ones dropped from the journal\n", o.Verdict, o.Exchanges, o.Forgotten)
	default:
		fmt.Fprintf(&b, "%s: %d exchanges\n", o.Verdict, o.Exchanges)
	}
	return b.String()
}

// sortedKeys returns the keys of m in ascending order.
func sortedKeys(m map[string]int) []string {
	all := make([]string, 0, len(m))
	for name := range m {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
