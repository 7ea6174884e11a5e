package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// Limits on what the text report and the Markdown summary show for one check that did not pass.
// They do not apply to a text report in a verbose style.
const (
	maxFindingGroups   = 3 // groups of similar findings, and also violated requirements
	maxSimilarFindings = 2 // findings of a group after its first one; the Markdown summary only counts these
	maxSameChecks      = 8 // other checks that failed because of the same part of a response
)

// isBlocking reports whether reports show the cause as an error. The only cause that is shown as a
// note instead is that the agent does not follow the test prompts.
func (c Cause) isBlocking() bool { return c.Kind != kindNotScripted }

const kindNotScripted = "not-scripted"

// isBlocked reports whether something prevented a complete test of the dialect, that is, whether
// the report shows at least one [Cause] in d as an error.
func (d DialectResults) isBlocked() bool { return slices.ContainsFunc(d.Causes, Cause.isBlocking) }

// writeCauses writes some of the causes of the dialect to b. If blocking is true, it writes those
// that are shown as errors (see isBlocking); otherwise, it writes all others.
func (d DialectResults) writeCauses(b *strings.Builder, s TextStyle, blocking bool) {
	fatal := d.fatalCause()
	for i, c := range d.Causes {
		if c.isBlocking() != blocking {
			continue
		}
		name := s.colorize(dim, safeText(d.Dialect))
		switch {
		case !blocking:
			fmt.Fprintf(b, "%s  %s\n", s.colorVerdict(spec.Warned, "NOTE"), name)
		case fatal == &d.Causes[i]:
			fmt.Fprintf(b, "%s, because:\n", s.colorVerdict(spec.Failed, "COULD NOT TEST")+"  "+name)
		default:
			fmt.Fprintf(b, "%s  %s\n", s.colorVerdict(spec.Failed, "PROBLEM"), name)
		}
		message := wrapText(truncateText(singleLine(c.Message), 600), "    ", lineWidth-4)
		b.WriteString("  • " + s.colorize(bold, message) + "\n") // colored last: the codes take no columns
		if c.Advice != "" {
			writeLabelled(b, "to do", singleLine(c.Advice))
		}
		if c.Fatal || s.Verbose {
			s.writeExcerpt(b, "sent", c.Request)
			s.writeExcerpt(b, "received", c.Response)
		}
		if effect := c.consequenceText(s.Verbose); effect != "" {
			writeLabelled(b, "effect", effect)
		}
		if fatal == &d.Causes[i] {
			isMet := func(r RequirementResult) bool { return r.Verdict != spec.Failed }
			s.writeRequirements(b, slices.DeleteFunc(slices.Clone(d.Requirements), isMet))
		}
		if c.Curl != "" && c.Fatal {
			fmt.Fprintf(b, "  reproduce  %s\n", fullCommand(safeText(c.Curl)))
		}
		b.WriteString("\n")
	}
}

// consequenceText returns a text that states how many checks could not run, failed or had nothing
// to judge only because of the cause. It returns "" if there are none. If verbose is false, the
// text mentions the flag -v, with which the text report lists these checks.
func (c Cause) consequenceText(verbose bool) string {
	if c.Consequences == 0 {
		return ""
	}
	s := printable.Count(c.Consequences, "check") + " could not run or failed only because of this"
	if c.Kind == kindNotScripted {
		s = printable.Count(c.Consequences, "check") + " had nothing to judge"
	}
	if !verbose {
		s += " (list: -v)"
	}
	return s
}

// writeExcerpt writes text, the excerpt of a request or response, with label before the first line.
// It writes at most 8 lines of the head and at most 6 lines of the body. If it shortens the head or
// the body, a note with the number of omitted characters follows that part.
func (s TextStyle) writeExcerpt(b *strings.Builder, label, text string) {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := displayLines(head, lineWidth-13, 8)
	lines = append(lines, displayLines(body, lineWidth-13, 6)...)
	for i, l := range lines {
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(b, "  %s  %s %s\n", s.colorize(dim, fmt.Sprintf("%-8s", label)), s.colorize(dim, "│"), l)
	}
}

