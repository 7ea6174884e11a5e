package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// elements parses an HTML page and returns the number of elements by name, and all attributes as
// NAME=VALUE. It fails the test if elements are not closed in order.
func elements(t *testing.T, page string) (names map[string]int, attrs []string) {
	t.Helper()
	names = map[string]int{}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta", "input", "br"}, xml.HTMLEntity
	for {
		token, err := d.Token()
		if err == io.EOF {
			return names, attrs
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			names[e.Name.Local]++
			for _, a := range e.Attr {
				attrs = append(attrs, a.Name.Local+"="+a.Value)
			}
		}
	}
}

func TestHTML(t *testing.T) {
	page := formatted(t, "html", sample())
	names, attrs := elements(t, page)
	if names["script"]+names["link"]+names["img"]+names["iframe"]+names["object"] != 0 {
		t.Errorf("it needs more than itself, or runs what the target sent: %v", names)
	}
	if names["section"] != 3 || names["main"] != 1 || names["input"] != 6 || names["pre"] != 11 {
		t.Errorf("elements %v", names)
	}
	for _, a := range attrs {
		if name, value, _ := strings.Cut(a, "="); strings.HasPrefix(name, "on") || name == "src" || name == "href" && !strings.HasPrefix(value, "#") {
			t.Errorf("attribute %s", a)
		}
	}
	if regexp.MustCompile(`url\(|@import`).MatchString(page) {
		t.Error("the style loads something")
	}
	for _, part := range []string{
		"FAILED</span> http://127.0.0.1:4010/api/v1/agent", "prefers-color-scheme: dark", "default-src 'none'", "每个事件都必须是一个完整的 JSON 对象", "doc.txt:12-14",
		"exchange 0, event 3, line 9, byte 211, at /delta", "&lt;script&gt;alert(1)", `\x1b]0;owned`, "you claimed idle", "… and 7 more", "Scenario text, many", "does not do what the test prompts ask",
		"in English: Every event", "Also <code>stream.ends</code>", `id="talk@2-sequence.rises-warned"`, "failed 3</label>", "4 more like this",
		"streamassay explain wire.frames-are-json", "no check judges it (client)", "not judged: connection refused",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("it does not say %s", part)
		}
	}
}

// TestHTMLFilter checks that the page has a check box for each verdict, and that the style sheet
// shows the entries with that verdict if the box is checked.
func TestHTMLFilter(t *testing.T) {
	page := formatted(t, "html", sample())
	for v := spec.Silent; v <= spec.Error; v++ {
		checked := regexp.MustCompile(fmt.Sprintf(`<input class="filter" type="checkbox" id="show-%s"( checked)?>`, v)).FindStringSubmatch(page)
		if checked == nil {
			t.Fatalf("no box for %s", v)
		}
		if bad := v >= spec.Warned; (checked[1] != "") != bad {
			t.Errorf("%s is shown at first: %v", v, !bad)
		}
		if !strings.Contains(page, fmt.Sprintf("#show-%s:checked ~ .all .item.is-%s { display: block; }", v, v)) {
			t.Errorf("the box for %s does nothing", v)
		}
		if !strings.Contains(page, fmt.Sprintf(`class="check item is-%s"`, v)) {
			t.Errorf("no entry is %s", v)
		}
	}
}

