package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// How much of a check is shown to people who did not ask for all.
const (
	mostFindings = 3 // kinds of findings of one check, and requirements
	mostAlike    = 2 // messages of further findings of a kind
	mostSame     = 8 // other checks that the same bytes break
)

// stops reports whether a cause is something that the target did, or that happened to it.
// What it merely was not taught is told after the numbers.
func (c Cause) stops() bool { return c.Kind != notScripted }

const notScripted = "not-scripted"

// stopped reports whether something kept the dialect from being judged.
func (d Dialect) stopped() bool { return slices.ContainsFunc(d.Causes, Cause.stops) }

// writeCauses tells what kept the dialect from being judged: what stopped it, or else
// what it was not taught.
func (d Dialect) writeCauses(b *strings.Builder, s Style, stopped bool) {
	for _, c := range d.Causes {
		if c.stops() != stopped {
			continue
		}
		title, colour := "CAUSE", spec.Failed
		if !stopped {
			title, colour = "NOTE", spec.Warned
		}
		fmt.Fprintf(b, "%s  %s\n", s.verdict(colour, title), s.paint(dim, visible(d.Dialect)))
		line(b, "  • ", s.paint(bold, clip(words(c.Message), 600)))
		if c.Advice != "" {
			labelled(b, "to do", words(c.Advice))
		}
		if c.Fatal || s.Verbose {
			s.excerpt(b, "sent", c.Request)
			s.excerpt(b, "answered", c.Response)
		}
		if follows := c.follows(s.Verbose); follows != "" {
			labelled(b, "follows", follows)
		}
		if c.Curl != "" && c.Fatal {
			fmt.Fprintf(b, "  reproduce  %s\n", whole(visible(c.Curl)))
		}
		b.WriteString("\n")
	}
}

// follows says how much follows from a cause.
func (c Cause) follows(verbose bool) string {
	if c.Consequences == 0 {
		return ""
	}
	s := several(c.Consequences, "check") + " had nothing to judge, or failed, because of it alone"
	if c.Kind == notScripted {
		s = several(c.Consequences, "check") + " had nothing to judge"
	}
	if !verbose {
		s += " (-v lists them)"
	}
	return s
}

// excerpt writes what was sent or answered, with a label.
func (s Style) excerpt(b *strings.Builder, label, text string) {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := rawLines(head, columns-13, 8)
	lines = append(lines, rawLines(body, columns-13, 6)...)
	for i, l := range lines {
		if i > 0 {
			label = ""
		}
		fmt.Fprintf(b, "  %s  %s %s\n", s.paint(dim, fmt.Sprintf("%-8s", label)), s.paint(dim, "│"), l)
	}
}

// write tells of one check that did not pass: what was found, then the rule.
func (g group) write(b *strings.Builder, d Dialect, s Style) {
	fmt.Fprintf(b, "%s  %s  %s\n", s.verdict(g.Verdict, strings.ToUpper(g.Verdict.String())), s.paint(bold, visible(g.ID)), s.paint(dim, visible(d.Dialect)))
	if g.Note != "" {
		line(b, "  • ", clip(words(g.Note), 600))
	}
	laws := d.broken(g.Check)
	g.writeFaults(b, laws, s)
	if g.Advice != "" {
		labelled(b, "to do", words(g.Advice))
	}
	labelled(b, "rule", words(g.Title))
	g.writeLaws(b, laws, s)
	g.writeSame(b, d, s)
	if g.Flaky != nil {
		labelled(b, "flaky", words(g.flips()))
	}
	labelled(b, "scenario", clip(words(g.Scenario+elsewhere(g.Elsewhere)), 300))
	g.writeAgain(b)
	if g.Transcript != "" {
		fmt.Fprintf(b, "  recorded   %s\n", visible(g.Transcript))
	}
	fmt.Fprintf(b, "  explain    streamassay explain %s\n\n", visible(g.ID))
}

