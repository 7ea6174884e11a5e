package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// parseRequest returns the named dialect, and the request r as this dialect decodes it.
func parseRequest(t *testing.T, name string, r spec.Request) (*dialect.Dialect, *spec.Event) {
	t.Helper()
	d, err := dialect.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	e := d.ParseRequest(r)
	return d, &e
}

// resumeStart returns the start of an exchange that resumes a stream of runs@2026-04.
func resumeStart(cursor string) ExchangeStart {
	return ExchangeStart{Dialect: "runs@2026-04", Op: "listen", Request: spec.Request{
		Method: "GET", Target: "/threads/t1/runs/r1/events", Header: spec.Header{{Name: "Last-Event-ID", Value: cursor}},
	}}
}

// findingsIn returns all findings about the exchanges in j, those about dropped exchanges first.
func findingsIn(j *Journal) (all []Finding) {
	dropped, kept := j.evaluations()
	for _, v := range slices.Concat(dropped, kept) {
		all = append(all, v.findings...)
	}
	return all
}

func TestFindings(t *testing.T) {
	sent := `id: 1-1` + "\ndata: {\"toolCallId\":\"call_1\",\"interruptId\":\"int-1\"}\n\n"
	result := func(call, body string) (ExchangeStart, *spec.Event) {
		return runStart("", body), &spec.Event{Raw: []byte(body), Parts: []spec.Event{{Kind: spec.InputToolResult, Call: call}}}
	}
	for _, c := range []struct {
		name string
		play func(j *Journal)
		want string
	}{
		{"nothing", func(*Journal) {}, ""},
		{"one that breaks the document", func(j *Journal) {
			recordExchange(j, runStart("", ""), &spec.Event{Violations: []spec.Violation{{Location: "body /a", Message: `the request body has no "a"`, Refusals: []spec.RefusalRequirement{{Requirement: "runs.nonesuch"}}}}}, 422)
		}, `client.document MUST runs.client.document body /a: the request body has no "a"`},
		{"no such address", func(j *Journal) {
			recordExchange(j, ExchangeStart{Dialect: "runs@2026-04", Request: spec.Request{Method: "GET", Target: "/nope"}}, nil, 404)
		}, "client.route MUST runs.client.route /nope: no operation for GET on this path"},
		{"no such method", func(j *Journal) {
			recordExchange(j, ExchangeStart{Request: spec.Request{Method: "PUT", Target: "/runs"}}, nil, 405)
		}, "client.route MUST  /runs: method PUT is not allowed on this path"},
		{"a run that no rule is for", func(j *Journal) {
			e := j.Open(runStart("", ""))
			e.Parsed("POST /runs", &spec.Event{})
			e.Matched("", []RuleMismatch{{"greet", "the text is bye"}})
			e.Close(Complete)
		}, "client.matched MUST runs.client.matched POST /runs: no rule matches (1 tried): greet: the text is bye"},
		{"another request that no rule is for", func(j *Journal) {
			e := j.Open(ExchangeStart{Op: "tell"})
			e.Matched("", []RuleMismatch{{"greet", "it does not start a run"}})
			e.Close(Complete)
		}, ""},
		{"another request that the mock cannot answer", func(j *Journal) {
			e := j.Open(ExchangeStart{Dialect: "runs@2026-04", Op: "tell"})
			e.Matched("", []RuleMismatch{{"greet", "it does not start a run"}})
			e.HeadSent(501, nil)
			e.Close(Complete)
		}, "client.matched MUST runs.client.matched : no rule matches (1 tried): greet: it does not start a run"},
		{"an injected status of another request", func(j *Journal) {
			e := j.Open(ExchangeStart{Dialect: "runs@2026-04", Op: "tell"})
			e.Matched("", []RuleMismatch{{"greet", "it does not start a run"}})
			e.FaultApplied("http-error")
			e.HeadSent(501, nil)
			e.Close(Complete)
		}, ""},
		{"a cursor that was sent", func(j *Journal) {
			recordExchange(j, runStart("", ""), nil, 200, sent)
			recordExchange(j, resumeStart("1-1"), &spec.Event{Cursor: "1-1"}, 404)
		}, ""},
		{"a cursor that was sent later", func(j *Journal) {
			recordExchange(j, resumeStart("1-1"), &spec.Event{Cursor: "1-1"}, 404)
			recordExchange(j, runStart("", ""), nil, 200, sent)
		}, `client.cursor MUST runs.client.cursor cursor: no event with the id "1-1" was sent before`},
		{"a cursor of another dialect", func(j *Journal) {
			o := runStart("", "")
			o.Dialect = "agkit@0.0.10"
			recordExchange(j, o, nil, 200, sent)
			recordExchange(j, resumeStart("1-1"), &spec.Event{Cursor: "1-1"}, 404)
		}, `client.cursor MUST runs.client.cursor cursor: no event with the id "1-1" was sent before`},
		{"a cursor that the server takes", func(j *Journal) {
			recordExchange(j, resumeStart("0"), &spec.Event{Cursor: "0"}, 200)
		}, ""},
		{"the result of a call", func(j *Journal) {
			recordExchange(j, runStart("", ""), nil, 200, sent)
			o, ask := result("call_1", `{"id":"call_1"}`)
			recordExchange(j, o, ask, 200)
		}, ""},
		{"the result of no call", func(j *Journal) {
			recordExchange(j, runStart("", ""), nil, 200, sent)
			o, ask := result("call_2", `{"id":"call_2"}`)
			recordExchange(j, o, ask, 200)
		}, `client.tool-result SHOULD runs.client.tool-result tool result: no call with the id "call_2" was made before`},
		{"the result of a call in the history that comes with it", func(j *Journal) {
			o, ask := result("call_2", `[{"call":"call_2"},{"result":"call_2"}]`)
			recordExchange(j, o, ask, 200)
		}, ""},
		{"answers to an interrupt, and to none", func(j *Journal) {
			o := runStart("", "")
			o.Dialect = "agkit@0.0.10"
			recordExchange(j, o, nil, 200, sent)
			recordExchange(j, o, &spec.Event{Parts: []spec.Event{{Kind: spec.InputResume, ID: "int-1"}, {Kind: spec.InputResume, ID: "int-2"}}}, 200)
		}, `client.resume SHOULD agkit.client.resume resume: no interrupt with the id "int-2" was sent before`},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := made(Config{})
			c.play(j)
			for range 2 { // findings are stored
				var got []string
				for _, f := range findingsIn(j) {
					got = append(got, fmt.Sprintf("%s %s %s %s: %s", f.Kind, f.Level, f.Requirement, f.Where, f.Message))
				}
				if strings.Join(got, "\n") != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			}
		})
	}
}

