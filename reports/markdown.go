package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// Limits on the contents of the Markdown summary, which keep it below 1 MiB, the most that GitHub
// Actions accepts for the summary of a step.
const (
	maxSections        = 10  // maximum number of failed or warned checks that are shown
	maxMarkdownCommand = 300 // maximum length of a command, in characters
)

// WriteMarkdown writes the report as Markdown, for the summary of a CI job. Texts from the server
// are written as code or escaped, never as Markdown. It returns any error from writing to w.
func WriteMarkdown(w io.Writer, r *Report) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "## %s: %s\n\n", escapeMarkdown(r.Tool), r.exitWord())
	fmt.Fprintf(b, "%s  \n%s", codeSpan(truncateText(r.Target, 200)), escapeMarkdown(r.conclusionLine()))
	if r.Incomplete != "" {
		fmt.Fprintf(b, "  \n**incomplete:** %s", codeSpan(truncateText(r.Incomplete, 200)))
	}
	b.WriteString("\n")
	for _, d := range r.Dialects {
		for _, c := range d.Causes {
			c.writeMarkdown(b, d)
		}
	}
	fmt.Fprintf(b,
		"\n| dialect | verdict | MUST violated | SHOULD violated | could not be judged | hold | not tested | skipped | test prompts |\n|---|---|--:|--:|--:|--:|--:|--:|---|\n")
	for _, d := range r.Dialects {
		var t requirementCounts
		t.addDialect(d)
		fmt.Fprintf(b, "| %s | %s |", escapeMarkdown(d.Dialect), d.worstVerdict())
		for _, v := range []spec.Verdict{spec.Failed, spec.Warned, spec.Error, spec.Passed, spec.Silent, spec.Skipped} {
			count := strconv.Itoa(t.byVerdict[v])
			if checks := t.unjudgedText(); v == spec.Error && checks != "" {
				count = checks
			}
			fmt.Fprintf(b, " %s |", count)
		}
		fmt.Fprintf(b, " %s |\n", escapeMarkdown(t.promptSummary()))
	}
	for _, d := range r.Dialects {
		for _, note := range d.Notes {
			fmt.Fprintf(b, "\n%s: %s\n", escapeMarkdown(d.Dialect), codeSpan(truncateText(note, 400)))
		}
	}
	r.writeMarkdownRounds(b)
	sections := 0
	for _, d := range r.Dialects {
		for _, g := range d.failedGroups(false) {
			if sections++; sections <= maxSections {
				g.writeMarkdown(b, d)
			}
		}
	}
	if n := sections - maxSections; n > 0 {
		fmt.Fprintf(b, "\n… and %s: the other reports have all of them.\n", printable.Count(n, "more check"))
	}
	for _, d := range r.Dialects {
		for _, o := range d.inconclusiveReasons(spec.Error, false) {
			fmt.Fprintf(b,
				"\n**not judged** (%s, %s): %s\n", escapeMarkdown(d.Dialect), o.scope(), codeSpan(truncateText(o.Why, 600)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeMarkdownRounds writes, for a repeated test run, the requirements whose verdict differs between
// rounds, followed by the internal errors of streamassay.
func (r *Report) writeMarkdownRounds(b *strings.Builder) {
	for _, d := range r.Dialects {
		for _, f := range d.flakyRequirements() {
			fmt.Fprintf(b, "\n**flaky** in %s (%s): ", printable.Count(r.Rounds, "round"), escapeMarkdown(d.Dialect))
			fmt.Fprintf(b, "%s %s: %s\n", f.Level, codeSpan(f.ID), f.Flaky)
		}
	}
	for _, why := range r.Harness {
		fmt.Fprintf(b,
			"\n**internal error**, judged again, the same bytes got other verdicts: %s\n", codeSpan(truncateText(why, 600)))
	}
}

// writeMarkdown writes the cause as Markdown: what was seen, what to do about it, and how many
// checks the cause affects. The parameter d is the report of the dialect to which the cause
// belongs.
func (c Cause) writeMarkdown(b *strings.Builder, d DialectResults) {
	title := "problem"
	switch {
	case !c.isBlocking():
		title = "note"
	case c.Fatal && d.fatalCause() != nil:
		title = "could not test"
	}
	fmt.Fprintf(b, "\n**%s** (%s): %s\n", title, escapeMarkdown(d.Dialect), codeSpan(truncateText(c.Message, 600)))
	if c.Advice != "" {
		fmt.Fprintf(b, "\n%s\n", escapeMarkdown(c.Advice))
	}
	if follows := c.consequenceText(true); follows != "" {
		fmt.Fprintf(b, "\n%s\n", escapeMarkdown(follows))
	}
}

// writeMarkdown writes the group, whose verdict must not be passed, as Markdown: its findings, the
// violated requirements, the other checks that failed because of the same part of a response, and a
// command that reproduces the result. The parameter d is the report of the dialect.
func (g checkResultGroup) writeMarkdown(b *strings.Builder, d DialectResults) {
	fmt.Fprintf(b, "\n### %s %s (%s)\n\n", g.Verdict, codeSpan(g.ID), escapeMarkdown(d.Dialect))
	if g.Note != "" {
		fmt.Fprintf(b, "- %s\n\n", codeSpan(truncateText(g.Note, 600)))
	}
	left := g.Dropped
	for i, f := range g.findingGroups() {
		if i >= maxFindingGroups {
			left += len(f.Findings)
			continue
		}
		f.writeMarkdown(b)
	}
	if left > 0 {
		fmt.Fprintf(b, "- … and %d more\n", left)
	}
	fmt.Fprintf(b, "\n%s\n\n", escapeMarkdown(g.Title))
	violated := d.violatedRequirements(g.Check)
	for i, r := range violated {
		if i == maxFindingGroups {
			fmt.Fprintf(b, "> … and %s\n\n", codeSpan(joinRequirements(violated[i:])))
			break
		}
		english := ""
		if r.English != "" {
			english = " in English: " + r.English
		}
		text := escapeMarkdown(r.quotedText(400)) + escapeMarkdown(truncateText(english, 400))
		fmt.Fprintf(b, "> %s %s: %s (%s)\n>\n", r.Level, codeSpan(r.ID), text, escapeMarkdown(r.Source))
	}
	for _, v := range d.furtherViolations(g) {
		fmt.Fprintf(b, "- also %s\n", codeSpan(v.text(300)))
	}
	for i, o := range g.Same {
		if i == maxSameChecks {
			break
		}
		fmt.Fprintf(b, "- also %s: %s\n", codeSpan(o.ID), codeSpan(truncateText(o.headline(), 300)))
	}
	fmt.Fprintf(b, "\nScenario %s\n", escapeMarkdown(truncateText(g.Scenario+otherScenarios(g.Elsewhere), 300)))
	if again := g.reproduceCommand(maxMarkdownCommand); again != "" {
		fmt.Fprintf(b, "\n%s", codeBlock("sh", []string{safeText(again)}, ""))
	}
	fmt.Fprintf(b, "\n%s\n", codeSpan("streamassay explain "+g.ID))
}

// writeMarkdown writes the first finding of the group as Markdown, followed by the number of
// similar findings.
func (f similarFindings) writeMarkdown(b *strings.Builder) {
	first := f.Findings[0]
	fmt.Fprintf(b, "- %s  \n  %s\n", codeSpan(truncateText(first.Message, 600)), codeSpan(first.locationText()))
	if first.Event != nil || first.Request == "" && first.Response == "" {
		if lines := displayLines(first.Raw, 200, 6); len(lines) > 0 {
			fmt.Fprintf(b, "\n%s\n", codeBlock("text", lines, "  "))
		}
	} else {
		for _, part := range []struct{ label, text string }{{"sent", first.Request}, {"received", first.Response}} {
			if lines := displayLines(part.text, 200, 4); len(lines) > 0 {
				fmt.Fprintf(b, "\n  %s:\n\n%s\n", part.label, codeBlock("text", lines, "  "))
			}
		}
	}
	if n := len(f.Findings) - 1; n > 0 {
		fmt.Fprintf(b, "  … and %d more like this\n", n)
	}
}

// escapeMarkdown returns s as one line of text, in which the characters that have a meaning in
// Markdown are escaped. Line breaks become spaces; see singleLine.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for i, r := range singleLine(s) {
		if strings.ContainsRune("\\`*_[]<>#|~&", r) || i == 0 && strings.ContainsRune("-+", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// codeSpan returns s as a Markdown code span on one line. Line breaks become spaces; see
// singleLine. Nothing in a code span is interpreted.
func codeSpan(s string) string {
	s = singleLine(s)
	fence := strings.Repeat("`", longestBacktickRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || s == "" {
		s = " " + s + " "
	}
	return fence + s + fence
}

// codeBlock returns lines as a fenced Markdown code block, in which each line begins with indent.
// The parameter language names the syntax to highlight.
func codeBlock(language string, lines []string, indent string) string {
	longest := 2
	for _, l := range lines {
		longest = max(longest, longestBacktickRun(l))
	}
	fence := strings.Repeat("`", longest+1)
	return indent + fence + language + "\n" + indent + strings.Join(lines, "\n"+indent) + "\n" + indent + fence + "\n"
}

// longestBacktickRun returns the length of the longest sequence of backticks in s. A fence around s
// must be longer than this sequence.
func longestBacktickRun(s string) (longest int) {
	n := 0
	for _, r := range s {
		if n++; r != '`' {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}
