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

// A Style is how the report for people looks.
type Style struct {
	Color   bool
	Verbose bool // names what was silent or left out, not only how many
}

// DetectStyle is the style for an output: colour on a terminal, unless NO_COLOR is
// set or the terminal is dumb.
func DetectStyle(f *os.File, env func(string) string) Style {
	return Style{Color: f != nil && term.IsTerminal(int(f.Fd())) && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

const (
	red, yellow, green, dim, bold = "31", "33", "32", "2", "1"
)

func (s Style) paint(color, text string) string {
	if !s.Color {
		return text
	}
	return "\033[" + color + "m" + text + "\033[0m"
}

func (s Style) verdict(v spec.Verdict, text string) string {
	switch v {
	case spec.Failed, spec.Error:
		return s.paint(red, text)
	case spec.Warned:
		return s.paint(yellow, text)
	case spec.Passed:
		return s.paint(green, text)
	}
	return s.paint(dim, text)
}

// WriteText writes the report for people: what kept the target from being judged, then a
// line for each dialect, then what is broken, with the bytes that prove it and a command
// that shows it again, then what could not be told, and the verdict in the last line.
func WriteText(w io.Writer, r *Report, s Style) error {
	b := &strings.Builder{}
	r.writeTitle(b, s)
	for _, d := range r.Dialects {
		d.writeCauses(b, s, true)
	}
	r.writeHead(b, s)
	for _, d := range r.Dialects {
		d.writeCauses(b, s, false)
	}
	for _, d := range r.Dialects {
		for _, g := range d.bad(s.Verbose) {
			g.write(b, d, s)
		}
	}
	for _, d := range r.Dialects {
		d.writeDoubts(b, spec.Error, s)
		if s.Verbose {
			d.writeDoubts(b, spec.Skipped, s)
			d.writeSilent(b, s)
		}
	}
	r.writeRounds(b, s)
	fmt.Fprintf(b, "%s  %s\n", s.verdict(r.mood(), s.paint(bold, r.word())), visible(r.conclusion()))
	_, err := io.WriteString(w, commands.ReplaceAllString(b.String(), `$1\$2`))
	return err
}

// commands are beginnings of lines that CI systems obey where they stand in a log.
var commands = regexp.MustCompile(`(?m)^([ \t]*)(::|##\[)`)

// mood is the verdict that the last line is coloured by.
func (r *Report) mood() spec.Verdict {
	if r.Exit == ExitHolds {
		return min(r.Verdict, spec.Warned)
	}
	return spec.Failed
}

func (r *Report) writeTitle(b *strings.Builder, s Style) {
	facts := fmt.Sprintf("%.1f s", float64(r.DurationMS)/1000)
	if r.Rounds > 0 {
		facts = several(r.Rounds, "round") + ", " + facts
	}
	if r.Seed != 0 {
		facts = fmt.Sprintf("seed %d, salt %d, %s", r.Seed, r.Salt, facts)
	}
	fmt.Fprintf(b, "%s  %s\n", s.paint(bold, words(r.Tool+" "+r.Version)+": "+clip(words(r.Target), 120)), s.paint(dim, "("+facts+")"))
	if r.Incomplete != "" {
		fmt.Fprintf(b, "  %s\n", s.paint(yellow, "incomplete: "+clip(words(r.Incomplete), 200)))
	}
	if slices.ContainsFunc(r.Dialects, Dialect.stopped) {
		b.WriteString("\n")
	}
}

// writeHead writes a line for each dialect.
func (r *Report) writeHead(b *strings.Builder, s Style) {
	wide := 0
	for _, d := range r.Dialects {
		wide = max(wide, len(d.Dialect))
	}
	for _, d := range r.Dialects {
		v := d.worst()
		numbers := clip(words(d.summary()), 400)
		numbers = wrap(numbers, strings.Repeat(" ", wide+13), columns-wide-13)
		fmt.Fprintf(b, "  %s  %-*s  %s\n", s.verdict(v, fmt.Sprintf("%-7s", v)), wide, visible(d.Dialect), numbers)
		for _, note := range d.Notes {
			line(b, strings.Repeat(" ", wide+13), clip(words(note), 400))
		}
	}
	b.WriteString("\n")
}

// line writes a text with an indent, wrapped.
func line(b *strings.Builder, indent, text string) {
	deeper := strings.Repeat(" ", span(indent))
	b.WriteString(indent + wrap(text, deeper, columns-span(indent)) + "\n")
}

// aside writes a line that is less important than the one before it.
func (s Style) aside(b *strings.Builder, indent, text string) {
	b.WriteString(indent + s.paint(dim, wrap(text, indent, columns-len(indent))) + "\n")
}

func labelled(b *strings.Builder, label, text string) { line(b, fmt.Sprintf("  %-9s  ", label), text) }

// elsewhere names the other scenarios that show the same.
func elsewhere(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" (and in %d more: %s)", len(names), strings.Join(names, ", "))
}

// mostCommand bounds a command on the screen, in characters.
const mostCommand = 4000

// whole is a command, or where to find it: half a command is none.
func whole(command string) string {
	if n := len([]rune(command)); n > mostCommand {
		return fmt.Sprintf("a command of %d characters: see curl in the JSON report", n)
	}
	return command
}

// rawLines are bytes as people can read them: line by line, at most so many lines
// and columns, and a note of what is left out.
func rawLines(raw string, wide, most int) []string {
	raw, note := untilLeftOut(raw)
	var lines []string
	if body := strings.TrimRight(raw, "\n"); body != "" {
		for l := range strings.SplitSeq(body, "\n") {
			lines = append(lines, chop(visible(l), wide)...)
		}
	} else if raw != "" {
		lines = chop(visible(raw), wide)
	}
	if len(lines) > most {
		left := 0
		for _, l := range lines[most:] {
			left += len([]rune(l))
		}
		lines = append(lines[:most], fmt.Sprintf("… (%d more characters)", left))
	}
	if note != "" {
		lines = append(lines, strings.TrimSpace(note))
	}
	return lines
}

// writeDoubts tells why something could not be told, or was left out: once for
// each reason.
func (d Dialect) writeDoubts(b *strings.Builder, v spec.Verdict, s Style) {
	for _, o := range d.doubts(v, s.Verbose) {
		title := "COULD NOT TELL"
		if v == spec.Skipped {
			title = "SKIPPED"
		}
		fmt.Fprintf(b, "%s  %s\n", s.verdict(v, title), s.paint(dim, visible(d.Dialect)))
		line(b, "  • ", clip(words(o.Why), 600))
		labelled(b, "about", o.about())
		ids := strings.Join(o.Checks, ", ")
		if !s.Verbose {
			ids = clip(ids, 300)
		}
		labelled(b, "checks", words(ids))
		b.WriteString("\n")
	}
}

// writeSilent names the requirements that nobody has exercised, and those that no
// check can judge.
func (d Dialect) writeSilent(b *strings.Builder, s Style) {
	var silent, excluded []Requirement
	for _, r := range d.Requirements {
		switch {
		case r.Excluded != nil:
			excluded = append(excluded, r)
		case r.Verdict == spec.Silent:
			silent = append(silent, r)
		}
	}
	if len(silent) > 0 {
		fmt.Fprintf(b, "%s  %s: nothing in this run exercised\n", s.paint(dim, "SILENT"), visible(d.Dialect))
		for _, r := range silent {
			labelled(b, string(r.Level), words(r.ID)+"  ("+words(strings.Join(r.Checks, ", "))+")")
		}
		b.WriteString("\n")
	}
	if len(excluded) > 0 {
		fmt.Fprintf(b, "%s  %s: no check judges\n", s.paint(dim, "EXCLUDED"), visible(d.Dialect))
		for _, r := range excluded {
			labelled(b, string(r.Level), words(r.ID+": "+r.Excluded.Kind+": "+r.Excluded.Reason))
		}
		b.WriteString("\n")
	}
}
