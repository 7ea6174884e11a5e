package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Report is the result of comparing two targets or two folders of recordings.
type Report struct {
	Tool    string `json:"tool"`
	Version string `json:"version"`
	A       string `json:"a"`
	B       string `json:"b"`
	Seed    uint64 `json:"seed,omitempty"`
	Salt    uint64 `json:"salt,omitempty"`
	Exit    int    `json:"exit"`

	Incomplete string `json:"incomplete,omitempty"` // why the comparison was interrupted

	Dialects []DialectDiff `json:"dialects"`
	Only     []string      `json:"only,omitempty"` // conversations that only one side has
}

// A DialectDiff holds the results for one dialect.
type DialectDiff struct {
	Dialect       string             `json:"dialect"`
	Conversations []ConversationDiff `json:"conversations"`
}

// Exit codes of the program after a comparison.
const (
	ExitEqual   = 0
	ExitDiffers = 1
	ExitNothing = 3 // nothing was compared
)

// Conclude sets r.Exit, the exit code, according to the results.
func (r *Report) Conclude() {
	r.Exit = ExitNothing
	for _, d := range r.Dialects {
		for _, c := range d.Conversations {
			switch {
			case len(c.Differences) > 0:
				r.Exit = ExitDiffers
				return
			case c.Compared:
				r.Exit = ExitEqual
			}
		}
	}
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// WriteText writes the report as text for people, with the two sides in columns.
func (r *Report) WriteText(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "A  %s\nB  %s\n", printableText(r.A), printableText(r.B))
	if r.Seed != 0 {
		fmt.Fprintf(b, "seed %d, salt %d\n", r.Seed, r.Salt)
	}
	if r.Incomplete != "" {
		fmt.Fprintf(b, "incomplete: %s\n", printableText(r.Incomplete))
	}
	b.WriteByte('\n')
	for _, d := range r.Dialects {
		times := map[string]int{}
		for _, c := range d.Conversations {
			for _, difference := range c.Differences {
				times[difference.fieldsKey()]++
			}
		}
		for _, c := range d.Conversations {
			c.write(b, d.Dialect, times)
		}
	}
	for _, only := range r.Only {
		fmt.Fprintf(b, "not compared: %s\n", printableText(only))
	}
	for _, d := range r.Dialects {
		d.writeSummary(b)
	}
	word := map[int]string{ExitEqual: "ALIKE", ExitDiffers: "DIFFERENT", ExitNothing: "NOTHING COMPARED"}[r.Exit]
	if r.Incomplete != "" {
		word = "INTERRUPTED"
	}
	fmt.Fprintf(b, "%s  (exit %d)\n", word, r.Exit)
	_, err := io.WriteString(w, b.String())
	return err
}

// fieldsKey returns a key that is equal for differences of the same kinds and fields, so that the
// text report shows each only once. It returns "" if only one side has the event.
func (d Difference) fieldsKey() string {
	if len(d.Fields) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s %q", d.A.Kind, d.B.Kind, d.Fields)
}

// write writes the differences of the conversation that were not shown before. times holds, by
// fieldsKey, how often each difference occurs in the rest of the report. write sets it to 0 when it
// shows the difference.
func (c ConversationDiff) write(b *strings.Builder, dialect string, times map[string]int) {
	lastHeading, titled := "", false
	for _, d := range c.Differences {
		n := times[d.fieldsKey()]
		if d.fieldsKey() != "" && n == 0 {
			continue
		}
		if !titled {
			titled = true
			fmt.Fprintf(b, "%s  %s\n", printableText(c.Name), printableText(dialect))
		}
		where := d.A
		if where == nil {
			where = d.B
		}
		if at := fmt.Sprintf("exchange %d: %s", where.Exchange, printableText(d.Request)); at != lastHeading {
			lastHeading = at
			fmt.Fprintf(b, "  %s\n", at)
			writeRow(b, " ", "A", "B")
		}
		switch {
		case d.B == nil:
			writeRow(b, "<", d.A.text(), "")
		case d.A == nil:
			writeRow(b, ">", "", d.B.text())
		default:
			writeRow(b, "~", d.A.title(), d.B.title())
			for _, f := range d.Fields {
				writeRow(b, " ", f.Name+": "+fieldValue(f.A), f.Name+": "+fieldValue(f.B))
			}
			if times[d.fieldsKey()] = 0; n > 1 {
				fmt.Fprintf(b, "    … and so in %d more places\n", n-1)
			}
		}
	}
	if titled && c.Dropped > 0 {
		fmt.Fprintf(b, "    … and %d more\n", c.Dropped)
	}
	if titled {
		b.WriteByte('\n')
	}
}

