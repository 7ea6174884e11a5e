package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// How much of a check is shown to people who did not ask for all.
const (
	maxFindingGroups   = 3 // kinds of findings of one check, and requirements
	maxSimilarFindings = 2 // messages of further findings of a kind
	maxSameChecks      = 8 // other checks that the same bytes break
)

// isBlocking reports whether a cause is something that the target did, or that happened to it.
// What it merely was not taught is told after the numbers.
func (c Cause) isBlocking() bool { return c.Kind != kindNotScripted }

const kindNotScripted = "not-scripted"

// isBlocked reports whether something kept the dialect from being judged.
func (d DialectReport) isBlocked() bool { return slices.ContainsFunc(d.Causes, Cause.isBlocking) }

// writeCauses tells what kept the dialect from being judged: what stopped it, or else
// what it was not taught.
func (d DialectReport) writeCauses(b *strings.Builder, s TextStyle, stopped bool) {
	for _, c := range d.Causes {
		if c.isBlocking() != stopped {
			continue
		}
		title, colour := "CAUSE", spec.Failed
		if !stopped {
			title, colour = "NOTE", spec.Warned
		}
		fmt.Fprintf(b, "%s  %s\n", s.colorVerdict(colour, title), s.colorize(dim, safeText(d.Dialect)))
		writeWrapped(b, "  • ", s.colorize(bold, truncateText(singleLine(c.Message), 600)))
		if c.Advice != "" {
			writeLabelled(b, "to do", singleLine(c.Advice))
		}
		if c.Fatal || s.Verbose {
			s.writeExcerpt(b, "sent", c.Request)
			s.writeExcerpt(b, "answered", c.Response)
		}
		if follows := c.consequenceText(s.Verbose); follows != "" {
			writeLabelled(b, "follows", follows)
		}
		if c.Curl != "" && c.Fatal {
			fmt.Fprintf(b, "  reproduce  %s\n", fullCommand(safeText(c.Curl)))
		}
		b.WriteString("\n")
	}
}

// consequenceText says how much follows from a cause.
func (c Cause) consequenceText(verbose bool) string {
	if c.Consequences == 0 {
		return ""
	}
	s := countNoun(c.Consequences, "check") + " had nothing to judge, or failed, because of it alone"
	if c.Kind == kindNotScripted {
		s = countNoun(c.Consequences, "check") + " had nothing to judge"
	}
	if !verbose {
		s += " (-v lists them)"
	}
	return s
}

// writeExcerpt writes what was sent or answered, with a label.
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

// writeText tells of one check that did not pass: what was found, then the rule.
func (g checkGroup) writeText(b *strings.Builder, d DialectReport, s TextStyle) {
	fmt.Fprintf(b, "%s  %s  %s\n", s.colorVerdict(g.Verdict, strings.ToUpper(g.Verdict.String())), s.colorize(bold, safeText(g.ID)), s.colorize(dim, safeText(d.Dialect)))
	if g.Note != "" {
		writeWrapped(b, "  • ", truncateText(singleLine(g.Note), 600))
	}
	laws := d.violatedRequirements(g.Check)
	g.writeFindings(b, laws, s)
	if g.Advice != "" {
		writeLabelled(b, "to do", singleLine(g.Advice))
	}
	writeLabelled(b, "rule", singleLine(g.Title))
	g.writeRequirements(b, laws, s)
	g.writeSameChecks(b, d, s)
	if g.Flaky != nil {
		writeLabelled(b, "flaky", singleLine(g.flakyText()))
	}
	writeLabelled(b, "scenario", truncateText(singleLine(g.Scenario+otherScenarios(g.Elsewhere)), 300))
	g.writeReproduce(b)
	if g.Transcript != "" {
		fmt.Fprintf(b, "  recorded   %s\n", safeText(g.Transcript))
	}
	fmt.Fprintf(b, "  explain    streamassay explain %s\n\n", safeText(g.ID))
}

// writeReproduce writes the command that shows it again, in one piece: it is there to be
// copied.
func (c Check) writeReproduce(b *strings.Builder) {
	if again := c.reproduceCommand(maxCommand); again != "" {
		fmt.Fprintf(b, "  reproduce  %s\n", safeText(again))
		if again != c.Curl && c.Curl != "" && len(c.Findings) > 0 && (c.Findings[0].Event == nil || c.Findings[0].Exchange == 0) {
			fmt.Fprintf(b, "  request    %s\n", fullCommand(safeText(c.Curl)))
		}
	} else if c.Curl != "" {
		fmt.Fprintf(b, "  reproduce  %s\n", fullCommand(safeText(c.Curl)))
	}
}

