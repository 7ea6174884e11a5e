package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamassay/streamassay/internal/exitcode"
	"github.com/streamassay/streamassay/internal/printable"
)

// A Report is the result of comparing two targets or two folders of recordings.
type Report struct {
	Tool    string `json:"tool"`           // name of the program that made the report
	Version string `json:"version"`        // version of that program
	A       string `json:"a"`              // side A: a target, or a path of recordings
	B       string `json:"b"`              // side B
	Seed    uint64 `json:"seed,omitempty"` // seed of the requests to the targets; 0 for recordings
	Salt    uint64 `json:"salt,omitempty"` // salt of the ids in the requests; 0 for recordings
	Exit    int    `json:"exit"`           // exit code of the command; see [exitcode]

	Incomplete string `json:"incomplete,omitempty"` // why the comparison ended early; "" if it did not

	Dialects []DialectDiff `json:"dialects"`
	Only     []string      `json:"only,omitempty"` // descriptions of the conversations that only one side has

	refusals []int // result of findRefusals, set by Conclude
}

// A DialectDiff holds the results of comparing sides A and B in one dialect.
type DialectDiff struct {
	Dialect       string             `json:"dialect"`
	Conversations []ConversationDiff `json:"conversations"`
}

// Conclude sets r.Exit according to the results:
//   - [exitcode.Failed], if at least one conversation has differences
//   - [exitcode.Passed], if there are no differences, something was compared, and r.Incomplete is
//     ""
//   - [exitcode.Inconclusive], otherwise
//
// If there are no differences, and both sides refused every request, Conclude marks all
// conversations as not compared: that two servers refuse everything does not show that they are
// alike.
func (r *Report) Conclude() {
	r.Exit = exitcode.Inconclusive
	r.refusals = r.findRefusals()
	for _, d := range r.Dialects {
		for i := range d.Conversations {
			c := &d.Conversations[i]
			if c.Compared && len(r.refusals) > 0 {
				c.Compared, c.Exchanges, c.Events = false, 0, 0
				c.Reason = fmt.Sprintf("both replied %s to every request", joinStatuses(c.statuses))
			}
			switch {
			case len(c.Differences) > 0:
				r.Exit = exitcode.Failed
				return
			case c.Compared && r.Incomplete == "":
				r.Exit = exitcode.Passed
			}
		}
	}
}

// findRefusals returns the distinct status codes of all responses that were compared, in increasing
// order, if the two sides refused every request alike: none of the responses is an answer
// (exchangeEvents.isAnswered), at least one of the requests is valid, and there are no differences.
// Otherwise, it returns nil.
func (r *Report) findRefusals() (statuses []int) {
	validSent, answered := false, false
	for _, d := range r.Dialects {
		for _, c := range d.Conversations {
			if len(c.Differences) > 0 {
				return nil
			}
			statuses = append(statuses, c.statuses...)
			validSent, answered = validSent || c.validSent, answered || c.answered
		}
	}
	if !validSent || answered {
		return nil
	}
	slices.Sort(statuses)
	return slices.Compact(statuses)
}

// joinStatuses returns the status codes of refusals in increasing order, such as "401 or 404". A
// response with status 2xx counts as a refusal if it is a web page or lacks the requested stream.
func joinStatuses(statuses []int) string {
	var words []string
	for _, s := range slices.Sorted(slices.Values(statuses)) {
		word := strconv.Itoa(s)
		if s/100 == 2 {
			word += " (without the requested content)"
		}
		words = append(words, word)
	}
	return strings.Join(words, " or ")
}

// refusalAdvice returns what the user can do about r.refusals, which must not be empty.
func (r *Report) refusalAdvice() string {
	has := func(codes ...int) bool {
		return slices.ContainsFunc(codes, func(code int) bool { return slices.Contains(r.refusals, code) })
	}
	switch {
	case r.Seed == 0:
		return "compare recordings of requests that were not refused"
	case has(401, 403, 407):
		return "give valid credentials with --header, or with --header-a and --header-b"
	case has(200, 201, 202, 404, 405, 410, 501):
		return "check the base URLs and the dialect"
	}
	return "look in the servers' logs; streamassay run shows the responses"
}