func TestIncompleteHistory(t *testing.T) {
	for name, cfg := range map[string]Config{"of one reply": {Body: 4}, "of all": {Entries: 1}} {
		j := made(cfg)
		recordExchange(j, runStart("", ""), nil, 200, "data: 1\n\nid: 7\ndata: 2\n\n")
		recordExchange(j, resumeStart("7"), &spec.Event{Cursor: "7"}, 404)
		if found := findingsIn(j); len(found) > 0 {
			t.Errorf("not all %s is kept, and %+v is found", name, found)
		}
	}
}

func TestCursorDecoder(t *testing.T) {
	j := made(Config{Cursor: func(c string) string { return strings.TrimPrefix(c, "other-") }})
	recordExchange(j, runStart("", ""), nil, 200, "id:other-7\r\ndata: 1\r\n\r\n")
	recordExchange(j, resumeStart("7"), &spec.Event{Cursor: "7"}, 404)
	if found := findingsIn(j); len(found) > 0 {
		t.Errorf("%+v is found", found)
	}
}

// TestFindingsNameTheRequirement checks that findings name a requirement of the catalogue
// with its level, or with MUST if the server refused the request.
func TestFindingsNameTheRequirement(t *testing.T) {
	for _, name := range dialect.Names() {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range d.Operations() {
			method, path, _ := strings.Cut(o.Name, " ")
			if !o.StartsRun {
				continue
			}
			request := spec.Request{Method: method, Target: path, Header: spec.Header{{Name: "Content-Type", Value: "application/json"}}, Body: []byte(`[]`)}
			_, ask := parseRequest(t, name, request)
			if ask.Valid() {
				t.Errorf("%s %s takes a list", name, o.Name)
				continue
			}
			for _, status := range []int{200, 400} {
				j := made(Config{})
				recordExchange(j, ExchangeStart{Dialect: name, Op: "run", Request: request}, ask, status)
				r, _ := j.Get(1)
				if len(r.Findings) == 0 {
					t.Errorf("%s %s: nothing is found", name, o.Name)
				}
				for _, f := range r.Findings {
					catalogue := d.Catalogue()
					i := slices.IndexFunc(catalogue, func(r spec.Requirement) bool { return r.ID == f.Requirement })
					if i < 0 || catalogue[i].Level != f.Level || status == 400 && f.Level != spec.Must {
						t.Errorf("%s, answered %d: %+v", name, status, f)
					}
				}
			}
		}
	}
}

