package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// How much a summary tells: CI systems refuse one of more than a megabyte, and people
// one of more than a few screens.
const (
	mostSections = 10  // checks
	mostMarkdown = 300 // characters of a command
)

// WriteMarkdown writes the report as the summary of a CI job. What the target sent
// stands in it as code, never as Markdown.
func WriteMarkdown(w io.Writer, r *Report) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "## %s: %s\n\n%s  \n%s", markdown(r.Tool), r.word(), code(clip(r.Target, 200)), markdown(r.conclusion()))
	if r.Incomplete != "" {
		fmt.Fprintf(b, "  \n**incomplete:** %s", code(clip(r.Incomplete, 200)))
	}
	b.WriteString("\n")
	for _, d := range r.Dialects {
		for _, c := range d.Causes {
			c.section(b, d)
		}
	}
	fmt.Fprintf(b, "\n| dialect | verdict | MUST broken | SHOULD broken | could not be judged | hold | not exercised | skipped | test prompts |\n|---|---|--:|--:|--:|--:|--:|--:|---|\n")
	for _, d := range r.Dialects {
		var t tally
		t.count(d)
		fmt.Fprintf(b, "| %s | %s |", markdown(d.Dialect), d.worst())
		for _, v := range []spec.Verdict{spec.Failed, spec.Warned, spec.Error, spec.Passed, spec.Silent, spec.Skipped} {
			fmt.Fprintf(b, " %d |", t.verdict[v])
		}
		fmt.Fprintf(b, " %s |\n", markdown(t.promptWords()))
	}
	for _, d := range r.Dialects {
		for _, note := range d.Notes {
			fmt.Fprintf(b, "\n%s: %s\n", markdown(d.Dialect), code(clip(note, 400)))
		}
	}
	r.markRounds(b)
	sections := 0
	for _, d := range r.Dialects {
		for _, g := range d.bad(false) {
			if sections++; sections <= mostSections {
				g.section(b, d)
			}
		}
	}
	if n := sections - mostSections; n > 0 {
		fmt.Fprintf(b, "\n… and %s: the other reports have all of them.\n", several(n, "more check"))
	}
	for _, d := range r.Dialects {
		for _, o := range d.doubts(spec.Error, false) {
			fmt.Fprintf(b, "\n**could not tell** (%s, %s): %s\n", markdown(d.Dialect), o.about(), code(clip(o.Why, 600)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markRounds tells what did not come out alike in all rounds.
func (r *Report) markRounds(b *strings.Builder) {
	for _, d := range r.Dialects {
		for _, law := range d.flaky() {
			fmt.Fprintf(b, "\n**flaky** in %s (%s): %s %s: %s\n", several(r.Rounds, "round"), markdown(d.Dialect), law.Level, code(law.ID), law.Flaky)
		}
	}
	for _, why := range r.Harness {
		fmt.Fprintf(b, "\n**harness flaky**: %s\n", code(clip(why, 600)))
	}
}

// section tells of one cause.
func (c Cause) section(b *strings.Builder, d Dialect) {
	title := "cause"
	if !c.stops() {
		title = "note"
	}
	fmt.Fprintf(b, "\n**%s** (%s): %s\n", title, markdown(d.Dialect), code(clip(c.Message, 600)))
	if c.Advice != "" {
		fmt.Fprintf(b, "\n%s\n", markdown(c.Advice))
	}
	if follows := c.follows(true); follows != "" {
		fmt.Fprintf(b, "\n%s\n", markdown(follows))
	}
}

// section tells of one check that did not pass: what was found, then the rule.
func (g group) section(b *strings.Builder, d Dialect) {
	fmt.Fprintf(b, "\n### %s %s (%s)\n\n", g.Verdict, code(g.ID), markdown(d.Dialect))
	if g.Note != "" {
		fmt.Fprintf(b, "- %s\n\n", code(clip(g.Note, 600)))
	}
	left := g.Dropped
	for i, f := range g.faults() {
		if i >= mostFindings {
			left += len(f.Findings)
			continue
		}
		f.markdown(b)
	}
	if left > 0 {
		fmt.Fprintf(b, "- … and %d more\n", left)
	}
	fmt.Fprintf(b, "\n%s\n\n", markdown(g.Title))
	for i, law := range d.broken(g.Check) {
		if i == mostFindings {
			break
		}
		english := ""
		if law.English != "" {
			english = " in English: " + law.English
		}
		fmt.Fprintf(b, "> %s %s: %s%s (%s)\n>\n", law.Level, code(law.ID), markdown(law.statement(400)), markdown(clip(english, 400)), markdown(law.Source))
	}
	for i, o := range g.Same {
		if i == mostSame {
			break
		}
		fmt.Fprintf(b, "- so also %s: %s\n", code(o.ID), code(clip(o.headline(), 300)))
	}
	fmt.Fprintf(b, "\nScenario %s\n", markdown(clip(g.Scenario+elsewhere(g.Elsewhere), 300)))
	if again := g.again(mostMarkdown); again != "" {
		fmt.Fprintf(b, "\n%s", fenced("sh", []string{visible(again)}, ""))
	}
	fmt.Fprintf(b, "\n%s\n", code("streamassay explain "+g.ID))
}

// markdown tells of findings that are alike.
func (f fault) markdown(b *strings.Builder) {
	first := f.Findings[0]
	fmt.Fprintf(b, "- %s  \n  %s\n", code(clip(first.Message, 600)), code(first.place()))
	if first.Event != nil || first.Request == "" && first.Response == "" {
		if lines := rawLines(first.Raw, 200, 6); len(lines) > 0 {
			fmt.Fprintf(b, "\n%s\n", fenced("text", lines, "  "))
		}
	} else {
		for _, part := range []struct{ label, text string }{{"sent", first.Request}, {"answered", first.Response}} {
			if lines := rawLines(part.text, 200, 4); len(lines) > 0 {
				fmt.Fprintf(b, "\n  %s:\n\n%s\n", part.label, fenced("text", lines, "  "))
			}
		}
	}
	if n := len(f.Findings) - 1; n > 0 {
		fmt.Fprintf(b, "  … and %d more like this\n", n)
	}
}

// markdown makes a text mean nothing but itself.
func markdown(s string) string {
	var b strings.Builder
	for i, r := range words(s) {
		if strings.ContainsRune("\\`*_[]<>#|~&", r) || i == 0 && strings.ContainsRune("-+", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code makes a text one span of code.
func code(s string) string {
	s = words(s)
	fence := strings.Repeat("`", ticks(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || s == "" {
		s = " " + s + " "
	}
	return fence + s + fence
}

// fenced makes lines a block of code.
func fenced(language string, lines []string, indent string) string {
	most := 2
	for _, l := range lines {
		most = max(most, ticks(l))
	}
	fence := strings.Repeat("`", most+1)
	return indent + fence + language + "\n" + indent + strings.Join(lines, "\n"+indent) + "\n" + indent + fence + "\n"
}

// ticks is the length of the longest run of backticks.
func ticks(s string) (most int) {
	n := 0
	for _, r := range s {
		if n++; r != '`' {
			n = 0
		}
		most = max(most, n)
	}
	return most
}
