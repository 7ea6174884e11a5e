package reports

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/streamassay/streamassay/internal/printable"
	"github.com/streamassay/streamassay/spec"
)

// A TextStyle controls how [WriteText] writes a report: whether in color, and in how much detail.
type TextStyle struct {
	Color   bool // ANSI colors
	Verbose bool // lists what was not tested, instead of only counting it, and shows all lists in full
}

// DetectStyle returns the style for a report that is written to f. The style has colors if f is a
// terminal that supports them and the environment variable NO_COLOR is not set. The function env
// returns the value of an environment variable, or "" if it is not set. A nil f is not a terminal.
func DetectStyle(f *os.File, env func(string) string) TextStyle {
	return TextStyle{Color: f != nil && term.IsTerminal(int(f.Fd())) && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

// ANSI codes of the colors and text attributes in the text report.
const (
	red, yellow, green, dim, bold = "31", "33", "32", "2", "1"
)

// colorize returns text in the given color. The argument color is the ANSI code of a color or of
// another text attribute, such as red or bold. If the style has no colors, colorize returns text
// unchanged.
func (s TextStyle) colorize(color, text string) string {
	if !s.Color {
		return text
	}
	return "\033[" + color + "m" + text + "\033[0m"
}

// colorVerdict returns text in the color that represents verdict v. If the style has no colors,
// it returns text unchanged.
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

// WriteText writes the report as text in the style s. The text consists of the causes that kept the
// target from being tested, a line for each dialect, the failed and warned checks with evidence and
// commands that reproduce them, the checks that could not be judged, and the verdict. WriteText
// returns any error from writing to w.
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

// ciCommands matches the beginning of a line that a CI system would execute as a command if the
// line were printed in its log, such as "::".
var ciCommands = regexp.MustCompile(`(?m)^([ \t]*)(::|##\[)`)

// overallVerdict returns the verdict that determines the color of the last line of the report. It
// returns failed if the exit code is not 0. Otherwise, it returns r.Verdict, or warned if r.Verdict
// is worse than warned.
func (r *Report) overallVerdict() spec.Verdict {
	if r.Exit == ExitPassed {
		return min(r.Verdict, spec.Warned)
	}
	return spec.Failed
}

// writeSeed writes the flags that repeat the run. It writes nothing if the report has no seed. If
// the style is verbose, it adds the salt, with which the repeated run also uses the same ids.
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

// writeTitle writes the first line of the text report, with the program, the target and the
// duration. If the run is incomplete, a line with the reason follows.
func (r *Report) writeTitle(b *strings.Builder, s TextStyle) {
	facts := fmt.Sprintf("%.1f s", float64(r.DurationMS)/1000)
	if r.Rounds > 0 {
		facts = printable.Count(r.Rounds, "round") + ", " + facts
	}
	title := singleLine(r.Tool+" "+r.Version) + ": " + truncateText(singleLine(r.Target), 120)
	fmt.Fprintf(b, "%s  %s\n", s.colorize(bold, title), s.colorize(dim, "("+facts+")"))
	if r.Incomplete != "" {
		fmt.Fprintf(b, "  %s\n", s.colorize(yellow, "incomplete: "+truncateText(singleLine(r.Incomplete), 200)))
	}
	if slices.ContainsFunc(r.Dialects, DialectResults.isBlocked) {
		b.WriteString("\n")
	}
}

// writeDialects writes a line for each dialect, with the number of requirements that have each
// verdict, followed by the notes on the dialect.
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

// writeWrapped writes indent, text and a line feed, wrapped at [lineWidth]. Each line after the
// first begins with as many spaces as indent has columns.
func writeWrapped(b *strings.Builder, indent, text string) {
	deeper := strings.Repeat(" ", textWidth(indent))
	b.WriteString(indent + wrapText(text, deeper, lineWidth-textWidth(indent)) + "\n")
}

// writeDimmed writes text and a line feed, wrapped at [lineWidth] and dimmed if the style has
// colors. Every line begins with indent, which must be ASCII.
func (s TextStyle) writeDimmed(b *strings.Builder, indent, text string) {
	b.WriteString(indent + s.colorize(dim, wrapText(text, indent, lineWidth-len(indent))) + "\n")
}

// writeLabelled writes label, padded to nine characters, then text and a line feed. It wraps text
// at lineWidth columns, with all lines after the first aligned to the start of text.
func writeLabelled(b *strings.Builder, label, text string) {
	writeWrapped(b, fmt.Sprintf("  %-9s  ", label), text)
}

// otherScenarios returns a note on further scenarios, which have the given names. An example is
// " (and in 2 more: a, b)". It returns "" if names is empty.
func otherScenarios(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" (and in %d more: %s)", len(names), strings.Join(names, ", "))
}

// maxCommand is the maximum length in characters of a command that reports for people show.
const maxCommand = 4000

// fullCommand returns command if it has at most [maxCommand] characters, and otherwise a note that
// refers to the JSON report. It never shortens a command, because a shortened command could do
// something else.
func fullCommand(command string) string {
	if n := len([]rune(command)); n > maxCommand {
		return fmt.Sprintf("a command of %d characters: see curl in the JSON report", n)
	}
	return command
}

// displayLines splits raw into lines that are safe to print. Lines longer than width columns are
// broken. If there are more than limit lines, those in the middle are replaced by a note with the
// number of their characters. If raw ends with a note of boundedText about omitted bytes, the last
// lines are replaced instead, and that note becomes a part of the other; it is a line of its own if
// all lines of raw are shown.
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
	switch {
	case len(lines) > limit+1: // a note in place of one line would save nothing
	case note != "":
		return append(lines, strings.TrimSpace(note))
	default:
		return lines
	}
	last := lines[len(lines)-limit/2:]
	if note != "" {
		last = nil
	}
	first, left := lines[:limit-len(last)], 0
	for _, l := range lines[len(first) : len(lines)-len(last)] {
		left += len([]rune(l))
	}
	if note != "" {
		return append(first, fmt.Sprintf("… (at least %d more bytes)", left+truncatedBytes(note)))
	}
	return slices.Concat(first, []string{fmt.Sprintf("… (%d more characters)", left)}, last)
}

// writeInconclusive writes the reasons why checks of the dialect have verdict v, which must be
// [spec.Error] (not judged) or [spec.Skipped]. Each reason is written once, with the checks to
// which it applies.
func (d DialectResults) writeInconclusive(b *strings.Builder, v spec.Verdict, s TextStyle) {
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

// writeSilent writes the requirements of the dialect that the run did not test, followed by those
// that no check can judge.
func (d DialectResults) writeSilent(b *strings.Builder, s TextStyle) {
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
