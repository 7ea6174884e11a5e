package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// junitSuites is the root element of a JUnit report: all test suites and the totals of their
// counts.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"` // duration of the run in seconds
	Suites   []junitSuite `xml:"testsuite"`
}

// A junitSuite is one test suite of a JUnit report: that of a dialect, or that of the internal
// errors.
type junitSuite struct {
	Name      string      `xml:"name,attr"` // name of the dialect, or "streamassay" for internal errors
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Timestamp string      `xml:"timestamp,attr"` // start of the run in UTC, without a time zone
	Cases     []junitCase `xml:"testcase"`
}

// A junitCase is one test case of a JUnit report. At most one of Failure, Error and Skipped is set;
// if none is, the test case passed.
type junitCase struct {
	// Class is DIALECT.SCENARIO, DIALECT.cause for a [Cause], or "streamassay" for internal errors.
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"` // details of a passed test case, such as a warning
}

// A junitMessage is the reason why a test case failed, could not be judged or was skipped.
type junitMessage struct {
	Type    string `xml:"type,attr,omitempty"` // level of the check, or kind of the [Cause]
	Message string `xml:"message,attr"`        // one line
	Text    string `xml:",chardata"`           // details
}

// maxCaseFindings is the maximum number of findings that a JUnit test case lists.
const maxCaseFindings = 20

// WriteJUnit writes the report as JUnit XML, with one test suite for each dialect. Internal errors
// of streamassay have a test suite of their own. WriteJUnit returns any error from writing to w.
//
// The suite of a dialect has one test case for each [Cause]. For each scenario, a single skipped
// test case stands for all checks with the verdict silent, and each other check has a test case of
// its own. Results that a cause explains are omitted.
//
// A violation by the server is a failure, and a result that could not be judged is an error. A
// violated SHOULD is a failure if the run is strict. Otherwise the test case passes, and its output
// describes the violation.
func WriteJUnit(w io.Writer, r *Report) error {
	all := junitSuites{Name: singleLine(r.Tool + " " + r.Target), Time: fmt.Sprintf("%.3f", float64(r.DurationMS)/1000)}
	for _, d := range r.Dialects {
		s := junitSuite{Name: safeText(d.Dialect), Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05")}
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
				s.addCheck(d, c, r.Strict)
			}
		}
		for _, name := range scenarios {
			s.addSilent(d, name, silent[name])
		}
		all.add(s)
	}
	if r.Incomplete != "" {
		all.Name += singleLine(" (incomplete: " + r.Incomplete + ")")
	}
	all.addInternalErrors(r)
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

// addCheck adds the test case for c, the result of a check in a scenario. The parameter d is the
// report of the dialect. If strict is true, a violated SHOULD makes the test case fail.
func (s *junitSuite) addCheck(d DialectResults, c Check, strict bool) {
	test := junitCase{Class: safeText(d.Dialect + "." + c.Scenario), Name: singleLine(c.ID + ": " + c.Title)}
	message := &junitMessage{
		Type: safeText(string(c.Level)), Message: singleLine(c.headline()), Text: "\n" + c.detailText(d),
	}
	switch verdict := c.Verdict; {
	case verdict == spec.Failed || verdict == spec.Warned && strict:
		test.Failure = message
	case verdict == spec.Error:
		test.Error = message
	case verdict == spec.Silent || verdict == spec.Skipped:
		test.Skipped = &junitMessage{Message: c.Verdict.String() + ": " + singleLine(c.headline())}
	case verdict == spec.Warned:
		test.Out = "warned: " + message.Message + message.Text
	}
	if c.Flaky != nil && test.Out == "" { // passed or skipped
		test.Out = "flaky: " + singleLine(c.flakyText())
	}
	s.add(test)
}

// add adds a test case to the suite and counts it.
func (s *junitSuite) add(test junitCase) {
	s.Cases = append(s.Cases, test)
	s.Tests++
	switch {
	case test.Failure != nil:
		s.Failures++
	case test.Error != nil:
		s.Errors++
	case test.Skipped != nil:
		s.Skipped++
	}
}

// add appends the suite s to the report, and adds its counts of tests, failures, errors and skipped
// tests to the totals of the report.
func (all *junitSuites) add(s junitSuite) {
	all.Suites = append(all.Suites, s)
	all.Tests, all.Failures = all.Tests+s.Tests, all.Failures+s.Failures
	all.Errors, all.Skipped = all.Errors+s.Errors, all.Skipped+s.Skipped
}

// addCause adds the test case for the cause d.Causes[i]. The worst verdict of the results that the
// cause explains determines whether the test case is an error, fails or passes. The verdict warned
// is a failure only if strict is true.
func (s *junitSuite) addCause(d DialectResults, i int, strict bool) {
	c := d.Causes[i]
	message := &junitMessage{Type: safeText(c.Kind), Message: singleLine(c.Message), Text: "\n" + c.detailText()}
	test := junitCase{Class: safeText(d.Dialect + ".cause"), Name: singleLine("cause: " + c.Kind)}
	switch verdict := d.causeVerdict(i); {
	case verdict == spec.Error:
		test.Error = message
	case verdict == spec.Failed || verdict == spec.Warned && strict:
		test.Failure = message
	default:
		test.Out = message.Message + message.Text
	}
	s.add(test)
}

