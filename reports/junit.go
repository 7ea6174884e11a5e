package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// mostInCase bounds the findings that one test case tells.
const mostInCase = 20

// WriteJUnit writes the report as JUnit XML: a test suite for each dialect, in it a test
// case for each cause, then one for each check and scenario that was judged, and one for
// each scenario that names the checks which were not. What follows from a cause is
// counted there. A failure is the target's, an error is not; a broken SHOULD is in the
// output of a test that passed. The encoder replaces what XML cannot hold.
func WriteJUnit(w io.Writer, r *Report) error {
	all := junitSuites{Name: words(r.Tool + " " + r.Target), Time: fmt.Sprintf("%.3f", float64(r.DurationMS)/1000)}
	for _, d := range r.Dialects {
		s := junitSuite{Name: visible(d.Dialect), Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05")}
		for i := range d.Causes {
			s.addCause(d, i, r.Strict)
		}
		silent := map[string][]string{}
		var scenarios []string
		for _, c := range d.Checks {
			switch {
			case c.Cause != nil:
			case c.Verdict == spec.Silent && c.Flaky == nil:
				if silent[c.Scenario] == nil {
					scenarios = append(scenarios, c.Scenario)
				}
				silent[c.Scenario] = append(silent[c.Scenario], c.ID)
			default:
				s.add(d, c, r.Strict)
			}
		}
		for _, name := range scenarios {
			s.addSilent(d, name, silent[name])
		}
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
	if r.Incomplete != "" {
		all.Name += words(" (incomplete: " + r.Incomplete + ")")
	}
	all.addHarness(r)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", " ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(d Dialect, c Check, strict bool) {
	test := junitCase{Class: visible(d.Dialect + "." + c.Scenario), Name: words(c.ID + ": " + c.Title)}
	said := &junitMessage{Type: visible(string(c.Level)), Message: words(c.headline()), Text: "\n" + c.details(d)}
	s.Tests++
	switch verdict := c.Verdict; {
	case verdict == spec.Failed || verdict == spec.Warned && strict:
		s.Failures++
		test.Failure = said
	case verdict == spec.Error:
		s.Errors++
		test.Error = said
	case verdict == spec.Silent || verdict == spec.Skipped:
		s.Skipped++
		test.Skipped = &junitMessage{Message: c.Verdict.String() + ": " + words(c.headline())}
	case verdict == spec.Warned:
		test.Out = "warned: " + said.Message + said.Text
	}
	if c.Flaky != nil && test.Out == "" { // a test that is passed or left out shows nothing else
		test.Out = "flaky: " + words(c.flips())
	}
	s.Cases = append(s.Cases, test)
}

// addCause is a test that fails as what follows from the cause does.
func (s *junitSuite) addCause(d Dialect, i int, strict bool) {
	c := d.Causes[i]
	said := &junitMessage{Type: visible(c.Kind), Message: words(c.Message), Text: "\n" + c.details()}
	test := junitCase{Class: visible(d.Dialect + ".cause"), Name: words("cause: " + c.Kind)}
	s.Tests++
	switch verdict := d.worstOf(i); {
	case verdict == spec.Error:
		s.Errors++
		test.Error = said
	case verdict == spec.Failed || verdict == spec.Warned && strict:
		s.Failures++
		test.Failure = said
	default:
		test.Out = said.Message + said.Text
	}
	s.Cases = append(s.Cases, test)
}

// worstOf is the worst verdict that follows from a cause.
func (d Dialect) worstOf(cause int) (v spec.Verdict) {
	for _, c := range d.Checks {
		if c.Cause != nil && *c.Cause == cause {
			v = max(v, c.Verdict)
		}
	}
	return v
}

// details is everything there is to know of a cause, in lines.
func (c Cause) details() string {
	var b strings.Builder
	if c.Advice != "" {
		fmt.Fprintf(&b, "%s\n", words(c.Advice))
	}
	for _, part := range []struct{ label, text string }{{"sent", c.Request}, {"answered", c.Response}} {
		for _, l := range rawLines(part.text, MostRaw, 20) {
			fmt.Fprintf(&b, "  %s | %s\n", part.label, l)
		}
	}
	if follows := c.follows(true); follows != "" {
		fmt.Fprintf(&b, "%s\n", follows)
	}
	if n := len([]rune(c.Curl)); n > 0 && n <= mostCommand {
		fmt.Fprintf(&b, "reproduce: %s\n", visible(c.Curl))
	}
	return b.String()
}

// addSilent is a test that was left out: it stands for all checks of a scenario that
// nothing exercised.
func (s *junitSuite) addSilent(d Dialect, scenario string, ids []string) {
	s.Tests++
	s.Skipped++
	message := fmt.Sprintf("silent: nothing in this scenario exercised %s: %s", several(len(ids), "check"), strings.Join(ids, ", "))
	s.Cases = append(s.Cases, junitCase{Class: visible(d.Dialect + "." + scenario), Name: "silent", Skipped: &junitMessage{Message: words(message)}})
}

// addHarness is a test that is no fault of the target.
func (all *junitSuites) addHarness(r *Report) {
	if len(r.Harness) == 0 {
		return
	}
	why := &junitMessage{Message: "the same bytes got other verdicts when they were judged again"}
	for _, l := range r.Harness {
		why.Text += "\n" + words(l)
	}
	s := junitSuite{Name: "harness", Tests: 1, Errors: 1, Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05")}
	s.Cases = []junitCase{{Class: "harness", Name: "judges the same bytes alike", Error: why}}
	all.Tests, all.Errors, all.Suites = all.Tests+1, all.Errors+1, append(all.Suites, s)
}

// evidence writes what was sent and answered, and the bytes of the event.
func (f Finding) evidence(b *strings.Builder) {
	parts := []struct{ label, text string }{{"sent", f.Request}, {"answered", f.Response}, {"event", f.Raw}}
	if f.Request+f.Response == "" {
		parts = parts[2:]
		parts[0].label = ""
	} else if f.Event == nil {
		parts = parts[:2]
	}
	for _, part := range parts {
		for _, l := range rawLines(part.text, MostRaw, 40) {
			fmt.Fprintf(b, "  %s\n", strings.TrimSpace(part.label+" | "+l))
		}
	}
}

// details is everything there is to know of an entry, in lines.
func (c Check) details(d Dialect) string {
	var b strings.Builder
	if c.Note != "" {
		fmt.Fprintf(&b, "%s\n", words(c.Note))
	}
	if c.Flaky != nil {
		fmt.Fprintf(&b, "flaky: %s\n", words(c.flips()))
	}
	for i, f := range c.Findings {
		if i == mostInCase {
			fmt.Fprintf(&b, "… and %d more\n", len(c.Findings)-i)
			break
		}
		fmt.Fprintf(&b, "%s\n  %s\n", words(f.Message), visible(f.place()))
		f.evidence(&b)
	}
	if c.Dropped > 0 {
		fmt.Fprintf(&b, "… and %d more that were not kept\n", c.Dropped)
	}
	for _, law := range d.broken(c) {
		fmt.Fprintf(&b, "%s %s: %s (%s)\n", law.Level, words(law.ID), words(law.statement(4000)), words(law.Source))
		if law.English != "" {
			fmt.Fprintf(&b, "  in English: %s\n", words(law.English))
		}
	}
	if again := c.again(mostCommand); again != "" {
		fmt.Fprintf(&b, "reproduce: %s\n", visible(again))
	}
	if c.Transcript != "" {
		fmt.Fprintf(&b, "recorded: %s\n", visible(c.Transcript))
	}
	fmt.Fprintf(&b, "explain: streamassay explain %s\n", visible(c.ID))
	return b.String()
}