// writeText writes the group, whose verdict must not be passed, to the text report: its findings,
// the violated requirements, the other checks that failed because of the same part of a response,
// and how to reproduce the result. The parameter d is the report of the dialect.
func (g checkResultGroup) writeText(b *strings.Builder, d DialectResults, s TextStyle) {
	fmt.Fprintf(b,
		"%s  %s  %s\n", s.colorVerdict(g.Verdict, strings.ToUpper(g.Verdict.String())), s.colorize(bold, safeText(g.ID)), s.colorize(dim, safeText(d.Dialect)))
	if g.Note != "" {
		writeWrapped(b, "  • ", truncateText(singleLine(g.Note), 600))
	}
	violated := d.violatedRequirements(g.Check)
	g.writeFindings(b, violated, s)
	if g.Advice != "" {
		writeLabelled(b, "to do", singleLine(g.Advice))
	}
	writeLabelled(b, "rule", singleLine(g.Title))
	s.writeRequirements(b, violated)
	for _, v := range d.furtherViolations(g) {
		writeLabelled(b, "also", singleLine(v.text(300)))
	}
	g.writeSameChecks(b, d, s)
	if g.Flaky != nil {
		writeLabelled(b, "flaky", singleLine(g.flakyText()))
	}
	writeLabelled(b, "scenario", truncateText(singleLine(g.Scenario+otherScenarios(g.Elsewhere)), 300))
	g.writeReproduce(b)
	if g.Transcript != "" {
		fmt.Fprintf(b, "  recorded   %s\n", safeText(g.recordingText()))
	}
	fmt.Fprintf(b, "  explain    streamassay explain %s\n\n", safeText(g.ID))
}

// recordingText returns the path of the recorded conversation and, if the recording is a transcript
// file, the sections of the file that contain the exchange of the first finding.
func (c Check) recordingText() string {
	if len(c.Findings) == 0 || !strings.HasSuffix(c.Transcript, ".txtar") {
		return c.Transcript
	}
	n := c.Findings[0].Exchange
	return fmt.Sprintf("%s (exchange %d: %d.request, %d.response)", c.Transcript, n, n+1, n+1)
}

// writeReproduce writes the command that reproduces the result. If that command plays the whole
// scenario, but a single request may be enough to reproduce the first finding, the curl command for
// this request follows. Commands are not wrapped, so that they can be copied.
func (c Check) writeReproduce(b *strings.Builder) {
	if again := c.reproduceCommand(maxCommand); again != "" {
		fmt.Fprintf(b, "  reproduce  %s\n", safeText(again))
		if again != c.Curl && c.Curl != "" && len(c.Findings) > 0 &&
			(c.Findings[0].Event == nil || c.Findings[0].Exchange == 0) {
			fmt.Fprintf(b, "  request    %s\n", fullCommand(safeText(c.Curl)))
		}
	} else if c.Curl != "" {
		fmt.Fprintf(b, "  reproduce  %s\n", fullCommand(safeText(c.Curl)))
	}
}

// reproduceCommand returns a command of at most limit characters that reproduces the result of the
// check, or "" if there is none. The command is c.Curl, which sends one request, or, if c.Curl is
// too long or the scenario has several requests, c.Rerun, which plays the scenario again.
func (c Check) reproduceCommand(limit int) string {
	for _, command := range []string{c.Curl, c.Rerun} {
		if command == c.Curl && c.Rerun != "" && c.Requests > 1 {
			continue // one request of several reproduces nothing
		}
		if n := len([]rune(command)); n > 0 && n <= limit {
			return command
		}
	}
	return ""
}

// writeFindings writes the findings of the group, similar findings together. The parameter violated
// holds the requirements to which the findings refer.
func (g checkResultGroup) writeFindings(b *strings.Builder, violated []RequirementResult, s TextStyle) {
	left := 0
	for i, f := range g.findingGroups() {
		if i >= maxFindingGroups && !s.Verbose {
			left += len(f.Findings)
			continue
		}
		g.writeFinding(b, f.Findings[0], violated, s)
		for k, more := range f.Findings[1:] {
			if k >= maxSimilarFindings && !s.Verbose {
				fmt.Fprintf(b, "    … and %d more like this\n", len(f.Findings)-1-k)
				break
			}
			seen, _ := more.splitMessage()
			writeWrapped(b, "    likewise: ", truncateText(singleLine(seen), 300))
			s.writeDimmed(b, "      ", truncateText(safeText(more.locationText()), 300))
		}
	}
	if left > 0 {
		fmt.Fprintf(b, "  … and %d more of other kinds (list: -v)\n", left)
	}
	if g.Dropped > 0 {
		fmt.Fprintf(b, "  … and %d more that were not kept\n", g.Dropped)
	}
}