// causeVerdict returns the worst verdict of the results that the cause with the given index
// explains, or silent if the cause explains no results.
func (d DialectResults) causeVerdict(cause int) (v spec.Verdict) {
	for _, c := range d.Checks {
		if c.Cause != nil && *c.Cause == cause {
			v = max(v, c.Verdict)
		}
	}
	return v
}

// detailText returns the details of the cause for a JUnit report as lines of text: the advice, the
// request and response, how many checks the cause affects, and a command that sends the request.
func (c Cause) detailText() string {
	var b strings.Builder
	if c.Advice != "" {
		fmt.Fprintf(&b, "%s\n", singleLine(c.Advice))
	}
	for _, part := range []struct{ label, text string }{{"sent", c.Request}, {"received", c.Response}} {
		for _, l := range displayLines(part.text, MaxRaw, 20) {
			fmt.Fprintf(&b, "  %s | %s\n", part.label, l)
		}
	}
	if effect := c.consequenceText(true); effect != "" {
		fmt.Fprintf(&b, "%s\n", effect)
	}
	if n := len([]rune(c.Curl)); n > 0 && n <= maxCommand {
		fmt.Fprintf(&b, "reproduce: %s\n", safeText(c.Curl))
	}
	return b.String()
}

// addSilent adds one skipped test case for all checks of the dialect that found nothing to judge in
// the scenario. The argument ids holds the ids of these checks.
func (s *junitSuite) addSilent(d DialectResults, scenario string, ids []string) {
	message := fmt.Sprintf(
		"silent: nothing in this scenario tests %s: %s", printable.Count(len(ids), "check"), strings.Join(ids, ", "))
	s.add(junitCase{
		Class: safeText(d.Dialect + "." + scenario), Name: "silent", Skipped: &junitMessage{Message: singleLine(message)},
	})
}

// addInternalErrors adds a test suite with the internal errors of streamassay as one test case. It
// does nothing if the report has no internal errors.
func (all *junitSuites) addInternalErrors(r *Report) {
	if len(r.Harness) == 0 {
		return
	}
	why := &junitMessage{Message: "judged again, the same bytes got other verdicts"}
	for _, l := range r.Harness {
		why.Text += "\n" + singleLine(l)
	}
	s := junitSuite{Name: "streamassay", Timestamp: r.Started.UTC().Format("2006-01-02T15:04:05")}
	s.add(junitCase{Class: "streamassay", Name: "judges the same bytes alike", Error: why})
	all.add(s)
}

// writeEvidence writes the request and the response of the finding and, if the finding refers to a
// frame, the frame. Each line begins with a label, such as "sent". If neither the request nor the
// response is known, writeEvidence writes only f.Raw, without a label.
func (f Finding) writeEvidence(b *strings.Builder) {
	parts := []struct{ label, text string }{{"sent", f.Request}, {"received", f.Response}, {"event", f.Raw}}
	if f.Request+f.Response == "" {
		parts = parts[2:]
		parts[0].label = ""
	} else if f.Event == nil {
		parts = parts[:2]
	}
	for _, part := range parts {
		for _, l := range displayLines(part.text, MaxRaw, 40) {
			fmt.Fprintf(b, "  %s\n", strings.TrimSpace(part.label+" | "+l))
		}
	}
}

// detailText returns the details of the result for a JUnit report as lines of text: the findings,
// the violated requirements and a command that reproduces the result. The parameter d is the report
// of the dialect, which contains the requirements.
func (c Check) detailText(d DialectResults) string {
	var b strings.Builder
	if c.Note != "" {
		fmt.Fprintf(&b, "%s\n", singleLine(c.Note))
	}
	if c.Flaky != nil {
		fmt.Fprintf(&b, "flaky: %s\n", singleLine(c.flakyText()))
	}
	for i, f := range c.Findings {
		if i == maxCaseFindings {
			fmt.Fprintf(&b, "… and %d more\n", len(c.Findings)-i)
			break
		}
		fmt.Fprintf(&b, "%s\n  %s\n", singleLine(f.Message), safeText(f.locationText()))
		f.writeEvidence(&b)
	}
	if c.Dropped > 0 {
		fmt.Fprintf(&b, "… and %d more that were not kept\n", c.Dropped)
	}
	for _, r := range d.violatedRequirements(c) {
		fmt.Fprintf(&b, "%s %s: %s (%s)\n", r.Level, singleLine(r.ID), singleLine(r.quotedText(4000)), singleLine(r.Source))
		if r.English != "" {
			fmt.Fprintf(&b, "  in English: %s\n", singleLine(r.English))
		}
	}
	if again := c.reproduceCommand(maxCommand); again != "" {
		fmt.Fprintf(&b, "reproduce: %s\n", safeText(again))
	}
	if c.Transcript != "" {
		fmt.Fprintf(&b, "recorded: %s\n", safeText(c.recordingText()))
	}
	fmt.Fprintf(&b, "explain: streamassay explain %s\n", safeText(c.ID))
	return b.String()
}
