package reports

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// The requirements of a catalogue for tests, whose dialect does not exist.
var (
	lawJSON   = spec.Requirement{ID: "t.json", Level: spec.Must, Quote: "JSON", Source: "d:1", Checks: []string{"frame.says"}}
	lawPolite = spec.Requirement{ID: "t.polite", Level: spec.Should, Quote: "polite", Source: "d:2", Checks: []string{"frame.says"}}
	lawMay    = spec.Requirement{ID: "t.may", Level: spec.May, Quote: "may", Source: "d:3", Checks: []string{"frame.may"}}
	lawNever  = spec.Requirement{ID: "t.never", Level: spec.Must, Quote: "never", Source: "d:4", Checks: []string{"frame.never"}}
	lawClient = spec.Requirement{ID: "t.client", Level: spec.Must, Quote: "client", Source: "d:5", Excluded: &spec.Exclusion{Kind: "client", Reason: "it is"}}
	catalogue = []spec.Requirement{lawJSON, lawPolite, lawMay, lawNever, lawClient}
)

var testChecks = []*spec.Check{
	{ID: "frame.says", Doc: "a frame says good\n\nWhy not.", Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) {
			if e.Requirement != "" {
				p.Judge(e, e.Text == "good", "it says %q", e.Text)
			}
		}
	}},
	{ID: "frame.may", Doc: "a frame may be long", Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) {
			if e.Kind == spec.BodyEnd {
				p.Judge(e, e.Text == "good", "it is short")
			}
		}
	}},
	{ID: "frame.never", Doc: "nothing happens", Watch: func(*spec.Pass) func(spec.Event) { return func(spec.Event) {} }},
}

func hear(events ...spec.Event) []spec.CheckResult {
	return spec.Run(spec.NewPlan(testChecks, catalogue, nil), slices.Values(events), nil).Results
}