// writeAgain writes the command that shows it again, in one piece: it is there to be
// copied.
func (c Check) writeAgain(b *strings.Builder) {
	if again := c.again(mostCommand); again != "" {
		fmt.Fprintf(b, "  reproduce  %s\n", visible(again))
		if again != c.Curl && c.Curl != "" && len(c.Findings) > 0 && (c.Findings[0].Event == nil || c.Findings[0].Exchange == 0) {
			fmt.Fprintf(b, "  request    %s\n", whole(visible(c.Curl)))
		}
	} else if c.Curl != "" {
		fmt.Fprintf(b, "  reproduce  %s\n", whole(visible(c.Curl)))
	}
}

// again is the command that shows it again, of at most so many characters: the request
// itself where it is the only one, else the whole scenario.
func (c Check) again(most int) string {
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

// writeFaults writes the findings, those that are alike together.
func (g group) writeFaults(b *strings.Builder, laws []Requirement, s Style) {
	faults := g.faults()
	left := 0
	for i, f := range faults {
		if i >= mostFindings && !s.Verbose {
			left += len(f.Findings)
			continue
		}
		g.writeFinding(b, f.Findings[0], laws, s)
		for k, more := range f.Findings[1:] {
			if k >= mostAlike && !s.Verbose {
				fmt.Fprintf(b, "    … and %d more like this\n", len(f.Findings)-1-k)
				break
			}
			line(b, "    likewise: ", clip(words(more.shortly()), 300))
			s.aside(b, "      ", clip(visible(more.place()), 300))
		}
	}
	if left > 0 {
		fmt.Fprintf(b, "  … and %d more of other kinds (-v lists them)\n", left)
	}
	if g.Dropped > 0 {
		fmt.Fprintf(b, "  … and %d more that were not kept\n", g.Dropped)
	}
}

// shortly is the message without what findings that are alike have in common.
func (f Finding) shortly() string {
	if f.Event != nil {
		return f.Message
	}
	different, _, _ := strings.Cut(f.Message, "; ")
	return different
}

func (g group) writeFinding(b *strings.Builder, f Finding, laws []Requirement, s Style) {
	line(b, "  • ", clip(words(f.Message), 600))
	at := f.place()
	if len(laws) > 1 && f.Requirement != "" {
		at += "; breaks " + f.Requirement
	}
	s.aside(b, "    ", clip(visible(at), 300))
	if f.Event != nil || f.Request == "" && f.Response == "" {
		for _, l := range rawLines(f.Raw, columns-6, 6) {
			fmt.Fprintf(b, "    %s %s\n", s.paint(dim, "│"), l)
		}
		return
	}
	s.excerpt(b, "sent", f.Request)
	s.excerpt(b, "answered", f.Response)
}

func (g group) writeLaws(b *strings.Builder, laws []Requirement, s Style) {
	for i, law := range laws {
		if i == mostFindings && !s.Verbose {
			fmt.Fprintf(b, "  … and %s\n", several(len(laws)-i, "more requirement"))
			return
		}
		labelled(b, string(law.Level), words(law.ID+": "+law.statement(400)))
		if law.English != "" {
			line(b, "             ", words("in English: "+clip(law.English, 400)))
		}
		s.aside(b, "             ", words(law.Source))
	}
}

// statement is what a requirement says: in quotation marks if it is a quotation.
func (r Requirement) statement(most int) string {
	if (spec.Requirement{Source: r.Source}).Quoted() {
		return "“" + clip(r.Quote, most) + "”"
	}
	return clip(r.Quote, most)
}

// writeSame names the other checks that the same bytes break.
func (g group) writeSame(b *strings.Builder, d Dialect, s Style) {
	for i, o := range g.Same {
		if i == mostSame && !s.Verbose {
			fmt.Fprintf(b, "  … and %s that the same bytes break\n", several(len(g.Same)-i, "more check"))
			return
		}
		about := o.ID
		if laws := d.broken(o.Check); len(laws) > 0 {
			about += fmt.Sprintf(" (%s %s)", laws[0].Level, laws[0].ID)
		}
		labelled(b, "so also", words(about+": "+clip(o.headline(), 300)))
	}
}