// TestMarkdownHoldsForeignText checks that a text from a target is never interpreted as Markdown,
// and cannot end the code block that contains it.
func TestMarkdownHoldsForeignText(t *testing.T) {
	evil := "``` <img src=x> [a](http://evil) | @everyone `x` ~~~"
	r := &Report{Target: evil, Dialects: []DialectResults{{
		Dialect:      "d",
		Requirements: []RequirementResult{{ID: "law", Level: spec.Must, Quote: "a <b> *c* | `d`", Source: "e_f.txt:1"}},
		Checks:       []Check{{ID: "c", Title: "<t>", Verdict: spec.Failed, Scenario: "s|", Note: evil, Findings: []Finding{{Message: evil, Raw: "data: " + evil + "\n````\nx", Requirement: "law"}}}},
	}}}
	out := formatted(t, "markdown", r)
	for _, part := range []string{"\n\n```` " + evil + " ````  \n", "- ```` " + evil + " ````", "\n  `````text\n  data: " + evil + "\n  ````\n  x\n  `````\n", `“a \<b\> \*c\* \| ` + "\\`d\\`" + `” (e\_f.txt:1)`, `Scenario s\|`, `\<t\>`} {
		if !strings.Contains(out, part) {
			t.Errorf("it does not hold %q:\n%s", part, out)
		}
	}
}

func TestMarkdown(t *testing.T) {
	out := formatted(t, "markdown", sample())
	for _, part := range []string{
		"## streamassay: FAILED\n", "| talk@2 | error | 2 | 1 | 1 | 1 | 1 | 1 |  |\n", "**note** (talk@2): `the agent does not do what the test prompts ask", "sent:", "received:", "### failed `wire.frames-are-json` (talk@2)", "每个事件都必须是一个完整的 JSON 对象", "doc.txt:12-14",
		"exchange 0, event 3, line 9, byte 211, at /delta", "### failed `run.closes`", "you claimed idle", "### warned `sequence.rises`", "- … and 7 more", "  … and 4 more like this", "`connection refused`",
		"```sh\ncurl -sN -i ", "`streamassay explain wire.frames-are-json`",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("it does not say %s", part)
		}
	}
}

// TestUnjudgedChecksAreCounted checks that every report which shows the verdict error for a dialect
// states how many checks could not be judged, even if their requirements were judged in other
// scenarios.
func TestUnjudgedChecksAreCounted(t *testing.T) {
	r := &Report{Dialects: []DialectResults{{
		Dialect:      "d",
		Requirements: []RequirementResult{{ID: "law", Verdict: spec.Passed}, {ID: "prompt", Verdict: spec.Passed, Convention: true}},
		Checks: []Check{
			{ID: "c", Scenario: "s", Verdict: spec.Error}, {ID: "c", Scenario: "t", Verdict: spec.Passed, Judged: 1},
			{ID: "d", Scenario: "s", Verdict: spec.Error},
		},
	}}}
	r.Conclude(ExitCodeOptions{})
	const line = "2 checks could not be judged, 1 requirement holds; test prompts: 1 followed"
	for name, want := range map[string][]string{
		"markdown": {"| d | error | 0 | 0 | 2 checks | 1 | 0 | 0 | 1 followed |", "d: " + line},
		"text":     {"error    d  " + line, "INCONCLUSIVE  d: " + line + "  (exit 3)"},
		"html":     {line},
	} {
		out := formatted(t, name, r)
		for _, part := range want {
			if !strings.Contains(out, part) {
				t.Errorf("%s does not contain %q:\n%s", name, part, out)
			}
		}
	}
}

// TestMarkdownIsBounded checks that the Markdown summary of a very large report stays below a
// megabyte, the limit of CI systems.
func TestMarkdownIsBounded(t *testing.T) {
	long := strings.Repeat("世", 5000)
	d := DialectResults{Dialect: "d", Requirements: []RequirementResult{{ID: "law", Quote: long, Source: "s"}}}
	for i := range 400 {
		c := Check{ID: fmt.Sprint("c", i), Verdict: spec.Failed, Curl: long, Note: long, Scenario: "s"}
		for range 100 {
			c.Findings = append(c.Findings, Finding{Message: long, Line: i, Raw: strings.Repeat("世\n", 2000), Requirement: "law"})
		}
		d.Checks = append(d.Checks, c)
	}
	out := formatted(t, "markdown", &Report{Dialects: []DialectResults{d}})
	if len(out) > 1<<17 || !strings.Contains(out, "… and 390 more checks") {
		t.Errorf("%d bytes", len(out))
	}
}
