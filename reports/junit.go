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

// WriteJUnit writes the report as JUnit XML: a test suite for each dialect, a test
// case for each check and scenario. A failure is the target's, an error is not; a
// broken SHOULD is in the output of a test that passed. The encoder replaces what
// XML cannot hold.
func WriteJUnit(w io.Writer, r *Report) error {
	all := junitSuites{Name: words(r.Tool + " " + r.Target), Time: fmt.Sprintf("%.3f", float64(r.DurationMS)/1000)}
	for _, d := range r.Dialects {
		s := junitSuite{Name: visible(d.Dialect), Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05")}
		for _, c := range d.Checks {
			s.add(d, c, r.Strict)
		}
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
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

// details is everything there is to know of an entry, in lines.
func (c Check) details(d Dialect) string {
	var b strings.Builder
	if c.Note != "" {
		fmt.Fprintf(&b, "%s\n", words(c.Note))
	}
	if c.Flaky != nil {
		fmt.Fprintf(&b, "flaky: %s\n", words(c.flips()))
	}
	for _, f := range c.shown() {
		fmt.Fprintf(&b, "%s\n  %s\n", words(f.Message), visible(f.place()))
		for _, l := range rawLines(f.Raw, MostRaw, 40) {
			fmt.Fprintf(&b, "  | %s\n", l)
		}
	}
	if n := c.more(); n > 0 {
		fmt.Fprintf(&b, "… and %d more\n", n)
	}
	for _, law := range d.broken(c) {
		fmt.Fprintf(&b, "%s %s: “%s” (%s)\n", law.Level, words(law.ID), words(law.Quote), words(law.Source))
	}
	if c.Curl != "" {
		fmt.Fprintf(&b, "reproduce: %s\n", visible(c.Curl))
	}
	if c.Transcript != "" {
		fmt.Fprintf(&b, "recorded: %s\n", visible(c.Transcript))
	}
	fmt.Fprintf(&b, "explain: streamassay explain %s\n", visible(c.ID))
	return b.String()
}