// reproduceCommand is the command that shows it again, of at most so many characters: the request
// itself where it is the only one, else the whole scenario.
func (c Check) reproduceCommand(most int) string {
	for _, command := range []string{c.Curl, c.Rerun} {
		if command == c.Curl && c.Rerun != "" && c.Requests > 1 {
			continue // one request of several shows nothing
		}
		if n := len([]rune(command)); n > 0 && n <= most {
			return command
		}
	}
	return ""
}

// writeFindings writes the findings, those that are alike together.
func (g checkGroup) writeFindings(b *strings.Builder, laws []RequirementResult, s TextStyle) {
	faults := g.findingGroups()
	left := 0
	for i, f := range faults {
		if i >= maxFindingGroups && !s.Verbose {
			left += len(f.Findings)
			continue
		}
		g.writeFinding(b, f.Findings[0], laws, s)
		for k, more := range f.Findings[1:] {
			if k >= maxSimilarFindings && !s.Verbose {
				fmt.Fprintf(b, "    … and %d more like this\n", len(f.Findings)-1-k)
				break
			}
			writeWrapped(b, "    likewise: ", truncateText(singleLine(more.shortMessage()), 300))
			s.writeDimmed(b, "      ", truncateText(safeText(more.locationText()), 300))
		}
	}
	if left > 0 {
		fmt.Fprintf(b, "  … and %d more of other kinds (-v lists them)\n", left)
	}
	if g.Dropped > 0 {
		fmt.Fprintf(b, "  … and %d more that were not kept\n", g.Dropped)
	}
}

// shortMessage is the message without what findings that are alike have in common.
func (f Finding) shortMessage() string {
	if f.Event != nil {
		return f.Message
	}
	different, _, _ := strings.Cut(f.Message, "; ")
	return different
}

func (g checkGroup) writeFinding(b *strings.Builder, f Finding, laws []RequirementResult, s TextStyle) {
	writeWrapped(b, "  • ", truncateText(singleLine(f.Message), 600))
	at := f.locationText()
	if len(laws) > 1 && f.Requirement != "" {
		at += "; breaks " + f.Requirement
	}
	s.writeDimmed(b, "    ", truncateText(safeText(at), 300))
	if f.Event != nil || f.Request == "" && f.Response == "" {
		for _, l := range displayLines(f.Raw, lineWidth-6, 6) {
			fmt.Fprintf(b, "    %s %s\n", s.colorize(dim, "│"), l)
		}
		return
	}
	s.writeExcerpt(b, "sent", f.Request)
	s.writeExcerpt(b, "answered", f.Response)
}

func (g checkGroup) writeRequirements(b *strings.Builder, laws []RequirementResult, s TextStyle) {
	for i, law := range laws {
		if i == maxFindingGroups && !s.Verbose {
			fmt.Fprintf(b, "  … and %s\n", countNoun(len(laws)-i, "more requirement"))
			return
		}
		writeLabelled(b, string(law.Level), singleLine(law.ID+": "+law.quotedText(400)))
		if law.English != "" {
			writeWrapped(b, "             ", singleLine("in English: "+truncateText(law.English, 400)))
		}
		s.writeDimmed(b, "             ", singleLine(law.Source))
	}
}

// quotedText is what a requirement says: in quotation marks if it is a quotation.
func (r RequirementResult) quotedText(most int) string {
	if (spec.Requirement{Source: r.Source}).Quoted() {
		return "“" + truncateText(r.Quote, most) + "”"
	}
	return truncateText(r.Quote, most)
}

// writeSameChecks names the other checks that the same bytes break.
func (g checkGroup) writeSameChecks(b *strings.Builder, d DialectReport, s TextStyle) {
	for i, o := range g.Same {
		if i == maxSameChecks && !s.Verbose {
			fmt.Fprintf(b, "  … and %s that the same bytes break\n", countNoun(len(g.Same)-i, "more check"))
			return
		}
		about := o.ID
		if laws := d.violatedRequirements(o.Check); len(laws) > 0 {
			about += fmt.Sprintf(" (%s %s)", laws[0].Level, laws[0].ID)
		}
		writeLabelled(b, "so also", singleLine(about+": "+truncateText(o.headline(), 300)))
	}
}
