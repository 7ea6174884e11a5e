package reports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// TestSameBytesAreOneBlock checks that checks which the same bytes violate share one group, that of
// the check whose finding names the member, and that checks with other findings have their own
// groups.
func TestSameBytesAreOneBlock(t *testing.T) {
	at := func(event, line int, message string) Finding {
		return Finding{Message: message, Event: nth(event), Line: line}
	}
	named := at(3, 9, `the event has no "type"`)
	named.Pointer = "/type"
	d := DialectResults{Checks: []Check{
		{ID: "run.opens-first", Scenario: "text", Verdict: spec.Failed, Findings: []Finding{at(3, 9, "no run was open")}},
		{ID: "script.text", Scenario: "text", Verdict: spec.Failed, Findings: []Finding{at(3, 9, "it said nothing")}},
		{ID: "wire.schema", Scenario: "text", Verdict: spec.Failed, Findings: []Finding{named, at(4, 11, "again")}},
		{ID: "run.ends", Scenario: "text", Verdict: spec.Failed, Findings: []Finding{at(5, 12, "it did not end")}},
		{ID: "elsewhere", Scenario: "many", Verdict: spec.Failed, Findings: []Finding{at(3, 9, "the same place of another scenario")}},
		{ID: "more", Scenario: "text", Verdict: spec.Failed, Findings: []Finding{at(3, 9, "here"), at(7, 20, "and where nothing else is wrong")}},
		{ID: "promise", Scenario: "text", Verdict: spec.Failed, Note: "nothing came"},
	}}
	var got []string
	for _, g := range d.failedGroups(false) {
		s := g.ID
		for _, o := range g.Same {
			s += "+" + o.ID
		}
		got = append(got, s)
	}
	if want := "wire.schema+run.opens-first+script.text run.ends elsewhere more promise"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	if all := d.failedGroups(true); len(all) != len(d.Checks) {
		t.Errorf("of %d checks %d are listed where all are wanted", len(d.Checks), len(all))
	}
}

// TestDroppedFindingsAreNotCovered checks that a check keeps its own group if not all its findings
// were kept, in the result that the group shows or in another one, even if the others are at the
// places of another check's findings.
func TestDroppedFindingsAreNotCovered(t *testing.T) {
	for _, test := range []struct {
		name            string
		shown, notShown int // number of dropped findings in the result that is shown, and in the other one
		groups          int
	}{
		{"none dropped", 0, 0, 1}, {"dropped in the result shown", 1, 0, 2}, {"dropped in the other result", 0, 1, 2},
	} {
		var d DialectResults
		for _, id := range []string{"wire.schema", "run.ends"} {
			for i, scenario := range []string{"text", "many"} {
				c := Check{ID: id, Scenario: scenario, Verdict: spec.Failed, Requests: 1 + i, Findings: []Finding{{Event: nth(3), Line: 9}}}
				if id == "run.ends" {
					c.Dropped = []int{test.shown, test.notShown}[i]
				}
				d.Checks = append(d.Checks, c)
			}
		}
		if got := d.failedGroups(false); len(got) != test.groups || got[0].Scenario != "text" {
			t.Errorf("%s: got %d groups, want %d: %+v", test.name, len(got), test.groups, got)
		}
	}
}

// TestLikeness checks which findings are similar: those with the same status, operation and
// expectation, and those about events whose messages differ only in numbers, quotations and paths.
func TestLikeness(t *testing.T) {
	refused := func(what, wanted string, status int, op string) Finding {
		return Finding{Message: what + "; expected " + wanted, Operation: op, Request: "x", Response: fmt.Sprintf("HTTP/1.1 %d\n\nbody of %s", status, what)}
	}
	c := Check{Findings: []Finding{
		refused("a", "400 or 422", 200, "POST /runs"), refused("b", "400 or 422", 200, "POST /runs"),
		refused("c", "405", 200, "POST /runs"), refused("d", "400 or 422", 500, "POST /runs"), refused("e", "400 or 422", 200, "GET /runs"),
		{Event: nth(1), Message: `call "x\"y" of /a/0/b ended 3 times`}, {Event: nth(2), Message: `call "z" of /c ended 12 times`},
		{Event: nth(3), Message: `call "z" of /c began 12 times`},
	}}
	var sizes []int
	for _, f := range c.findingGroups() {
		sizes = append(sizes, len(f.Findings))
	}
	if fmt.Sprint(sizes) != "[2 1 1 1 2 1]" {
		t.Errorf("kinds of %v findings", sizes)
	}
}