func TestEntry(t *testing.T) {
	results := hear(
		spec.Event{Kind: spec.Unrecognized, Requirement: "t.polite", Text: "good"},
		spec.Event{Kind: spec.Unrecognized, Requirement: "t.json", Text: "bad", Exchange: 2, Frame: 3, Line: 9, Offset: 211,
			Raw: []byte("data: \xff\n\n"), Violations: []spec.Violation{{Pointer: "/delta"}}},
		spec.Event{Kind: spec.HTTPResponse, Requirement: "t.polite", Text: "rude", Frame: -1},
	)
	got := NewCheckResult("text", "", spec.Trace{}, results[0])
	if got.ID != "frame.says" || got.Title != "a frame says good" || got.Level != spec.Must || got.Scenario != "text" || got.Verdict != spec.Failed || got.Judged != 3 {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(got.Requirements, []string{"t.json", "t.polite"}) {
		t.Errorf("requirements %q", got.Requirements)
	}
	if len(got.Findings) != 2 {
		t.Fatalf("findings %+v", got.Findings)
	}
	f := got.Findings[0]
	if f.Event == nil || *f.Event != 3 {
		t.Errorf("event %v, want 3", f.Event)
	}
	f.Event = nil
	if want := (Finding{Message: `it says "bad"`, Requirement: "t.json", Exchange: 2, Line: 9, Offset: 211, Raw: "data: \ufffd\n\n", Pointer: "/delta"}); f != want {
		t.Errorf("got %+v, want %+v", f, want)
	}
	if f := got.Findings[1]; f.Event != nil || f.Requirement != "t.polite" {
		t.Errorf("a finding about no frame: %+v", f)
	}
}

func TestEntrySaysWhyWithoutFindings(t *testing.T) {
	for _, test := range []struct {
		verdict spec.Verdict
		judged  int
	}{{spec.Failed, 1}, {spec.Warned, 1}, {spec.Skipped, 0}, {spec.Error, 0}, {spec.Silent, 0}} {
		r := hear()[2]
		r.Overrule(test.verdict, "because \xff")
		c := NewCheckResult("text", "", spec.Trace{}, r)
		if c.Note != "because \ufffd" || c.Verdict != test.verdict || c.Judged != test.judged || c.Findings == nil {
			t.Errorf("%v: %+v", test.verdict, c)
		}
	}
}

// TestPointer checks that a finding has a JSON Pointer only if exactly one violation was seen in
// what the target sent, and that a long pointer is shortened.
func TestPointer(t *testing.T) {
	one, two := []spec.Violation{{Pointer: "/a"}}, []spec.Violation{{Pointer: "/a"}, {Pointer: "/b"}}
	long := []spec.Violation{{Pointer: "/" + strings.Repeat("x", 1<<20)}}
	for _, test := range []struct {
		e    spec.Event
		want int
	}{
		{spec.Event{Kind: spec.Unrecognized, Requirement: "t.json", Violations: one}, 2},
		{spec.Event{Kind: spec.Unrecognized, Requirement: "t.json", Violations: two}, 0},
		{spec.Event{Kind: spec.HTTPRequest, Requirement: "t.json", Violations: one}, 0},
		{spec.Event{Kind: spec.Unrecognized, Requirement: "t.json", Violations: long}, 512 + len(" … (1048065 more bytes)")},
	} {
		if got := NewCheckResult("s", "", spec.Trace{}, hear(test.e)[0]).Findings[0].Pointer; len(got) != test.want {
			t.Errorf("%.20v: the pointer has %d bytes, want %d", test.e.Violations, len(got), test.want)
		}
	}
}

func TestText(t *testing.T) {
	for _, test := range []struct {
		name, in string
		most     int
		want     string
	}{
		{"nothing", "", 4, ""},
		{"all of it", "abcd", 4, "abcd"},
		{"too much", "abcdefg", 4, "abcd … (3 more bytes)"},
		{"a cut inside a character", "ab世界", 6, "ab世 … (3 more bytes)"},
		{"a cut after a character", "ab世界", 5, "ab世 … (3 more bytes)"},
		{"a cut before a character", "ab世界", 2, "ab … (6 more bytes)"},
		{"each wrong byte is seen", "a\xff\xfeb", 9, "a\ufffd\ufffdb"},
		{"nothing but continuations", strings.Repeat("\x80", 9), 6, strings.Repeat("\ufffd", 6) + " … (3 more bytes)"},
		{"half a character at the end", "a\xe4\xb8", 9, "a\ufffd\ufffd"},
	} {
		if got := boundedText([]byte(test.in), test.most); got != test.want || !utf8.ValidString(got) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestRequirements(t *testing.T) {
	polite := hear(spec.Event{Requirement: "t.polite", Text: "good"}, spec.Event{Kind: spec.BodyEnd, Text: "bad"})
	rude := hear(spec.Event{Requirement: "t.polite", Text: "rude"})
	untold := hear()
	untold[2].Overrule(spec.Error, "no network")
	allErrors := hear()
	for i := range allErrors {
		allErrors[i].Overrule(spec.Error, "no network")
	}
	for _, test := range []struct {
		name    string
		results []spec.CheckResult
		want    []spec.Verdict // json, polite, may, never, client
	}{
		{"nothing heard", nil, []spec.Verdict{spec.Silent, spec.Silent, spec.Silent, spec.Silent, spec.Silent}},
		{"evidence for one requirement is none for another, and a MAY cannot be broken", polite,
			[]spec.Verdict{spec.Silent, spec.Passed, spec.Silent, spec.Silent, spec.Silent}},
		{"the worst counts, whenever it came", slices.Concat(rude, polite), []spec.Verdict{spec.Silent, spec.Warned, spec.Silent, spec.Silent, spec.Silent}},
		{"and in the other order", slices.Concat(polite, rude), []spec.Verdict{spec.Silent, spec.Warned, spec.Silent, spec.Silent, spec.Silent}},
		{"an error hides no violation", slices.Concat(allErrors, rude), []spec.Verdict{spec.Error, spec.Warned, spec.Error, spec.Error, spec.Silent}},
		{"nor in the other order", slices.Concat(rude, allErrors), []spec.Verdict{spec.Error, spec.Warned, spec.Error, spec.Error, spec.Silent}},
		{"an error voids no evidence", slices.Concat(polite, allErrors), []spec.Verdict{spec.Error, spec.Passed, spec.Error, spec.Error, spec.Silent}},
		{"errors are told", untold, []spec.Verdict{spec.Silent, spec.Silent, spec.Silent, spec.Error, spec.Silent}},
	} {
		got := RequirementResults(catalogue, test.results)
		for i, r := range got {
			if r.ID != catalogue[i].ID || r.Verdict != test.want[i] || r.Checks == nil {
				t.Errorf("%s: %s is %v, want %v", test.name, r.ID, r.Verdict, test.want[i])
			}
		}
		if len(got) != len(catalogue) || got[4].Excluded == nil || got[0].Excluded != nil {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

// TestExcludedIsSilent checks that an excluded requirement is silent even if a check that judges it
// failed.
func TestExcludedIsSilent(t *testing.T) {
	law := lawJSON
	law.Excluded = &spec.Exclusion{Kind: "contradiction", Reason: "the document says both"}
	if got := RequirementResults([]spec.Requirement{law}, hear(spec.Event{Requirement: "t.json", Text: "bad"})); got[0].Verdict != spec.Silent {
		t.Errorf("%+v", got)
	}
}

func TestConclude(t *testing.T) {
	entry := func(v spec.Verdict, judged int) Check { return Check{Verdict: v, Judged: judged} }
	passed, failed, warned := entry(spec.Passed, 1), entry(spec.Failed, 1), entry(spec.Warned, 1)
	silent, skipped, untold := entry(spec.Silent, 0), entry(spec.Skipped, 0), entry(spec.Error, 0)
	for _, test := range []struct {
		name         string
		checks       []Check
		verdict      spec.Verdict
		exit, strict int
	}{
		{"nothing at all", nil, spec.Silent, 3, 3},
		{"only silence", []Check{silent, skipped}, spec.Skipped, 3, 3},
		{"only doubt", []Check{untold, silent}, spec.Error, 3, 3},
		{"a pass", []Check{passed}, spec.Passed, 0, 0},
		{"a pass among silence", []Check{silent, passed, skipped}, spec.Passed, 0, 0},
		{"a warning", []Check{passed, warned}, spec.Warned, 0, 1},
		{"a failure", []Check{failed, passed}, spec.Failed, 1, 1},
		{"a failure alone", []Check{failed}, spec.Failed, 1, 1},
		{"a failure and doubt", []Check{failed, untold}, spec.Error, 1, 1},
		{"a pass and doubt", []Check{passed, untold}, spec.Error, 3, 3},
		{"a warning and doubt", []Check{warned, untold}, spec.Error, 3, 1},
	} {
		for want, o := range map[*int]ExitCodeOptions{&test.exit: {}, &test.strict: {Strict: true}} {
			r := &Report{Dialects: []DialectResults{{}, {Checks: test.checks}}}
			r.Conclude(o)
			r.Conclude(o) // a second time changes nothing
			if r.Exit != *want || r.Verdict != test.verdict {
				t.Errorf("%s, %+v: exit %d and %v, want %d and %v", test.name, o, r.Exit, r.Verdict, *want, test.verdict)
			}
		}
	}
	r := &Report{Exit: ExitInternal, Dialects: []DialectResults{{Checks: []Check{passed, failed, failed, warned, silent, skipped, untold}}}}
	r.Conclude(ExitCodeOptions{})
	if r.Exit != 5 {
		t.Errorf("a broken harness concludes with exit %d", r.Exit)
	}
	if want := (Counts{Passed: 1, Failed: 2, Warned: 1, Silent: 1, Skipped: 1, Error: 1}); r.Counts != want {
		t.Errorf("counts %+v, want %+v", r.Counts, want)
	}
}

func TestRedact(t *testing.T) {
	const token = `s3cr'et"%20/ü`
	r := &Report{Target: "http://h/?t=" + `s3cr%27et%22%2520%2F%C3%BC`, Dialects: []DialectResults{{Checks: []Check{{
		Note:       "sent " + token,
		Curl:       Curl("http://h", spec.Request{Method: "POST", Header: spec.Header{{Name: "X-Mine", Value: token}}, Body: []byte("\n" + token)}),
		Transcript: token,
		Findings:   []Finding{{Message: token, Raw: `{"echo":"s3cr'et\"%20/ü"}`, Pointer: "/" + token}, {Raw: boundedText([]byte("x"+token), 7)}},
	}}}}}
	r.Redact([]string{"", token, "Bearer of nothing"})
	c := r.Dialects[0].Checks[0]
	for _, s := range []string{r.Target, c.Note, c.Curl, c.Transcript, c.Findings[0].Message, c.Findings[0].Raw, c.Findings[0].Pointer, c.Findings[1].Raw} {
		if strings.Contains(s, "s3cr") || !strings.Contains(s, "REDACTED") {
			t.Errorf("it gives the secret away: %s", s)
		}
	}
	if got := c.Findings[0].Raw; got != `{"echo":"REDACTED"}` {
		t.Errorf("more than the secret is gone: %s", got)
	}
	for _, spelled := range []string{
		`{"echo":"s3cr'et\u0022%20\/\u00FC"}`, "q=s3cr%27et%22%2520%2f%c3%bc", "s3cr&#39;et&quot;%20/&uuml;",
		"Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+token)), "id " + hex.EncodeToString([]byte(token)),
	} {
		r := &Report{Dialects: []DialectResults{{Checks: []Check{{Findings: []Finding{{Message: spelled}}}}}}}
		r.Redact([]string{token})
		clean := r.Dialects[0].Checks[0].Findings[0].Message
		if !strings.Contains(clean, "REDACTED") || strings.Contains(clean, "s3cr") || strings.Contains(clean, "M2Ny") || strings.Contains(clean, "733363") {
			t.Errorf("%s: it gives the secret away: %s", spelled, clean)
		}
	}
	plain := sample()
	plain.Redact(nil)
	if plain.Target != sample().Target {
		t.Error("without secrets nothing is to be done")
	}
}

// TestRedactCutValues checks that a secret is redacted in a message that contains only the
// beginning of the secret.
func TestRedactCutValues(t *testing.T) {
	token := strings.Repeat("s3cr3t-", 20)
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := json.Marshal(map[string]any{"messages": []any{map[string]any{"role": token}}, "conversationId": "c"})
	header := spec.Header{{Name: "Content-Type", Value: "application/json"}}
	broken := d.ValidateRequest(spec.Request{Method: "POST", Target: "/send-message", Header: header, Body: body})
	if len(broken) != 1 || !strings.Contains(broken[0].String(), "s3cr3t-") {
		t.Fatalf("%v does not show the value", broken)
	}
	r := &Report{Dialects: []DialectResults{{Checks: []Check{{Findings: []Finding{{Message: broken[0].String()}}}}}}}
	r.Redact([]string{token})
	const want = `messages[0].role is "REDACTED…: expected user, assistant, tool or system`
	if got := r.Dialects[0].Checks[0].Findings[0].Message; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRedactReachesEveryText checks that Redact changes every text of a report except the trusted
// ones, which the test lists. A new member must therefore be either redacted or added to the list.
func TestRedactReachesEveryText(t *testing.T) {
	const secret = "canary-0123"
	r := &Report{}
	fill(reflect.ValueOf(r).Elem(), "x "+secret+" y")
	r.Redact([]string{secret})
	left := map[string]bool{}
	collect(reflect.ValueOf(r).Elem(), "Report", secret, left)
	want := []string{
		"Cause.Kind", "Cause.Scenario", "Check.ID", "Check.Requirements", "Check.Scenario", "Check.Title", "DialectResults.Dialect", "Finding.Requirement", "Report.Tool", "Report.Version",
		"RequirementResult.Checks", "RequirementResult.Dialect", "RequirementResult.English", "RequirementResult.Excluded", "RequirementResult.ID", "RequirementResult.Quote", "RequirementResult.Source",
	}
	if got := slices.Sorted(maps.Keys(left)); !slices.Equal(got, want) {
		t.Errorf("the secret is left in\n%q, not in\n%q", got, want)
	}
}

// fill sets every string that can be reached from v to text. It creates one element for each slice
// and pointer.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	}
}

// collect adds to left the names of those members below v whose value contains text.
func collect(v reflect.Value, name, text string, left map[string]bool) {
	switch v.Kind() {
	case reflect.String:
		if strings.Contains(v.String(), text) {
			left[name] = true
		}
	case reflect.Pointer, reflect.Slice:
		if v.Kind() == reflect.Pointer {
			v = reflect.Append(reflect.MakeSlice(reflect.SliceOf(v.Type().Elem()), 0, 1), v.Elem())
		}
		for i := range v.Len() {
			collect(v.Index(i), name, text, left)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field, inner := v.Type().Field(i), name
			if v.Type().PkgPath() == reflect.TypeFor[Report]().PkgPath() {
				inner = v.Type().Name() + "." + field.Name
			}
			if field.IsExported() {
				collect(v.Field(i), inner, text, left)
			}
		}
	}
}
