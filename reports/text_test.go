package reports

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/streamassay/streamassay/spec"
)

func textOf(t *testing.T, r *Report, s TextStyle) string {
	t.Helper()
	var b strings.Builder
	if err := WriteText(&b, r, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestNothingCommandsTheScreen checks that no format contains a control character that a target
// sent.
func TestNothingCommandsTheScreen(t *testing.T) {
	evil := "a\x1b[31mb\x9bc\u009b2Jd\u202ee\u2066f\ufeffg\x00h\x7fi\bj\vk\u2028l\u00adm\U000e0001n\xffo"
	c := Check{
		ID: evil, Title: evil, Scenario: evil, Note: evil, Curl: evil, Transcript: evil, Requirements: []string{evil},
		Findings: []Finding{{Message: evil, Raw: evil, Pointer: evil, Requirement: evil}, {Message: "x", Raw: "\n\n\x1b\r\r"}},
	}
	r := &Report{Tool: evil, Version: evil, Target: evil}
	for v := spec.Silent; v <= spec.Error; v++ {
		c.Verdict = v
		laws := []RequirementResult{{ID: evil, Quote: evil, Source: evil, Checks: []string{evil}}, {ID: "x", Excluded: &spec.Exclusion{Kind: evil, Reason: evil}}}
		r.Dialects = append(r.Dialects, DialectResults{Dialect: evil, Requirements: laws, Checks: []Check{c, {ID: "y", Verdict: v, Requirements: []string{evil}}}})
	}
	for name, out := range map[string]string{
		"text": textOf(t, r, TextStyle{}), "verbose": textOf(t, r, TextStyle{Verbose: true}),
		"markdown": formatted(t, "markdown", r), "html": formatted(t, "html", r), "junit": formatted(t, "junit", r),
	} {
		for i, char := range out {
			if char != '\n' && !unicode.IsGraphic(char) {
				t.Errorf("%s: %U after %q", name, char, out[max(0, i-60):i])
				break
			}
		}
	}
	if colored := textOf(t, r, TextStyle{Color: true}); strings.Count(colored, "\x1b[31mb") != 0 || !strings.Contains(colored, `\x1b[31mb`) {
		t.Error("the target's colour is on the screen, or its bytes are not")
	}
}

func formatted(t *testing.T, name string, r *Report) string {
	t.Helper()
	f, err := FormatByName(name)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := f.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTextSaysWhatIsNeeded(t *testing.T) {
	out := textOf(t, sample(), TextStyle{})
	joined := strings.Join(strings.Fields(out), " ")
	for _, part := range []string{
		"FAILED wire.frames-are-json talk@2", "every frame's data is one JSON object", `invalid character '\x1b' in string`,
		"exchange 0, event 3, line 9, byte 211, at /delta", "MUST talk.frames.json: “每个事件都必须是一个完整的 JSON 对象", "doc.txt:12-14",
		"text (and in 1 more: many)", `curl -sN -i --data-binary '{"text":"世界"}' 'http://127.0.0.1:4010/api/v1/agent/runs'`, "out/talk@2/text.txtar",
		"streamassay explain wire.frames-are-json", "you claimed idle", "WARNED sequence.rises", "likewise: the number jumps to 2", "… and 2 more like this", "… and 7 more that were not kept",
		"in English: Every event has to be a complete JSON object", "NOTE talk@2 • the agent does not do what the test prompts ask", "1 check had nothing to judge (list: -v)",
		"sent │ POST http://127.0.0.1:4010/api/v1/agent/runs", `received │ HTTP/1.1 500 Internal Server Error`, "also stream.ends (MUST talk.run.closes): it was cut",
		"reproduce streamassay run http://127.0.0.1:4010 --dialect talk@2 --only many --seed 42",
		"NOT JUDGED talk@2 • connection refused", "(3.1 s)", "to repeat this run: --seed 42", "error talk@2 2 MUST violated, 1 SHOULD violated, 1 could not be judged, 1 requirement holds, 1 not tested because the agent does not do what the test prompts ask (docs/prompts.md), 1 skipped, 1 that no test can decide", "passed hello@1.0 1 requirement holds",
	} {
		if !strings.Contains(joined, part) {
			t.Errorf("it does not say %s", part)
		}
	}
	for _, part := range []string{"the number jumps to 3", "follows from the cause", "FAILED stream.ends", "explain names", "the server lacks tool", "wire.keeps-alive", "it obliges the client", "\x1b"} {
		if strings.Contains(joined, part) {
			t.Errorf("it says %s", part)
		}
	}
	verbose := textOf(t, sample(), TextStyle{Verbose: true})
	for _, part := range []string{"the server lacks tool", "talk.idle", "wire.keeps-alive", "talk.client: client: it obliges the client", "the number jumps to 4", "follows from the cause", "FAILED  stream.ends"} {
		if !strings.Contains(verbose, part) {
			t.Errorf("verbose, it does not say %s", part)
		}
	}
	for l := range strings.Lines(out) {
		if l = strings.TrimSuffix(l, "\n"); textWidth(l) > 100 && !strings.HasPrefix(l, "  reproduce  ") && !strings.HasPrefix(l, "FAILED  2 dialects") {
			t.Errorf("%d columns: %s", textWidth(l), l)
		}
	}
}

func TestLastLine(t *testing.T) {
	laws := func(v ...spec.Verdict) (all []RequirementResult) {
		for i, v := range v {
			all = append(all, RequirementResult{ID: fmt.Sprint(i), Verdict: v})
		}
		return append(all, RequirementResult{ID: "x", Excluded: &spec.Exclusion{}})
	}
	one := func(laws []RequirementResult, checks ...Check) []DialectResults {
		return []DialectResults{{Dialect: "runs@2026-04", Requirements: laws, Checks: checks}}
	}
	passed, failed, warned := Check{Verdict: spec.Passed, Judged: 1}, Check{Verdict: spec.Failed, Judged: 1}, Check{Verdict: spec.Warned, Judged: 1}
	untold := Check{Verdict: spec.Error}
	for _, test := range []struct {
		dialects []DialectResults
		exit     int
		want     string
	}{
		{one(laws(spec.Failed, spec.Failed, spec.Warned, spec.Passed, spec.Silent), failed), 0, "FAILED  runs@2026-04: 2 MUST violated, 1 SHOULD violated, 1 requirement holds, 1 not tested, 1 that no test can decide  (exit 1)"},
		{one(laws(spec.Passed, spec.Warned), passed, warned), 0, "PASSED with warnings  runs@2026-04: 1 SHOULD violated, 1 requirement holds, 1 that no test can decide  (exit 0)"},
		{one(laws(spec.Passed), failed, failed), 0, "FAILED  runs@2026-04: 2 checks failed, 1 requirement holds, 1 that no test can decide  (exit 1)"},
		{one(laws(spec.Error), untold), 0, "NOTHING TESTED  runs@2026-04: 1 could not be judged, 1 that no test can decide  (exit 3)"},
		{one(laws(spec.Error, spec.Passed), untold, passed), 0, "INCONCLUSIVE  runs@2026-04: 1 could not be judged, 1 requirement holds, 1 that no test can decide  (exit 3)"},
		{one(laws(spec.Passed), untold, untold, passed), 0, "INCONCLUSIVE  runs@2026-04: 2 checks could not be judged, 1 requirement holds, 1 that no test can decide  (exit 3)"},
		{one(laws(spec.Passed), passed), ExitInternal, "INTERNAL ERROR  runs@2026-04: 1 requirement holds, 1 that no test can decide  (exit 5)"},
		{append(one(laws(spec.Passed), passed), one(laws(spec.Skipped), passed)...), 0, "PASSED  2 dialects: 1 requirement holds, 1 skipped, 2 that no test can decide  (exit 0)"},
		{nil, 0, "NOTHING TESTED  nothing to judge: no request came  (exit 3)"},
	} {
		r := &Report{Dialects: test.dialects, Exit: test.exit}
		if test.dialects == nil {
			r.Incomplete = "no request came"
		}
		r.Conclude(ExitCodeOptions{})
		lines := strings.Split(strings.TrimSuffix(textOf(t, r, TextStyle{}), "\n"), "\n")
		if got := lines[len(lines)-1]; got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// TestDoubtsAreToldOnce checks that the text report writes a reason once, however many checks it
// concerns.
func TestDoubtsAreToldOnce(t *testing.T) {
	d := DialectResults{Dialect: "d"}
	for i := range 60 {
		d.Checks = append(d.Checks, Check{ID: fmt.Sprint("check-", i%20), Scenario: fmt.Sprint("s", i/20), Verdict: spec.Error, Note: "connection refused"})
	}
	out := textOf(t, &Report{Dialects: []DialectResults{d}}, TextStyle{})
	if strings.Count(out, "connection refused") != 1 || !strings.Contains(out, "20 checks in 3 scenarios") {
		t.Error(out)
	}
}

func TestDetectStyle(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	none := func(string) string { return "" }
	if DetectStyle(file, none).Color || DetectStyle(nil, none).Color {
		t.Error("colour in a file")
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there is no terminal to try")
	}
	defer terminal.Close()
	for _, test := range []struct {
		name, value string
		want        bool
	}{{"NO_COLOR", "", true}, {"NO_COLOR", "1", false}, {"TERM", "xterm", true}, {"TERM", "dumb", false}} {
		env := func(name string) string { return map[string]string{test.name: test.value}[name] }
		if got := DetectStyle(terminal, env).Color; got != test.want {
			t.Errorf("%s=%s on a terminal: colour %v, want %v", test.name, test.value, got, test.want)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"每个事件 “ok” é ~\\": "每个事件 “ok” é ~\\",
		"\x1b\a\x00\x7f":  `\x1b\x07\x00\x7f`,
		"\n\r\t":          `\n\r\t`,
		"\u009b\u202e":    `\x9b\u202e`,
		"\U000e0001":      `\U000e0001`,
	} {
		if got := safeText(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		in   string
		most int
		want string
	}{
		{"", 10, ""},
		{"one two", 10, "one two"},
		{"one two three", 8, "one two\n> three"},
		{"abcdefghij", 4, "abcd\n> efgh\n> ij"},
		{"ab 世界世界世界", 8, "ab 世界\n> 世界世界"},
		{"世界，世界", 6, "世界，\n> 世界"},
	} {
		if got := wrapText(test.in, "> ", test.most); got != test.want {
			t.Errorf("%q in %d columns: %q, want %q", test.in, test.most, got, test.want)
		}
	}
	if got := truncateText("世界abc", 5); got != "世界a … (2 more characters)" {
		t.Errorf("clip: %q", got)
	}
	if got := displayLines("a\n"+strings.Repeat("x", 25)+"\n\n … (9 more bytes)", 10, 3); strings.Join(got, "|") != "a|xxxxxxxxxx|xxxxxxxxxx|xxxxx|… (9 more bytes)" {
		t.Errorf("one line more than the limit: %q", got)
	}
	if got := displayLines("a\nb\nc\nd\ne … (9 more bytes)", 10, 3); strings.Join(got, "|") != "a|b|c|… (at least 11 more bytes)" {
		t.Errorf("a text whose end was left out: %q", got)
	}
	if got := displayLines("a\nb\nc\nd\nefg\nh", 10, 4); strings.Join(got, "|") != "a|b|… (2 more characters)|efg|h" {
		t.Errorf("too many lines: %q", got)
	}
}

// TestColorKeepsLines checks that a report in color has the same lines as one without, also if its
// causes are wrapped.
func TestColorKeepsLines(t *testing.T) {
	codes := regexp.MustCompile("\x1b\\[[0-9]*m")
	for n := range 12 {
		r := sample()
		message := strings.Repeat("x", n+1) + strings.Repeat(" word", 40)
		r.Dialects[0].Causes = append(r.Dialects[0].Causes, Cause{Kind: "unreachable", Message: message, Fatal: true})
		plain, colored := textOf(t, r, TextStyle{}), textOf(t, r, TextStyle{Color: true})
		if got := codes.ReplaceAllString(colored, ""); got != plain || colored == plain {
			t.Errorf("got without its codes\n%s\nwant\n%s", got, plain)
		}
	}
}

// TestFatalCause checks that a cause that kept the target from being tested is shown with the
// requirements that failed, and only with these.
func TestFatalCause(t *testing.T) {
	r := sample()
	r.Dialects[0].Causes = []Cause{{Kind: "http", Message: "POST /: 404 Not Found", Fatal: true, Consequences: 2}}
	r.Dialects[0].Checks = nil
	r.Dialects[0].Requirements = []RequirementResult{
		{ID: "x.failed", Level: spec.Must, Verdict: spec.Failed, Quote: "answers 200", Source: "derived: a test"},
		{ID: "x.silent", Level: spec.Must, Verdict: spec.Silent, Quote: "answers 201", Source: "derived: a test"},
	}
	text := textOf(t, r, TextStyle{})
	_, cause, _ := strings.Cut(text, "COULD NOT TEST")
	cause, _, _ = strings.Cut(cause, "\n\n")
	if !strings.Contains(cause, "MUST       x.failed: answers 200\n") ||
		strings.Contains(cause, "x.silent") {
		t.Errorf("got %s", cause)
	}
}

// TestGroups checks that the results of one check form one group, which shows the scenario with
// findings.
func TestGroups(t *testing.T) {
	d := DialectResults{Checks: []Check{
		{ID: "a", Scenario: "promised", Verdict: spec.Failed, Note: "silent"},
		{ID: "b", Scenario: "other", Verdict: spec.Failed},
		{ID: "a", Scenario: "seen", Verdict: spec.Failed, Findings: []Finding{{Message: "first"}}},
		{ID: "a", Scenario: "again", Verdict: spec.Failed, Findings: []Finding{{Message: "second"}}},
		{ID: "a", Scenario: "fine", Verdict: spec.Passed},
	}}
	got := d.checkGroups(spec.Failed, false)
	if len(got) != 2 || got[0].ID != "a" || got[0].Scenario != "seen" || strings.Join(got[0].Elsewhere, " ") != "promised again" || got[1].ID != "b" {
		t.Errorf("%+v", got)
	}
}
