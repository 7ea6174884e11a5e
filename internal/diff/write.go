package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Report is what comparing two targets, or two folders of recordings, came to.
type Report struct {
	Tool    string `json:"tool"`
	Version string `json:"version"`
	A       string `json:"a"`
	B       string `json:"b"`
	Seed    uint64 `json:"seed,omitempty"`
	Salt    uint64 `json:"salt,omitempty"`
	Exit    int    `json:"exit"`

	Incomplete string `json:"incomplete,omitempty"` // why it was broken off

	Dialects []Dialect `json:"dialects"`
	Only     []string  `json:"only,omitempty"` // conversations that one side alone has
}

// A Dialect is what came of one dialect.
type Dialect struct {
	Dialect       string         `json:"dialect"`
	Conversations []Conversation `json:"conversations"`
}

// Exit codes of a report.
const (
	ExitAlike   = 0
	ExitDiffers = 1
	ExitNothing = 3 // nothing was compared
)

// Conclude finds the exit code.
func (r *Report) Conclude() {
	r.Exit = ExitNothing
	for _, d := range r.Dialects {
		for _, c := range d.Conversations {
			switch {
			case len(c.Differences) > 0:
				r.Exit = ExitDiffers
				return
			case c.Compared:
				r.Exit = ExitAlike
			}
		}
	}
}

// WriteJSON writes the report for programs.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// WriteText writes the report for people, both sides side by side.
func (r *Report) WriteText(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "A  %s\nB  %s\n", plain(r.A), plain(r.B))
	if r.Seed != 0 {
		fmt.Fprintf(b, "seed %d, salt %d\n", r.Seed, r.Salt)
	}
	if r.Incomplete != "" {
		fmt.Fprintf(b, "incomplete: %s\n", plain(r.Incomplete))
	}
	b.WriteByte('\n')
	for _, d := range r.Dialects {
		times := map[string]int{}
		for _, c := range d.Conversations {
			for _, difference := range c.Differences {
				times[difference.key()]++
			}
		}
		for _, c := range d.Conversations {
			c.write(b, d.Dialect, times)
		}
	}
	for _, only := range r.Only {
		fmt.Fprintf(b, "not compared: %s\n", plain(only))
	}
	for _, d := range r.Dialects {
		d.writeTail(b)
	}
	word := map[int]string{ExitAlike: "ALIKE", ExitDiffers: "DIFFERENT", ExitNothing: "NOTHING COMPARED"}[r.Exit]
	if r.Incomplete != "" {
		word = "INTERRUPTED"
	}
	fmt.Fprintf(b, "%s  (exit %d)\n", word, r.Exit)
	_, err := io.WriteString(w, b.String())
	return err
}

// key is what two differences have in common that people need to be told of once: the
// same fields with the same values.
func (d Difference) key() string {
	if len(d.Fields) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s %q", d.A.Kind, d.B.Kind, d.Fields)
}

// write tells of the differences of one conversation, as far as nobody was told of them
// yet. times is how often each is told of from here on; 0: it was.
func (c Conversation) write(b *strings.Builder, dialect string, times map[string]int) {
	asked, titled := "", false
	for _, d := range c.Differences {
		n := times[d.key()]
		if d.key() != "" && n == 0 {
			continue
		}
		if !titled {
			titled = true
			fmt.Fprintf(b, "%s  %s\n", plain(c.Name), plain(dialect))
		}
		where := d.A
		if where == nil {
			where = d.B
		}
		if at := fmt.Sprintf("exchange %d: %s", where.Exchange, plain(d.Asked)); at != asked {
			asked = at
			fmt.Fprintf(b, "  %s\n", at)
			row(b, " ", "A", "B")
		}
		switch {
		case d.B == nil:
			row(b, "<", d.A.line(), "")
		case d.A == nil:
			row(b, ">", "", d.B.line())
		default:
			row(b, "~", string(d.A.Kind)+" (event "+nth(d.A.Event)+")", string(d.B.Kind)+" (event "+nth(d.B.Event)+")")
			for _, f := range d.Fields {
				row(b, " ", f.Name+": "+value(f.A), f.Name+": "+value(f.B))
			}
			if times[d.key()] = 0; n > 1 {
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

// writeTail tells how much was compared, and what was left out.
func (d Dialect) writeTail(b *strings.Builder) {
	compared, differ, differences, events := 0, 0, 0, 0
	var out []string
	for _, c := range d.Conversations {
		if !c.Compared {
			out = append(out, c.Name+" ("+c.Why+")")
			continue
		}
		compared++
		events += c.Events
		if n := len(c.Differences) + c.Dropped; n > 0 {
			differ, differences = differ+1, differences+n
		}
	}
	fmt.Fprintf(b, "%s: %d conversations, %d events compared; %d differences in %d of them\n", plain(d.Dialect), compared, events, differences, differ)
	if len(out) > 0 {
		fmt.Fprintf(b, "  not compared: %s\n", plain(strings.Join(out, ", ")))
	}
	for _, c := range d.Conversations {
		if len(c.Volatile) > 0 {
			fmt.Fprintf(b, "  volatile in %s: %s\n", plain(c.Name), plain(strings.Join(c.Volatile, ", ")))
		}
		if n := len(c.Notes); n > 0 {
			fmt.Fprintf(b, "  in %s: %s (%d such)\n", plain(c.Name), plain(c.Notes[0]), n)
		}
	}
}

func (s Side) line() string { return string(s.Kind) + " (event " + nth(s.Event) + ") " + s.Facts }

func nth(event int) string {
	if event < 0 {
		return "–"
	}
	return strconv.Itoa(event)
}

// value is a field of one side, which may not be there.
func value(v string) string {
	if v == "" {
		return "—"
	}
	return strconv.Quote(v)
}

// wide is how many characters a side has.
const wide = 56

// row writes two texts side by side, each in as many lines as it takes.
func row(b *strings.Builder, mark, left, right string) {
	l, r := lines(left), lines(right)
	for i := range max(len(l), len(r), 1) {
		var x, y string
		if i < len(l) {
			x = l[i]
		}
		if i < len(r) {
			y = r[i]
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %s %s%s │ %s", mark, x, strings.Repeat(" ", wide-utf8.RuneCountInString(x)), y), " ") + "\n")
		mark = " "
	}
}

func lines(s string) (all []string) {
	runes := []rune(plain(s))
	for len(runes) > wide {
		all = append(all, string(runes[:wide]))
		runes = runes[wide:]
	}
	return append(all, string(runes))
}

// plain shows a text that a target wrote so that it cannot do anything to the terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// Bounds of what is shown of a value, in bytes.
const (
	mostShown  = 400
	mostBefore = 40
)

// shown are the parts of two values where they differ.
func shown(a, b string) (string, string) {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	from := 0
	if len(a) > mostShown || len(b) > mostShown {
		from = max(0, same-mostBefore)
	}
	return piece(a, from), piece(b, from)
}

func piece(s string, from int) string {
	if s == "" {
		return ""
	}
	part := s[from:]
	if from > 0 {
		part = "…" + part
	}
	if len(part) > mostShown {
		part = fmt.Sprintf("%s… (%d bytes)", part[:mostShown], len(s))
	}
	return strings.ToValidUTF8(part, "\uFFFD")
}