// writeFinding writes the finding f with its place and the bytes that prove it. The parameter
// violated holds the requirements to which the findings of the check refer.
func (g checkResultGroup) writeFinding(b *strings.Builder, f Finding, violated []RequirementResult, s TextStyle) {
	writeWrapped(b, "  • ", truncateText(singleLine(f.Message), 600))
	at := f.locationText()
	if len(violated) > 1 && f.Requirement != "" {
		at += "; violates " + f.Requirement
	}
	s.writeDimmed(b, "    ", truncateText(safeText(at), 300))
	if f.Event != nil || f.Request == "" && f.Response == "" {
		for _, l := range displayLines(f.Raw, lineWidth-6, 6) {
			fmt.Fprintf(b, "    %s %s\n", s.colorize(dim, "│"), l)
		}
		return
	}
	s.writeExcerpt(b, "sent", f.Request)
	s.writeExcerpt(b, "received", f.Response)
}

// writeRequirements writes the text and the source of the requirements in violated. If s.Verbose is
// false, it writes the text and source of only the first maxFindingGroups requirements, and the
// levels and ids of the others.
func (s TextStyle) writeRequirements(b *strings.Builder, violated []RequirementResult) {
	for i, requirement := range violated {
		if i == maxFindingGroups && !s.Verbose {
			writeWrapped(b, "  … and ", singleLine(joinRequirements(violated[i:])))
			return
		}
		writeLabelled(b, string(requirement.Level), singleLine(requirement.ID+": "+requirement.quotedText(400)))
		if requirement.English != "" {
			writeWrapped(b, "             ", singleLine("in English: "+truncateText(requirement.English, 400)))
		}
		s.writeDimmed(b, "             ", singleLine(requirement.Source))
	}
}

// quotedText returns at most the first limit columns of the requirement's text (see truncateText),
// in quotation marks if it is a quotation from a protocol document.
func (r RequirementResult) quotedText(limit int) string {
	if (spec.Requirement{Source: r.Source}).Quoted() {
		return "“" + truncateText(r.Quote, limit) + "”"
	}
	return truncateText(r.Quote, limit)
}

// joinRequirements returns the levels and ids of the requirements, as in "MUST a, SHOULD b".
func joinRequirements(list []RequirementResult) string {
	var all []string
	for _, r := range list {
		all = append(all, string(r.Level)+" "+r.ID)
	}
	return strings.Join(all, ", ")
}

// text returns the violation as one line for a report, with at most limit columns of the message of
// the finding.
func (v unshownViolation) text(limit int) string {
	return fmt.Sprintf("%s %s, scenario %s: %s", v.Level, v.ID, v.Scenario, truncateText(v.Finding.Message, limit))
}

// writeSameChecks writes to b the other checks that failed because of the same bytes of a response
// as the check of g. These checks have no entries of their own in the report.
func (g checkResultGroup) writeSameChecks(b *strings.Builder, d DialectResults, s TextStyle) {
	for i, o := range g.Same {
		if i == maxSameChecks && !s.Verbose {
			fmt.Fprintf(b, "  … and %s that the same bytes violate\n", printable.Count(len(g.Same)-i, "more check"))
			return
		}
		about := o.ID
		var violated []string
		for _, r := range d.violatedRequirements(o.Check) {
			violated = append(violated, fmt.Sprintf("%s %s", r.Level, r.ID))
		}
		if len(violated) > 0 {
			about += " (" + strings.Join(violated[:min(len(violated), maxFindingGroups)], ", ") + ")"
		}
		writeLabelled(b, "also", singleLine(about+": "+truncateText(o.headline(), 300)))
	}
}
