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
// case for each check and scenario. A failure is the target's, an error is not.
func WriteJUnit(w io.Writer, r *Report) error {
	all := junitSuites{Name: "streamassay " + legal(r.Target), Time: fmt.Sprintf("%.3f", float64(r.DurationMS)/1000)}
	for _, d := range r.Dialects {
		s := junitSuite{Name: d.Dialect, Timestamp: r.Started.Format("2006-01-02T15:04:05")}
		for _, c := range d.Checks {
			s.add(d, c)
		}
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
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

func (s *junitSuite) add(d Dialect, c Check) {
	test := junitCase{Class: d.Dialect + "." + c.Scenario, Name: c.ID + ": " + c.Title}
	said := &junitMessage{Type: string(c.Level), Message: legal(c.headline()), Text: "\n" + legal(c.details(d))}
	s.Tests++
	switch c.Verdict {
	case spec.Failed:
		s.Failures++
		test.Failure = said
	case spec.Error:
		s.Errors++
		test.Error = said
	case spec.Silent, spec.Skipped:
		s.Skipped++
		test.Skipped = &junitMessage{Message: legal(c.headline())}
	case spec.Warned:
		test.Out = "warned: " + said.Message + said.Text
	}
	s.Cases = append(s.Cases, test)
}

// headline is the one thing to know of a result that is not good.
func (c Check) headline() string {
	switch {
	case len(c.Findings) > 0:
		return c.Findings[0].Message
	case c.Note != "":
		return c.Note
	}
	return c.Verdict.String() + ": nothing exercised it"
}

// details is everything else, a few lines for each of the first findings.
func (c Check) details(d Dialect) string {
	var b strings.Builder
	for i, f := range c.Findings {
		if i == 3 {
			fmt.Fprintf(&b, "… and %d more\n", len(c.Findings)-i+c.Dropped)
			break
		}
		fmt.Fprintf(&b, "%s\n  at %s\n", f.Message, f.place())
		if f.Raw != "" {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(strings.TrimRight(f.Raw, "\r\n"), "\n", "\n  "))
		}
		if law, ok := d.requirement(f.Requirement); ok {
			fmt.Fprintf(&b, "  %s %s: “%s” (%s)\n", law.Level, law.ID, law.Quote, law.Source)
		}
	}
	if c.Curl != "" {
		fmt.Fprintf(&b, "reproduce: %s\n", c.Curl)
	}
	return b.String()
}

func (d Dialect) requirement(id string) (Requirement, bool) {
	for _, r := range d.Requirements {
		if r.ID == id {
			return r, true
		}
	}
	return Requirement{}, false
}

// place says where in the conversation a finding stands.
func (f Finding) place() string {
	s := fmt.Sprintf("exchange %d", f.Exchange)
	if f.Event != nil {
		s += fmt.Sprintf(", event %d", *f.Event)
	}
	if f.Line > 0 {
		s += fmt.Sprintf(", line %d", f.Line)
	}
	if f.Offset > 0 {
		s += fmt.Sprintf(", byte %d", f.Offset)
	}
	if f.Pointer != "" {
		s += ", " + f.Pointer
	}
	return s
}

// legal replaces what XML cannot hold.
func legal(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r != 0xfffe && r != 0xffff {
			return r
		}
		return '\ufffd'
	}, s)
}
