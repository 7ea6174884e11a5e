package reports

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/streamassay/streamassay/spec"
)

// A Style is how the report for people looks.
type Style struct {
	Color bool
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

// WriteText writes the report for people: what is broken, with the bytes that
// prove it and a command that shows it again, then a line for each dialect, then
// the verdict.
func WriteText(w io.Writer, r *Report, s Style) error {
	b := &strings.Builder{}
	for _, v := range []spec.Verdict{spec.Failed, spec.Warned} {
		for _, d := range r.Dialects {
			writeEntries(b, d, v, s)
		}
	}
	for _, d := range r.Dialects {
		writeErrors(b, d, s)
	}
	fmt.Fprintf(b, "%s%s\n", s.paint(bold, "streamassay: "+printable(r.Target)), s.paint(dim, seeded(r.Seed)))
	for _, d := range r.Dialects {
		fmt.Fprintf(b, "  %s\n", d.line(s))
	}
	fmt.Fprintf(b, "%s\n", s.verdict(r.Verdict, r.lastLine()))
	_, err := io.WriteString(w, b.String())
	return err
}

// most is how many findings of one check are shown.
const most = 3

// writeEntries tells what came out with one verdict, each check once: the first
// scenario that shows it is shown, the others are named.
func writeEntries(b *strings.Builder, d Dialect, v spec.Verdict, s Style) {
	var order []string
	entries := map[string][]Check{}
	for _, c := range d.Checks {
		if c.Verdict != v {
			continue
		}
		if entries[c.ID] == nil {
			order = append(order, c.ID)
		}
		entries[c.ID] = append(entries[c.ID], c)
	}
	for _, id := range order {
		c := telling(entries[id])
		fmt.Fprintf(b, "%s  %s  %s\n", s.verdict(v, strings.ToUpper(v.String())), d.Dialect, s.paint(bold, c.ID))
		fmt.Fprintf(b, "  %s\n", c.Title)
		if c.Note != "" {
			fmt.Fprintf(b, "  %s\n", printable(c.Note))
		}
		c.writeFindings(b, d, s)
		fmt.Fprintf(b, "  scenario:  %s\n", printable(c.Scenario)+others(entries[id], c))
		if c.Curl != "" {
			fmt.Fprintf(b, "  reproduce: %s\n", clip(printable(c.Curl), 400))
		}
		if c.Transcript != "" {
			fmt.Fprintf(b, "  recorded:  %s\n", printable(c.Transcript))
		}
		fmt.Fprintf(b, "  why:       streamassay explain %s\n\n", c.ID)
	}
}

// writeErrors tells why it could not be told, each reason once.
func writeErrors(b *strings.Builder, d Dialect, s Style) {
	var reasons []string
	scenarios := map[string][]string{}
	for _, c := range d.Checks {
		if c.Verdict != spec.Error {
			continue
		}
		if scenarios[c.Note] == nil {
			reasons = append(reasons, c.Note)
		}
		if !slices.Contains(scenarios[c.Note], c.Scenario) {
			scenarios[c.Note] = append(scenarios[c.Note], c.Scenario)
		}
	}
	for _, why := range reasons {
		fmt.Fprintf(b, "%s  %s  %s\n", s.verdict(spec.Error, "ERROR"), d.Dialect, clip(printable(why), 300))
		fmt.Fprintf(b, "  scenarios: %s\n\n", clip(printable(strings.Join(scenarios[why], ", ")), 160))
	}
}

// telling is the entry to show: the first with findings.
func telling(list []Check) Check {
	for _, c := range list {
		if len(c.Findings) > 0 {
			return c
		}
	}
	return list[0]
}

// others names the other scenarios that show the same check.
func others(list []Check, shown Check) string {
	var names []string
	for _, c := range list {
		if c.Scenario != shown.Scenario {
			names = append(names, printable(c.Scenario))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return clip(", and in "+strings.Join(names, ", "), 160)
}

func (c Check) writeFindings(b *strings.Builder, d Dialect, s Style) {
	for i, f := range c.Findings {
		if i == most {
			fmt.Fprintf(b, "  … and %d more\n", len(c.Findings)-i+c.Dropped)
			return
		}
		fmt.Fprintf(b, "  • %s\n    %s\n", clip(printable(f.Message), 300), s.paint(dim, f.place()))
		if f.Raw != "" {
			fmt.Fprintf(b, "    %s\n", clip(printable(strings.TrimRight(f.Raw, "\r\n")), 300))
		}
		if law, ok := d.requirement(f.Requirement); ok {
			fmt.Fprintf(b, "    %s %s  “%s” (%s)\n", law.Level, law.ID, clip(printable(law.Quote), 120), law.Source)
		}
	}
}

// printable spells out what a terminal might obey: bytes of a stranger never reach
// it as they are.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r':
			return '⏎'
		case r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			return '\ufffd'
		}
		return r
	}, s)
}

// clip shortens a line for people.
func clip(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most]) + " …"
}

func seeded(seed uint64) string {
	if seed == 0 {
		return ""
	}
	return fmt.Sprintf("  (seed %d)", seed)
}

// line is a dialect in one line.
func (d Dialect) line(s Style) string {
	counts, worst := map[spec.Verdict]int{}, spec.Silent
	for _, r := range d.Requirements {
		if r.Excluded == nil {
			counts[r.Verdict]++
			worst = max(worst, r.Verdict)
		}
	}
	for _, c := range d.Checks {
		worst = max(worst, c.Verdict)
	}
	var said []string
	for _, v := range []spec.Verdict{spec.Failed, spec.Warned, spec.Error, spec.Passed, spec.Silent, spec.Skipped} {
		if counts[v] > 0 {
			said = append(said, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	return fmt.Sprintf("%s %-20s %s requirements, %d checks in scenarios", s.verdict(worst, fmt.Sprintf("%-7s", worst)), d.Dialect, strings.Join(said, ", "), len(d.Checks))
}

// lastLine is the verdict in one line.
func (r *Report) lastLine() string {
	word := map[int]string{0: "PASSED", 1: "FAILED", 3: "NOTHING MEASURED", 5: "HARNESS FAILURE"}[r.Exit]
	if r.Exit == 3 && r.Counts.Error > 0 && r.Counts.Passed > 0 {
		word = "COULD NOT TELL"
	}
	musts, shoulds := 0, 0
	for _, d := range r.Dialects {
		for _, law := range d.Requirements {
			switch law.Verdict {
			case spec.Failed:
				musts++
			case spec.Warned:
				shoulds++
			}
		}
	}
	return fmt.Sprintf("%s  %d MUST broken, %d SHOULD broken; checks: %d passed, %d failed, %d warned, %d silent, %d skipped, %d errors; %.1f s (exit %d)",
		word, musts, shoulds, r.Counts.Passed, r.Counts.Failed, r.Counts.Warned, r.Counts.Silent, r.Counts.Skipped, r.Counts.Error, float64(r.DurationMS)/1000, r.Exit)
}