// TestSimilarMessages checks that the text report shows, of each similar finding after the first,
// the part of the message that may differ: without what is required if the finding is about a
// response, and otherwise all.
func TestSimilarMessages(t *testing.T) {
	response := func(seen string) Finding {
		return Finding{Message: seen + "; expected JSON", Response: "HTTP/1.1 200 OK"}
	}
	for _, test := range []struct {
		name          string
		first, second Finding
		want          string
	}{
		{"a response", response("got text/html"), response("got text/plain"), "likewise: got text/plain\n"},
		{
			"a response with a semicolon", response("got text/html; charset=utf-8"), response("got text/plain;x=1; charset=utf-8"),
			"likewise: got text/plain;x=1; charset=utf-8\n",
		},
		{
			"an unrecorded response", Finding{Message: "got 2; expected 3"}, Finding{Message: "got 2; expected 4"},
			"likewise: got 2; expected 4\n",
		},
		{
			"an event", Finding{Message: "got 2; expected 3", Event: nth(1)}, Finding{Message: "got 2; expected 4", Event: nth(2)},
			"likewise: got 2; expected 4\n",
		},
	} {
		g := checkResultGroup{Check: Check{Findings: []Finding{test.first, test.second}}}
		var b strings.Builder
		g.writeFindings(&b, nil, TextStyle{})
		if !strings.Contains(b.String(), test.want) {
			t.Errorf("%s: want %q in\n%s", test.name, test.want, b.String())
		}
	}
}

// TestBrokenRequirements checks that requirements of level MAY are not listed as violated, and that
// MUST precedes SHOULD.
func TestBrokenRequirements(t *testing.T) {
	d := DialectResults{Requirements: []RequirementResult{
		{ID: "may", Level: spec.May}, {ID: "should", Level: spec.Should}, {ID: "must", Level: spec.Must},
	}}
	var got []string
	for _, r := range d.violatedRequirements(Check{Verdict: spec.Warned, Requirements: []string{"may", "should", "must"}}) {
		got = append(got, r.ID)
	}
	if strings.Join(got, " ") != "must should" {
		t.Errorf("%v", got)
	}
}

// TestPromptsAreCountedApart checks that the conventions of the test prompts are counted separately
// from the requirements of the protocol.
func TestPromptsAreCountedApart(t *testing.T) {
	var tally requirementCounts
	tally.addDialect(DialectResults{Requirements: []RequirementResult{
		{Verdict: spec.Failed}, {Verdict: spec.Failed, Convention: true}, {Verdict: spec.Warned, Convention: true},
		{Verdict: spec.Passed, Convention: true}, {Verdict: spec.Passed}, {Verdict: spec.Passed},
	}})
	if got := tally.String(); got != "1 MUST violated, 2 requirements hold; test prompts: 2 not followed (MUST), 1 followed" {
		t.Error(got)
	}
}

// TestAgain checks which command reproduces a result, depending on the number of requests in the
// scenario, and that a command which is too long is left out instead of being cut.
func TestAgain(t *testing.T) {
	for _, test := range []struct {
		c    Check
		most int
		want string
	}{
		{Check{Curl: "curl x", Rerun: "streamassay run", Requests: 1}, 100, "curl x"},
		{Check{Curl: "curl x", Rerun: "streamassay run", Requests: 2}, 100, "streamassay run"},
		{Check{Curl: "curl x", Requests: 2}, 100, "curl x"}, // of a recording
		{Check{Curl: strings.Repeat("x", 101), Rerun: "streamassay run", Requests: 1}, 100, "streamassay run"},
		{Check{Curl: strings.Repeat("x", 101)}, 100, ""},
	} {
		if got := test.c.reproduceCommand(test.most); got != test.want {
			t.Errorf("%+v: %q, want %q", test.c, got, test.want)
		}
	}
}