func TestCursorNamesTheRequirement(t *testing.T) {
	j := made(Config{})
	d, _ := dialect.Open("runs@2026-04")
	named := false
	for _, o := range d.Operations() {
		e := j.Open(resumeStart("9-9"))
		e.Parsed(o.Name, &spec.Event{Cursor: "9-9"})
		e.HeadSent(404, nil)
		e.Close(Complete)
	}
	for _, f := range findingsIn(j) {
		named = named || f.Kind == "client.cursor" && f.Requirement != "" && f.Level == spec.Must
	}
	if !named {
		t.Errorf("no finding names a requirement: %+v", findingsIn(j))
	}
}

func TestFindingsOutliveTheirExchanges(t *testing.T) {
	j := made(Config{Entries: 1})
	for _, test := range []string{"one", "two", "two"} {
		recordExchange(j, runStart(test, ""), &spec.Event{Violations: []spec.Violation{{Location: "body", Message: "is wrong"}}}, 422)
	}
	if n := len(findingsIn(j)); n != 3 {
		t.Errorf("%d findings", n)
	}
	j.Reset("one")
	if n := len(findingsIn(j)); n != 2 {
		t.Errorf("%d findings after the reset of one", n)
	}
}

func TestVerify(t *testing.T) {
	j := made(Config{})
	recordExchange(j, runStart("", `{"text":"hello"}`), &spec.Event{Thread: "t1"}, 200)
	recordExchange(j, runStart("", `{"text":"bye"}`), &spec.Event{Thread: "t1"}, 429)
	recordExchange(j, resumeStart("1"), &spec.Event{}, 200)
	for _, c := range []struct{ name, file, want string }{
		{"as wanted", "in-order: true\ncalls: [{op: run, exactly: 2}, {op: run, at-least: 1, at-most: 2}, {op: listen}, {op: cancel, at-most: 0}]", ""},
		{"too few", "calls: [{op: run, status: '200', at-least: 2}]",
			"op run, status 200: got 1, want at least 2: #1 POST /runs?x=1 → 200, whole; nearest: #2 POST /runs?x=1 → 429, whole, but status was 429; #3 GET /threads/t1/runs/r1/events → 200, whole, but op was listen"},
		{"too many", "calls: [{name: chats, op: run, exactly: 1}]",
			"chats (op run): got 2, want exactly 1: #1 POST /runs?x=1 → 200, whole; #2 POST /runs?x=1 → 429, whole"},
		{"none", "calls: [{contains: goodbye, thread: t1, op: run}]",
			`op run, thread t1, contains goodbye: got 0, want at least 1; nearest: #1 POST /runs?x=1 → 200, whole, but body does not contain "goodbye"; #2 POST /runs?x=1 → 429, whole, but body does not contain "goodbye"; #3 GET /threads/t1/runs/r1/events → 200, whole, but op was listen and thread was none and body does not contain "goodbye"`},
		{"out of order", "in-order: true\ncalls: [{op: listen}, {op: run}]",
			"op run: first received as #1, want it after op listen, which was first received as #3"},
		{"two out of order", "in-order: true\ncalls: [{op: listen}, {op: run}, {op: run, status: '429'}]",
			"op run: first received as #1, want it after op listen, which was first received as #3\n" +
				"op run, status 429: first received as #2, want it after op listen, which was first received as #3"},
	} {
		var got []string
		for _, f := range j.Verify(Filter{}, loaded(t, c.file)) {
			got = append(got, f.Message)
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", c.name, strings.Join(got, "\n"), c.want)
		}
	}
	if f := made(Config{}).Verify(Filter{}, loaded(t, "calls: [{name: any}]")); len(f) != 1 || f[0].Message != "any: got 0, want at least 1; no requests received" {
		t.Errorf("an empty journal: %+v", f)
	}
	if f := j.Verify(Filter{After: 2}, loaded(t, "calls: [{op: run, exactly: 0}]")); len(f) != 0 {
		t.Errorf("after the runs: %+v", f)
	}
	small := made(Config{Entries: 1})
	recordExchange(small, runStart("", ""), nil, 200)
	recordExchange(small, runStart("", ""), nil, 200)
	if f := small.Verify(Filter{}, loaded(t, "calls: [{op: run, exactly: 1}]")); len(f) != 1 || !strings.Contains(f[0].Message, "too small to decide") {
		t.Errorf("a journal that forgot: %+v", f)
	}
}