// writeSummary writes how much of a dialect was compared, how much differs, and what was left out.
func (d DialectDiff) writeSummary(b *strings.Builder) {
	compared, differ, differences, events := 0, 0, 0, 0
	var out []string
	for _, c := range d.Conversations {
		if !c.Compared {
			out = append(out, c.Name+" ("+c.Reason+")")
			continue
		}
		compared++
		events += c.Events
		if n := len(c.Differences) + c.Dropped; n > 0 {
			differ, differences = differ+1, differences+n
		}
	}
	fmt.Fprintf(b, "%s: %d conversations, %d events compared; %d differences in %d of them\n",
		printableText(d.Dialect), compared, events, differences, differ)
	if len(out) > 0 {
		fmt.Fprintf(b, "  not compared: %s\n", printableText(strings.Join(out, ", ")))
	}
	for _, c := range d.Conversations {
		if len(c.Volatile) > 0 {
			fmt.Fprintf(b, "  volatile in %s: %s\n", printableText(c.Name), printableText(strings.Join(c.Volatile, ", ")))
		}
		if n := len(c.Notes); n > 0 {
			fmt.Fprintf(b, "  in %s: %s (%d such)\n", printableText(c.Name), printableText(c.Notes[0]), n)
		}
	}
}

// title returns the kind of the event and its number in the exchange.
func (s DifferenceSide) title() string {
	return string(s.Kind) + " (event " + eventNumber(s.Event) + ")"
}

// text returns the event as one line of text: its title and its facts.
func (s DifferenceSide) text() string {
	return s.title() + " " + s.Facts
}

// eventNumber returns the index of a frame, or a dash if the event is not a frame.
func eventNumber(event int) string {
	if event < 0 {
		return "–"
	}
	return strconv.Itoa(event)
}

// fieldValue returns a value in quotes, or a dash if it is absent.
func fieldValue(v string) string {
	if v == "" {
		return "—"
	}
	return strconv.Quote(v)
}

// columnWidth is the width of one column of the text report, in characters.
const columnWidth = 56

// writeRow writes two texts beside each other in columns, each wrapped. mark precedes the first
// line.
func writeRow(b *strings.Builder, mark, left, right string) {
	l, r := wrapColumn(left), wrapColumn(right)
	for i := range max(len(l), len(r), 1) {
		var x, y string
		if i < len(l) {
			x = l[i]
		}
		if i < len(r) {
			y = r[i]
		}
		padding := strings.Repeat(" ", columnWidth-utf8.RuneCountInString(x))
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %s %s%s │ %s", mark, x, padding, y), " ") + "\n")
		mark = " "
	}
}

// wrapColumn splits a text into lines of at most columnWidth characters.
func wrapColumn(s string) (all []string) {
	runes := []rune(printableText(s))
	for len(runes) > columnWidth {
		all = append(all, string(runes[:columnWidth]))
		runes = runes[columnWidth:]
	}
	return append(all, string(runes))
}

// printableText replaces unprintable characters, which could control the terminal.
func printableText(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// Limits, in bytes, of what a difference shows of a long value.
const (
	maxShown         = 400
	maxContextBefore = 40
)

// differingParts returns excerpts of two values: from the start, or, if they are long, from
// shortly before their first difference.
func differingParts(a, b string) (string, string) {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	from := 0
	if len(a) > maxShown || len(b) > maxShown {
		from = max(0, same-maxContextBefore)
	}
	return excerptFrom(a, from), excerptFrom(b, from)
}

// excerptFrom returns s from an offset on, shortened to maxShown bytes.
func excerptFrom(s string, from int) string {
	if s == "" {
		return ""
	}
	part := s[from:]
	if from > 0 {
		part = "…" + part
	}
	if len(part) > maxShown {
		part = fmt.Sprintf("%s… (%d bytes)", part[:maxShown], len(s))
	}
	return strings.ToValidUTF8(part, "\uFFFD")
}
