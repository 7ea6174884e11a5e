package reports

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// A viewed is a JUnit report as a viewer decodes it, declared independently of the types that write
// it.
type viewed struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Suites   []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Cases    []struct {
			Class   string  `xml:"classname,attr"`
			Name    string  `xml:"name,attr"`
			Failure *remark `xml:"failure"`
			Error   *remark `xml:"error"`
			Skipped *remark `xml:"skipped"`
			Out     string  `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type remark struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func view(t *testing.T, r *Report) (v viewed) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), "<?xml ") || !utf8.Valid(b.Bytes()) {
		t.Errorf("not XML in UTF-8: %.60q", b.String())
	}
	if err := xml.Unmarshal(b.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestJUnit(t *testing.T) {
	v := view(t, sample())
	if v.Tests != 12 || v.Failures != 5 || v.Errors != 1 || v.Skipped != 2 || len(v.Suites) != 2 {
		t.Fatalf("%+v", v)
	}
	s := v.Suites[0]
	if s.Name != "talk@2" || s.Tests != 11 || s.Failures != 5 || s.Errors != 1 || s.Skipped != 2 || len(s.Cases) != 11 {
		t.Errorf("%+v", s)
	}
	if c := s.Cases[0]; c.Class != "talk@2.cause" || c.Failure != nil || !strings.Contains(c.Out, "does not do what the test prompts ask") || !strings.Contains(c.Out, "add --lacks scripted") {
		t.Errorf("the cause does not come first: %+v", c)
	}
	s.Cases = s.Cases[1:]
	if a := s.Cases[2].Failure; a == nil || !strings.Contains(a.Text, "sent | POST http://127.0.0.1:4010/api/v1/agent/runs") || !strings.Contains(a.Text, "received | HTTP/1.1 500") {
		t.Errorf("what was sent and answered: %+v", a)
	}
	broken := s.Cases[0]
	if broken.Class != "talk@2.text" || broken.Name != "wire.frames-are-json: every frame's data is one JSON object" || broken.Failure == nil || broken.Error != nil || broken.Skipped != nil {
		t.Fatalf("%+v", broken)
	}
	if f := broken.Failure; f.Type != "MUST" || f.Message != `the frame cannot be read: invalid character '\x1b' in string` {
		t.Errorf("%+v", f)
	}
	for _, part := range []string{"exchange 0, event 3, line 9, byte 211, at /delta", `\x1b]0;owned\x07`, "<script>", "]]>", "MUST talk.frames.json: “每个事件都必须", "(doc.txt:12-14)",
		`curl -sN -i --data-binary '{"text":"世界"}' 'http://127.0.0.1:4010/api/v1/agent/runs'`, "out/talk@2/text.txtar", "streamassay explain wire.frames-are-json"} {
		if !strings.Contains(broken.Failure.Text, part) {
			t.Errorf("the failure does not say %s:\n%s", part, broken.Failure.Text)
		}
	}
	if n := s.Cases[4].Failure; n == nil || !strings.Contains(n.Message, "you claimed idle") {
		t.Errorf("a promise that was not kept: %+v", n)
	}
	if w := s.Cases[5]; w.Failure != nil || w.Error != nil || w.Skipped != nil || !strings.Contains(w.Out, "warned: the number jumps") || !strings.Contains(w.Out, "and 7 more that were not kept") {
		t.Errorf("a warning: %+v", w)
	}
	if p := s.Cases[6]; p.Failure != nil || p.Error != nil || p.Skipped != nil || p.Out != "" {
		t.Errorf("a pass: %+v", p)
	}
	if e := s.Cases[7]; e.Error == nil || e.Failure != nil || e.Error.Message != "not judged: connection refused" {
		t.Errorf("an error: %+v", e)
	}
	for i, want := range map[int]string{8: "skipped: the server lacks tool", 9: "silent: nothing in this scenario tests 1 check: wire.keeps-alive"} {
		if c := s.Cases[i]; c.Skipped == nil || c.Skipped.Message != want || c.Failure != nil {
			t.Errorf("%+v, want %s", c, want)
		}
	}
}

// TestJUnitOfAnyBytes checks that a JUnit report is well-formed XML whatever bytes its texts
// contain.
func TestJUnitOfAnyBytes(t *testing.T) {
	var every []byte
	for c := range 256 {
		every = append(every, byte(c))
	}
	s := string(every) + "\ufffe\uffff]]>\u2028"
	c := Check{ID: s, Title: s, Level: spec.Level(s), Scenario: s, Note: s, Curl: s, Transcript: s, Findings: []Finding{{Message: s, Raw: s, Pointer: s, Requirement: s}}}
	r := &Report{Target: s}
	for v := spec.Silent; v <= spec.Error; v++ {
		c.Verdict = v
		r.Dialects = append(r.Dialects, DialectResults{Dialect: s, Requirements: []RequirementResult{{ID: s, Quote: s, Source: s}}, Checks: []Check{c}})
	}
	if v := view(t, r); len(v.Suites) != 6 {
		t.Errorf("%d suites", len(v.Suites))
	}
}