func TestOutcome(t *testing.T) {
	broken := &spec.Event{Violations: []spec.Violation{{Location: "body /a", Message: `the request body has no "a"`}}}
	form := &spec.Event{Violations: []spec.Violation{{Location: "header Content-Type", Message: "header Content-Type is wrong"}}}
	unmatched := func(j *Journal) {
		e := j.Open(runStart("", ""))
		e.Matched("", []RuleMismatch{{"a", "no"}})
		e.HeadSent(200, nil)
		e.Close(Complete)
	}
	resume := func(j *Journal) {
		o := runStart("", "")
		o.Dialect = "agkit@0.0.10"
		recordExchange(j, o, &spec.Event{Parts: []spec.Event{{Kind: spec.InputResume, ID: "i"}}}, 200)
	}
	for _, c := range []struct {
		name, file string
		play       func(j *Journal)
		exit       int
		verdict    spec.Verdict
		text       string
	}{
		{"nothing asked", "", func(*Journal) {}, 3, spec.Silent, ""},
		{"nothing asked that was wanted", "calls: [{op: run}]", func(*Journal) {}, 3, spec.Silent, "failed op run: got 0, want at least 1\n"},
		{"well", "calls: [{op: run, exactly: 1}]", func(j *Journal) { recordExchange(j, runStart("", ""), nil, 200) }, 0, spec.Passed, "passed: 1 exchange\n"},
		{"broken", "", func(j *Journal) { recordExchange(j, runStart("", ""), broken, 422) }, 1, spec.Failed,
			"failed MUST runs.client.document: #1 POST /runs?x=1: body /a: the request body has no \"a\"\nfailed: 1 exchange\n"},
		{"broken header", "", func(j *Journal) { recordExchange(j, runStart("", ""), form, 422) }, 1, spec.Failed,
			"failed MUST runs.client.document: #1 POST /runs?x=1: header Content-Type is wrong\nfailed: 1 exchange\n"},
		{"not seen", "calls: [{op: listen}]", func(j *Journal) { recordExchange(j, runStart("", ""), nil, 200) }, 1, spec.Failed,
			"failed op listen: got 0, want at least 1; nearest: #1 POST /runs?x=1 → 200, whole, but op was run\nfailed: 1 exchange\n"},
		{"unmatched", "", unmatched, 1, spec.Failed, "failed MUST runs.client.matched: #1 POST /runs?x=1: no rule matches (1 tried): a: no\nfailed: 1 exchange\n"},
		{"unmatched is allowed", "allow-unmatched: true", unmatched, 0, spec.Passed, "passed: 1 exchange\n"},
		{"a broken SHOULD", "", resume, 0, spec.Warned, "warned SHOULD agkit.client.resume: #1 POST /runs?x=1: resume: no interrupt with the id \"i\" was sent before\nwarned: 1 exchange\n"},
		{"a broken SHOULD, strict", "strict: true", resume, 1, spec.Warned, "warned SHOULD agkit.client.resume: #1 POST /runs?x=1: resume: no interrupt with the id \"i\" was sent before\nwarned: 1 exchange\n"},
	} {
		j := made(Config{})
		c.play(j)
		out := loaded(t, c.file).Conclude(j)
		if out.Exit != c.exit || out.Verdict != c.verdict || out.Text() != c.text {
			t.Errorf("%s: exit %d, %s:\n%s", c.name, out.Exit, out.Verdict, out.Text())
		}
		var b bytes.Buffer
		var shape struct {
			Verdict  string
			Exit     int
			Counts   map[string]int
			Dialects []struct {
				Dialect string
				Checks  []struct {
					ID, Verdict string
					Judged      int
					Findings    []struct{ Message string }
				}
			}
		}
		if err := out.WriteJSON(&b); err != nil || json.Unmarshal(b.Bytes(), &shape) != nil || shape.Exit != c.exit || shape.Verdict != c.verdict.String() {
			t.Errorf("%s: %v: %s", c.name, err, b.String())
		}
		entries := 0
		for _, d := range shape.Dialects {
			entries += len(d.Checks)
			for _, check := range d.Checks {
				if (check.Verdict == "failed" || check.Verdict == "warned") != (len(check.Findings) > 0) {
					t.Errorf("%s: %s is %s with %d findings", c.name, check.ID, check.Verdict, len(check.Findings))
				}
			}
		}
		sum := 0
		for _, n := range shape.Counts {
			sum += n
		}
		if sum != entries {
			t.Errorf("%s: %d are counted of %d", c.name, sum, entries)
		}
	}
}

