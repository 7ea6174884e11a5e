package reports

import (
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/streamassay/streamassay/spec"
)

// evil contains texts with which a target could attack the reader of a report, by name. A target
// can put them into ids, events, header fields and file names.
var evil = map[string]string{
	"script":     `</pre></code></td></script><script>window.pwned=1;document.title='pwned'</script>`,
	"image":      `"><img src=x onerror="window.pwned=1"><svg onload=window.pwned=1>`,
	"attribute":  `' onmouseover='window.pwned=1' style='position:fixed;inset:0`,
	"link":       `[click](javascript:window.pwned=1) ![x](http://canary.invalid/x.png) <http://canary.invalid/> http://canary.invalid/`,
	"style":      `</style><style>*{display:none}</style><link rel=stylesheet href=http://canary.invalid/x.css><base href=http://canary.invalid/>`,
	"frame":      `<iframe src=http://canary.invalid/></iframe><meta http-equiv=refresh content="0;url=http://canary.invalid/">`,
	"template":   "{{.}} ${7*7} #{x} %s %n \\u003cscript\\u003e &lt;script&gt;",
	"terminal":   "\x1b]0;owned\a\x1b[2J\x1b[31m\u009b2J\x00\x7f\b\r",
	"direction":  "\u202egnp.exe\u2066\u200f \u200b\u200d\ufeff invoice\u202dfdp.exe",
	"right":      "שלום עולם مرحبا بالعالم " + strings.Repeat("ש", 400),
	"marks":      "Z" + strings.Repeat("\u0300\u0489\u20dd", 200),
	"long":       strings.Repeat("verylongword", 800),
	"wide":       strings.Repeat("世界", 800),
	"commands":   strings.Repeat("::error::fake ##[error]fake ", 40),
	"lines":      strings.Repeat("\n\n", 300) + "::set-output name=x::y\n::error::fake\n## heading\n```\n~~~\n---\n| a | b |",
	"sections":   "]]></failure></testcase><testcase name=\"fake\"/>\ufffe\uffff\x01 <![CDATA[",
	"not UTF-8":  "\xff\xfe\xc0\x80\xed\xa0\x80",
	"whitespace": strings.Repeat("\u3000\u00a0\t", 500),
}

// attacked returns a report that contains text wherever a target can influence the report.
func attacked(text string) *Report {
	r := &Report{}
	fill(reflect.ValueOf(r).Elem(), text)
	r.Tool, r.Version, r.Incomplete = "streamassay", "1", "interrupted"
	for i := range r.Dialects {
		d := &r.Dialects[i]
		d.Dialect = "talk@2"
		for k := range d.Causes {
			d.Causes[k].Advice = "try another port"
		}
		for k := range d.Requirements {
			q := &d.Requirements[k]
			q.ID, q.Quote, q.English, q.Source, q.Checks, q.Level, q.Verdict = "talk.frames", "quote", "", "doc:1", []string{"wire.frames"}, spec.Must, spec.Failed
			q.Excluded, q.Dialect = nil, ""
		}
		for k := range d.Checks {
			c := &d.Checks[k]
			c.ID, c.Title, c.Scenario, c.Requirements = "wire.frames", "frames are JSON", "text", []string{"talk.frames"}
			c.Advice, c.Cause, c.Transcript = "try again", nil, "out/text.txtar"
			c.Level, c.Verdict, c.Judged = spec.Must, spec.Failed, 1
			for n := range c.Findings {
				c.Findings[n].Requirement, c.Findings[n].Event = "talk.frames", nth(3)
			}
			noted := *c
			noted.ID, noted.Verdict, noted.Findings = "wire.other", spec.Error, nil
			d.Checks = append(d.Checks, noted)
		}
	}
	r.Conclude(ExitCodeOptions{})
	return r
}

// TestHostileTexts checks that no format lets a hostile text be anything other than text.
func TestHostileTexts(t *testing.T) {
	for name, text := range evil {
		t.Run(name, func(t *testing.T) {
			r := attacked(text)
			for _, format := range []string{"text", "markdown", "html"} {
				out := formatted(t, format, r)
				for _, c := range out {
					if c != '\n' && (unicode.Is(unicode.Cc, c) || unicode.Is(unicode.Cf, c)) {
						t.Errorf("%s holds %U", format, c)
						break
					}
				}
				if piled.MatchString(out) {
					t.Errorf("%s piles up marks", format)
				}
				if len(out) > 1<<20 {
					t.Errorf("%s has %d bytes", format, len(out))
				}
			}
			narrow(t, formatted(t, "text", r))
			onlyText(t, formatted(t, "markdown", r))
			if got, want := cases(t, formatted(t, "junit", r)), cases(t, formatted(t, "junit", attacked("x"))); got != want {
				t.Errorf("%d test cases, not %d", got, want)
			}
		})
	}
}

var piled = regexp.MustCompile(`[\p{Mn}\p{Me}]{7}`)

// narrow reports lines of a text report that are too wide for a terminal or that a CI system would
// execute as a command.
func narrow(t *testing.T, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		w, most := textWidth(strings.TrimSuffix(line, "\n")), lineWidth+8
		if strings.HasPrefix(line, "streamassay 1: ") { // a long URL is of use as a whole
			most += lineWidth
		}
		if w > most && !strings.HasPrefix(line, "  reproduce  ") { // which is to be copied
			t.Errorf("a line of %d columns: %.80q", w, line)
			return
		}
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "::") || strings.HasPrefix(text, "##[") {
			t.Errorf("a CI system may obey %.80q", line)
		}
	}
}

// onlyText reports unescaped elements, links and pictures in Markdown outside of code.
func onlyText(t *testing.T, out string) {
	t.Helper()
	fence := ""
	for line := range strings.Lines(out) {
		text := strings.TrimSpace(line)
		if fence != "" {
			if text == fence {
				fence = ""
			}
			continue
		}
		if n := len(text) - len(strings.TrimLeft(text, "`")); n >= 3 && !strings.Contains(text[n:], "`") {
			fence = text[:n]
			continue
		}
		rest := withoutCode(text)
		if active.MatchString(rest) {
			t.Errorf("Markdown outside of code: %.200q", rest)
		}
	}
	if fence != "" {
		t.Error("a fence is left open")
	}
}

var active = regexp.MustCompile(`(^|[^\\])(<[a-zA-Z/!]|\]\(|!\[)|https?://|^::`)

// withoutCode returns a line of Markdown without its code spans.
func withoutCode(line string) string {
	var b strings.Builder
	for {
		start := strings.Index(line, "`")
		if start < 0 || start > 0 && line[start-1] == '\\' {
			return b.String() + line
		}
		n := len(line[start:]) - len(strings.TrimLeft(line[start:], "`"))
		fence := line[start : start+n]
		b.WriteString(line[:start])
		line = line[start+n:]
		end := closing(line, fence)
		if end < 0 {
			return b.String() + line
		}
		line = line[end+n:]
	}
}

// closing returns the index of the first sequence in line of exactly as many backticks as fence
// has, or -1 if there is none.
func closing(line, fence string) int {
	for from := 0; ; {
		i := strings.Index(line[from:], fence)
		if i < 0 {
			return -1
		}
		n := len(line[from+i:]) - len(strings.TrimLeft(line[from+i:], "`"))
		if n == len(fence) {
			return from + i
		}
		from += i + n
	}
}

// cases returns the number of test cases in a JUnit report. It fails the test if the report is not
// XML.
func cases(t *testing.T, out string) (n int) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(out)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "testcase" {
			n++
		}
	}
}
