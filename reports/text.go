package reports

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/streamassay/streamassay/spec"
)

// A TextStyle says how [WriteText] writes a report: with colours or without, and how much of it.
type TextStyle struct {
	Color   bool // ANSI colours
	Verbose bool // lists what was not tested, instead of only counting it
}

// DetectStyle returns the style for an output f. It has colours if f is a terminal that supports
// them and the environment variable NO_COLOR is not set. env returns the value of an environment
// variable.
func DetectStyle(f *os.File, env func(string) string) TextStyle {
	return TextStyle{Color: f != nil && term.IsTerminal(int(f.Fd())) && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

// ANSI codes of the colours in the text report.
const (
	red, yellow, green, dim, bold = "31", "33", "32", "2", "1"
)

// colorize returns a text between ANSI codes that give it a colour, or unchanged if the style has
// no colours.
func (s TextStyle) colorize(color, text string) string {
	if !s.Color {
		return text
	}
	return "\033[" + color + "m" + text + "\033[0m"
}

// colorVerdict returns a text in the colour that stands for verdict v.
func (s TextStyle) colorVerdict(v spec.Verdict, text string) string {
	switch v {
	case spec.Failed, spec.Error:
		return s.colorize(red, text)
	case spec.Warned:
		return s.colorize(yellow, text)
	case spec.Passed:
		return s.colorize(green, text)
	}
	return s.colorize(dim, text)
}

// WriteText writes the report for people: what kept the target from being tested, then a line for
// each dialect, then what is violated, with the bytes that prove it and a command that
// reproduces it, then what could not be judged, and the verdict in the last line.
func WriteText(w io.Writer, r *Report, s TextStyle) error {
	b := &strings.Builder{}
	r.writeTitle(b, s)
	for _, d := range r.Dialects {
		d.writeCauses(b, s, true)
	}
	r.writeDialects(b, s)
	for _, d := range r.Dialects {
		d.writeCauses(b, s, false)
	}
	for _, d := range r.Dialects {
		for _, g := range d.failedGroups(s.Verbose) {
			g.writeText(b, d, s)
		}
	}
	for _, d := range r.Dialects {
		d.writeInconclusive(b, spec.Error, s)
		if s.Verbose {
			d.writeInconclusive(b, spec.Skipped, s)
			d.writeSilent(b, s)
		}
	}
	r.writeRounds(b, s)
	r.writeSeed(b, s)
	fmt.Fprintf(b,
		"%s  %s\n", s.colorVerdict(r.overallVerdict(), s.colorize(bold, r.exitWord())), safeText(r.conclusionLine()))
	_, err := io.WriteString(w, ciCommands.ReplaceAllString(b.String(), `$1\$2`))
	return err
}

// ciCommands matches beginnings of lines that CI systems would take for commands if they were
// printed in a log, such as "::".
var ciCommands = regexp.MustCompile(`(?m)^([ \t]*)(::|##\[)`)

// overallVerdict returns the verdict whose colour the last line of the report has.
func (r *Report) overallVerdict() spec.Verdict {
	if r.Exit == ExitPassed {
		return min(r.Verdict, spec.Warned)
	}
	return spec.Failed
}

// writeSeed writes the flags that repeat the run. If the style is verbose, it adds the salt, which
// is needed only if the ids must be the same too, as for a server without memory of this run.
func (r *Report) writeSeed(b *strings.Builder, s TextStyle) {
	if r.Seed == 0 {
		return
	}
	flags := fmt.Sprintf("--seed %d", r.Seed)
	if s.Verbose {
		flags += fmt.Sprintf(" (with the same ids: --salt %d)", r.Salt)
	}
	fmt.Fprintf(b, "%s\n", s.colorize(dim, "to repeat this run: "+flags))
}

// writeTitle writes the first line of the text report: the program, the target and the duration.
func (r *Report) writeTitle(b *strings.Builder, s TextStyle) {
	facts := fmt.Sprintf("%.1f s", float64(r.DurationMS)/1000)
	if r.Rounds > 0 {
		facts = countNoun(r.Rounds, "round") + ", " + facts
	}
	title := singleLine(r.Tool+" "+r.Version) + ": " + truncateText(singleLine(r.Target), 120)
	fmt.Fprintf(b, "%s  %s\n", s.colorize(bold, title), s.colorize(dim, "("+facts+")"))
	if r.Incomplete != "" {
		fmt.Fprintf(b, "  %s\n", s.colorize(yellow, "incomplete: "+truncateText(singleLine(r.Incomplete), 200)))
	}
	if slices.ContainsFunc(r.Dialects, DialectReport.isBlocked) {
		b.WriteString("\n")
	}
}

// writeDialects writes for each dialect how many requirements have each verdict, and the notes on
// it.
func (r *Report) writeDialects(b *strings.Builder, s TextStyle) {
	width := 0
	for _, d := range r.Dialects {
		width = max(width, len(d.Dialect))
	}
	for _, d := range r.Dialects {
		v := d.worstVerdict()
		numbers := truncateText(singleLine(d.summaryLine()), 400)
		numbers = wrapText(numbers, strings.Repeat(" ", width+13), lineWidth-width-13)
		fmt.Fprintf(b, "  %s  %-*s  %s\n", s.colorVerdict(v, fmt.Sprintf("%-7s", v)), width, safeText(d.Dialect), numbers)
		for _, note := range d.Notes {
			writeWrapped(b, strings.Repeat(" ", width+13), truncateText(singleLine(note), 400))
		}
	}
	b.WriteString("\n")
}

// writeWrapped writes a text with an indent, wrapped at [lineWidth].
func writeWrapped(b *strings.Builder, indent, text string) {
	deeper := strings.Repeat(" ", textWidth(indent))
	b.WriteString(indent + wrapText(text, deeper, lineWidth-textWidth(indent)) + "\n")
}

// writeDimmed writes a text like [writeWrapped], but in a dimmed colour if the style has colours.
func (s TextStyle) writeDimmed(b *strings.Builder, indent, text string) {
	b.WriteString(indent + s.colorize(dim, wrapText(text, indent, lineWidth-len(indent))) + "\n")
}

// writeLabelled writes a label and after it a text, wrapped so that all lines of the text are
// aligned.
func writeLabelled(b *strings.Builder, label, text string) {
	writeWrapped(b, fmt.Sprintf("  %-9s  ", label), text)
}

// otherScenarios returns the names of the further scenarios that a line is about, in parentheses,
// "" if there are none.
func otherScenarios(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" (and in %d more: %s)", len(names), strings.Join(names, ", "))
}

// maxCommand is how many characters a command may have to be shown in a report for people.
const maxCommand = 4000

// fullCommand returns a command or, if it is longer than [maxCommand], where to find it. A command
// is never cut, because part of it could do something else.
func fullCommand(command string) string {
	if n := len([]rune(command)); n > maxCommand {
		return fmt.Sprintf("a command of %d characters: see curl in the JSON report", n)
	}
	return command
}

// displayLines splits a text into at most limit lines of at most width columns that are safe to
// print. If there are more, a note says how much was left out.
func displayLines(raw string, width, limit int) []string {
	raw, note := cutTruncationNote(raw)
	var lines []string
	if body := strings.TrimRight(raw, "\n"); body != "" {
		for l := range strings.SplitSeq(body, "\n") {
			lines = append(lines, splitAtWidth(safeText(l), width)...)
		}
	} else if raw != "" {
		lines = splitAtWidth(safeText(raw), width)
	}
	if len(lines) > limit {
		left := 0
		for _, l := range lines[limit:] {
			left += len([]rune(l))
		}
		lines = append(lines[:limit], fmt.Sprintf("… (%d more characters)", left))
	}
	if note != "" {
		lines = append(lines, strings.TrimSpace(note))
	}
	return lines
}

// writeInconclusive writes why checks have verdict v, which is [spec.Error] (not judged) or
// [spec.Skipped]: each reason once, with the checks it concerns.
func (d DialectReport) writeInconclusive(b *strings.Builder, v spec.Verdict, s TextStyle) {
	for _, o := range d.inconclusiveReasons(v, s.Verbose) {
		title := "NOT JUDGED"
		if v == spec.Skipped {
			title = "SKIPPED"
		}
		fmt.Fprintf(b, "%s  %s\n", s.colorVerdict(v, title), s.colorize(dim, safeText(d.Dialect)))
		writeWrapped(b, "  • ", truncateText(singleLine(o.Why), 600))
		writeLabelled(b, "about", o.scope())
		ids := strings.Join(o.Checks, ", ")
		if !s.Verbose {
			ids = truncateText(ids, 300)
		}
		writeLabelled(b, "checks", singleLine(ids))
		b.WriteString("\n")
	}
}

// writeSilent writes the requirements that the run did not test, and those that no check can judge.
func (d DialectReport) writeSilent(b *strings.Builder, s TextStyle) {
	var silent, excluded []RequirementResult
	for _, r := range d.Requirements {
		switch {
		case r.Excluded != nil:
			excluded = append(excluded, r)
		case r.Verdict == spec.Silent:
			silent = append(silent, r)
		}
	}
	if len(silent) > 0 {
		fmt.Fprintf(b, "%s  %s: nothing in this run tests\n", s.colorize(dim, "NOT TESTED"), safeText(d.Dialect))
		for _, r := range silent {
			writeLabelled(b, string(r.Level), singleLine(r.ID)+"  ("+singleLine(strings.Join(r.Checks, ", "))+")")
		}
		b.WriteString("\n")
	}
	if len(excluded) > 0 {
		fmt.Fprintf(b, "%s  %s: no test can decide\n", s.colorize(dim, "EXCLUDED"), safeText(d.Dialect))
		for _, r := range excluded {
			writeLabelled(b, string(r.Level), singleLine(r.ID+": "+r.Excluded.Kind+": "+r.Excluded.Reason))
		}
		b.WriteString("\n")
	}
}