// TestRefusedClients checks that a refusal is a finding, unless a script caused it.
func TestRefusedClients(t *testing.T) {
	for _, c := range []struct {
		status int
		rule   string
		want   int
	}{{401, "", 1}, {413, "", 1}, {415, "", 1}, {401, "says so", 0}, {429, "", 0}, {503, "", 0}, {200, "", 0}} {
		j := made(Config{})
		e := j.Open(ExchangeStart{Dialect: "runs@2026-04", Op: "run", Request: spec.Request{Method: "POST", Target: "/runs"}})
		if c.rule != "" {
			e.Matched(c.rule, nil)
		}
		e.HeadSent(c.status, nil)
		e.Close(Complete)
		if r, _ := j.Get(1); len(r.Findings) != c.want {
			t.Errorf("%d, rule %q: %+v", c.status, c.rule, r.Findings)
		}
	}
}

// TestWholeIsServed checks that "ended: whole" does not match a refusal, unless its status is
// expected as well.
func TestWholeIsServed(t *testing.T) {
	for _, c := range []struct {
		call  string
		fails string // "" if it is satisfied by a 404
	}{
		{"{op: run, ended: whole}", "status was 404"},
		{"{op: run, ended: whole, status: 404}", ""},
		{"{op: run, ended: whole, status: 4XX}", ""},
		{"{op: run}", ""},
	} {
		j := New(Config{})
		recordExchange(j, runStart("", ""), nil, 404)
		x, err := LoadExpectations("calls.yaml", strings.NewReader("calls: ["+c.call+"]\n"), builtIn(t))
		if err != nil {
			t.Fatal(err)
		}
		failures := j.Verify(Filter{}, x)
		if c.fails == "" && len(failures) > 0 || c.fails != "" && (len(failures) != 1 || !strings.Contains(failures[0].Message, c.fails)) {
			t.Errorf("%s: %+v, want %q", c.call, failures, c.fails)
		}
		recordExchange(j, runStart("", ""), nil, 200)
		if failures := j.Verify(Filter{}, x); len(failures) > 0 {
			t.Errorf("%s: after a 200: %+v", c.call, failures)
		}
	}
}