// TestSentAndAnswered checks that the excerpts of a request and a response are bounded, contain no
// credentials and omit common header fields.
func TestSentAndAnswered(t *testing.T) {
	r := spec.Request{
		Method: "POST", Target: "/runs?x=1", Principal: spec.Anonymous, Body: []byte(strings.Repeat("b", 5000)),
		Header: spec.Header{{Name: "Authorization", Value: "Bearer s3cr3t"}, {Name: "Content-Type", Value: "text/plain"}, {Name: "Accept", Value: "text/event-stream"}, {Name: "X-Long", Value: strings.Repeat("l", 400)}},
	}
	want := "POST http://h/runs?x=1 (without credentials)\nAuthorization: REDACTED\nContent-Type: text/plain\nX-Long: (400 bytes)\n\n" +
		strings.Repeat("b", maxBodyExcerpt) + fmt.Sprintf(" … (%d more bytes)", 5000-maxBodyExcerpt)
	if got := RequestText("http://h", r); got != want {
		t.Errorf("sent %q", got)
	}
	link := spec.Request{Method: "GET", Target: "https://files.example/a?signature=x"}
	if got := RequestText("http://h/api", link); got != "GET https://files.example/a?signature=x" {
		t.Errorf("sent %q", got)
	}
	for _, base := range []string{"http://h/api", "$BASE"} {
		if got := Curl(base, link); got != "curl -sN -i 'https://files.example/a?signature=x'" {
			t.Errorf("with %s: %s", base, got)
		}
	}
	a := spec.Response{Proto: "HTTP/1.1", Status: 401, Header: spec.Header{{Name: "www-authenticate", Value: "Bearer"}, {Name: "Date", Value: "today"}}, Body: []byte("no")}
	if got := ResponseText(a, true); got != "HTTP/1.1 401 Unauthorized\nWWW-Authenticate: Bearer\n\nno" {
		t.Errorf("answered %q", got)
	}
	if got := ResponseText(spec.Response{End: spec.ErrReset}, true); got != "no response: the connection was reset" {
		t.Errorf("no answer: %q", got)
	}
	silent := spec.Response{End: fmt.Errorf("%w: sent nothing for 15s", spec.ErrIdleTimeout)}
	if got := ResponseText(silent, true); got != "no response: the server sent nothing for 15s" {
		t.Errorf("no answer in time: %q", got)
	}
}

// TestFurtherViolations checks that the text report names each violated requirement, also one that
// only a scenario whose findings are not shown violates.
func TestFurtherViolations(t *testing.T) {
	requirement := func(id string) RequirementResult {
		return RequirementResult{ID: id, Level: spec.Must, Quote: id, Source: "derived", Verdict: spec.Failed}
	}
	check := func(scenario, violated string, requests int) Check {
		return Check{ID: "c", Scenario: scenario, Verdict: spec.Failed, Requests: requests, Requirements: []string{"r1", "r2", "r3"},
			Findings: []Finding{{Message: "message about " + violated, Requirement: violated}}}
	}
	d := DialectResults{
		Dialect:      "d",
		Requirements: []RequirementResult{requirement("r1"), requirement("r2"), requirement("r3")},
		Checks:       []Check{check("long", "r2", 3), check("short", "r1", 1), check("other", "r1", 2)},
	}
	groups := d.failedGroups(false)
	if len(groups) != 1 || groups[0].Scenario != "short" {
		t.Fatalf("got %d groups, %v; want one that shows the scenario short", len(groups), groups)
	}
	var b strings.Builder
	groups[0].writeText(&b, d, TextStyle{})
	for _, want := range []string{"MUST       r1", "also       MUST r2, scenario long: message about r2"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("report does not contain %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "r3") {
		t.Errorf("report names r3, which no finding violates:\n%s", b.String())
	}
}