// WriteJSON writes the report to w as indented JSON. It returns any error from writing to w.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// WriteText writes the report to w as plain text, with the two sides in columns. It returns any
// error from writing to w.
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
	if len(r.refusals) > 0 {
		fmt.Fprintf(b, "to do: %s\n", r.refusalAdvice())
	}
	word := map[int]string{
		exitcode.Passed: "ALIKE", exitcode.Failed: "DIFFERENT", exitcode.Inconclusive: "NOTHING COMPARED",
	}[r.Exit]
	switch {
	case r.Exit >= exitcode.SignalBase:
		word = "INTERRUPTED"
	case r.Exit == exitcode.Inconclusive && r.Incomplete != "":
		word = "INCOMPLETE"
	}
	fmt.Fprintf(b, "%s  (exit %d)\n", word, r.Exit)
	_, err := io.WriteString(w, b.String())
	return err
}

// fieldsKey returns a key by which the text report recognizes repeated differences. Differences
// have equal keys if they have the same kinds of events, and the same fields with the same values.
// The key is "" if only one side has the event.
func (d Difference) fieldsKey() string {
	if len(d.Fields) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s %q", d.A.Kind, d.B.Kind, d.Fields)
}

// write writes the differences of the conversation, in the dialect with the given name, to b. If
// several differences in the dialect have the same [Difference.fieldsKey], the report contains only
// the first of them and the number of the others. Differences with the key "" are always written.
//
// The map times holds, for each key, the number of differences in the dialect. After write has
// written a difference, it sets the number for its key to 0, so that later calls omit the others.
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

// writeSummary writes a summary of the dialect to b: how many conversations and events were
// compared, how many differences there are, and which conversations were not compared. It also
// writes the volatile fields and the first note of each conversation, with the number of notes.
func (d DialectDiff) writeSummary(b *strings.Builder) {
	compared, differ, differences, events := 0, 0, 0, 0
	var reasons []string
	out := map[string][]string{} // names of the conversations that were not compared, by reason
	for _, c := range d.Conversations {
		if !c.Compared {
			if out[c.Reason] == nil {
				reasons = append(reasons, c.Reason)
			}
			out[c.Reason] = append(out[c.Reason], c.Name)
			continue
		}
		compared++
		events += c.Events
		if n := len(c.Differences) + c.Dropped; n > 0 {
			differ, differences = differ+1, differences+n
		}
	}
	fmt.Fprintf(b, "%s: %s, %s compared; %s in %d of them\n", printableText(d.Dialect),
		printable.Count(compared, "conversation"), printable.Count(events, "event"),
		printable.Count(differences, "difference"), differ)
	for _, reason := range reasons {
		fmt.Fprintf(b, "  not compared: %s\n", printableText(strings.Join(out[reason], ", ")+" ("+reason+")"))
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

// title returns the kind of the event and its index in the exchange, such as "message.delta (event
// 3)". If the event is not a frame, a dash takes the place of the index.
func (s EventSummary) title() string {
	if s.Event < 0 {
		return string(s.Kind) + " (event –)"
	}
	return fmt.Sprintf("%s (event %d)", s.Kind, s.Event)
}

// text returns the title and the facts of the event on one line.
func (s EventSummary) text() string { return s.title() + " " + s.Facts }

// fieldValue returns v, the value of a field, in quotation marks, or a dash if v is "".
func fieldValue(v string) string {
	if v == "" {
		return "—"
	}
	return strconv.Quote(v)
}

// columnWidth is the width of one column of the text report, in characters.
const columnWidth = 56

// writeRow writes the texts left and right to b side by side, each wrapped in its own column. The
// first line begins with mark, a single character, and the other lines begin with a space.
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

// wrapColumn splits s into lines of at most columnWidth characters. It also replaces unprintable
// characters (see printableText).
func wrapColumn(s string) (all []string) {
	for line := range slices.Chunk([]rune(printableText(s)), columnWidth) {
		all = append(all, string(line))
	}
	return all
}

// printableText returns s with U+FFFD in place of each unprintable character. Such characters could
// control the terminal.
func printableText(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// Limits, in bytes, on the excerpt of a long value in a difference.
const (
	maxShown         = 400 // maximum length of the excerpt
	maxContextBefore = 40  // maximum length of its part before the first byte that differs
)

// differingParts returns excerpts of a and b that show the first difference between them. If a or b
// is longer than maxShown bytes, both excerpts begin shortly before the first byte that differs,
// and may be cut off at the end (see excerptFrom). Otherwise, they are complete.
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

// excerptFrom returns the part of s that begins at the byte offset from, truncated to about
// maxShown bytes. An ellipsis marks each omission. If the end of s is omitted, the length of s in
// bytes follows. If s is "", the result is "".
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
