package reports

import (
	"fmt"
	"io"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// mostSections bounds the checks that a summary tells in full: CI systems refuse a
// summary of more than a megabyte.
const mostSections = 25

// WriteMarkdown writes the report as the summary of a CI job. What the target sent
// stands in it as code, never as Markdown.
func WriteMarkdown(w io.Writer, r *Report) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "## %s: %s\n\n%s  \n%s", markdown(r.Tool), r.word(), code(clip(r.Target, 200)), markdown(r.conclusion()))
	fmt.Fprintf(b, "\n\n| dialect | verdict | MUST broken | SHOULD broken | could not tell | passed | silent | skipped |\n|---|---|--:|--:|--:|--:|--:|--:|\n")
	for _, d := range r.Dialects {
		var t tally
		t.count(d)
		fmt.Fprintf(b, "| %s | %s |", markdown(d.Dialect), d.worst())
		for _, v := range []spec.Verdict{spec.Failed, spec.Warned, spec.Error, spec.Passed, spec.Silent, spec.Skipped} {
			fmt.Fprintf(b, " %d |", t.verdict[v])
		}
		b.WriteString("\n")
	}
	r.markRounds(b)
	sections := 0
	for _, v := range []spec.Verdict{spec.Failed, spec.Warned} {
		for _, d := range r.Dialects {
			for _, g := range d.groups(v) {
				if sections++; sections <= mostSections {
					g.section(b, d)
				}
			}
		}
	}
	if n := sections - mostSections; n > 0 {
		fmt.Fprintf(b, "\n… and %s: the other reports have all of them.\n", several(n, "more check"))
	}
	for _, d := range r.Dialects {
		for _, o := range d.doubts(spec.Error) {
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

// section tells of one check that did not pass.
func (g group) section(b *strings.Builder, d Dialect) {
	fmt.Fprintf(b, "\n### %s %s (%s)\n\n%s\n\n", g.Verdict, code(g.ID), markdown(d.Dialect), markdown(g.Title))
	if g.Note != "" {
		fmt.Fprintf(b, "- %s\n\n", code(clip(g.Note, 600)))
	}
	for _, f := range g.shown() {
		fmt.Fprintf(b, "- %s  \n  %s\n", code(clip(f.Message, 600)), code(f.place()))
		if lines := rawLines(f.Raw, 200, 12); len(lines) > 0 {
			fmt.Fprintf(b, "\n%s\n", fenced("text", lines, "  "))
		}
	}
	if n := g.more(); n > 0 {
		fmt.Fprintf(b, "- … and %d more\n", n)
	}
	b.WriteString("\n")
	for i, law := range d.broken(g.Check) {
		if i == mostFindings {
			break
		}
		fmt.Fprintf(b, "> %s %s: “%s” (%s)\n>\n", law.Level, code(law.ID), markdown(clip(law.Quote, 400)), markdown(law.Source))
	}
	fmt.Fprintf(b, "\nScenario %s\n", markdown(clip(g.Scenario+elsewhere(g.Elsewhere), 300)))
	if g.Curl != "" {
		fmt.Fprintf(b, "\n%s", fenced("sh", []string{whole(visible(g.Curl))}, ""))
	}
	fmt.Fprintf(b, "\n%s\n", code("streamassay explain "+g.ID))
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
