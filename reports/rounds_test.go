package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// round returns the report of one round with one requirement and one check, both with verdict v.
func round(v spec.Verdict, harness ...string) *Report {
	c := Check{ID: "says", Title: "it says something", Level: spec.Must, Scenario: "text", Verdict: v, Requirements: []string{"talk.says"}}
	if v == spec.Passed || v == spec.Failed {
		c.Judged = 1
	}
	if v == spec.Failed {
		c.Findings = []Finding{{Message: "it said nothing", Requirement: "talk.says"}}
	}
	r := &Report{Tool: "streamassay", Target: "http://127.0.0.1", DurationMS: 10, Harness: harness, Dialects: []DialectResults{{
		Dialect:      "talk@2",
		Requirements: []RequirementResult{{ID: "talk.says", Level: spec.Must, Verdict: v, Quote: "says something", Checks: []string{"says"}}},
		Checks:       []Check{c},
	}}}
	if len(harness) > 0 {
		r.Exit = ExitInternal
	}
	r.Conclude(ExitCodeOptions{})
	return r
}

// TestRounds checks that the worst result of several rounds is kept, and that the verdicts are
// counted if they differ.
func TestRounds(t *testing.T) {
	for _, c := range []struct {
		name    string
		rounds  []*Report
		exit    int
		verdict spec.Verdict // of the run
		law     spec.Verdict
		check   spec.Verdict
		flaky   string // of the requirement
	}{
		{"alike", []*Report{round(spec.Passed), round(spec.Passed)}, ExitPassed, spec.Passed, spec.Passed, spec.Passed, ""},
		{"one failure", []*Report{round(spec.Passed), round(spec.Failed), round(spec.Passed)}, ExitFailed, spec.Failed, spec.Failed, spec.Failed, "failed 1, passed 2"},
		{"failed first", []*Report{round(spec.Failed), round(spec.Passed)}, ExitFailed, spec.Failed, spec.Failed, spec.Failed, "failed 1, passed 1"},
		{"always failed", []*Report{round(spec.Failed), round(spec.Failed)}, ExitFailed, spec.Failed, spec.Failed, spec.Failed, ""},
		{"silence", []*Report{round(spec.Silent), round(spec.Passed)}, ExitInconclusive, spec.Passed, spec.Passed, spec.Passed, "passed 1, silent 1"},
		{"gone away", []*Report{round(spec.Passed), round(spec.Error)}, ExitInconclusive, spec.Error, spec.Passed, spec.Error, "error 1, passed 1"},
		{"failed and gone away", []*Report{round(spec.Failed), round(spec.Error)}, ExitFailed, spec.Error, spec.Failed, spec.Failed, "error 1, failed 1"},
		{"harness", []*Report{round(spec.Passed), round(spec.Failed, "text: says: passed, failed from its bytes")}, ExitInternal, spec.Failed, spec.Failed, spec.Failed, "failed 1, passed 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all RoundMerger
			for _, r := range c.rounds {
				all.AddRound(r)
			}
			r := all.Merged()
			d := r.Dialects[0]
			if r.Exit != c.exit || r.Verdict != c.verdict || r.Rounds != len(c.rounds) || r.DurationMS != int64(10*len(c.rounds)) {
				t.Errorf("exit %d, verdict %s, %d rounds, %d ms", r.Exit, r.Verdict, r.Rounds, r.DurationMS)
			}
			if len(d.Requirements) != 1 || len(d.Checks) != 1 {
				t.Fatalf("%d requirements, %d checks: each of them once", len(d.Requirements), len(d.Checks))
			}
			said, entry := "", ""
			if f := d.Requirements[0].Flaky; f != nil {
				said = f.String()
			}
			if f := d.Checks[0].Flaky; f != nil {
				entry = f.String()
			}
			if said != c.flaky || entry != c.flaky || d.Requirements[0].Verdict != c.law || d.Checks[0].Verdict != c.check {
				t.Errorf("flaky %q and %q, verdicts %s and %s", said, entry, d.Requirements[0].Verdict, d.Checks[0].Verdict)
			}
		})
	}
}

// TestCausesOfRounds checks that the merged report has the causes of all rounds, and that the
// results of each round refer to their own.
func TestCausesOfRounds(t *testing.T) {
	withCause := func(v spec.Verdict, kind string) *Report {
		r := round(v)
		d := &r.Dialects[0]
		d.Causes = []Cause{{Kind: kind, Message: "seen: " + kind, Scenario: "text", Fatal: true}}
		d.Checks[0].Cause = new(int)
		return r
	}
	var all RoundMerger
	for _, r := range []*Report{round(spec.Passed), withCause(spec.Failed, "a"), withCause(spec.Silent, "b"), withCause(spec.Error, "b")} {
		all.AddRound(r)
	}
	d := all.Merged().Dialects[0]
	if len(d.Causes) != 2 || d.Causes[0].Fatal || d.Checks[0].Cause == nil || d.Causes[*d.Checks[0].Cause].Kind != "a" {
		t.Errorf("causes %+v, and the check has %v", d.Causes, d.Checks[0].Cause)
	}
}

// TestRoundsAreTold checks that every format shows which verdicts differ between rounds, and the
// internal errors.
func TestRoundsAreTold(t *testing.T) {
	var all RoundMerger
	all.AddRound(round(spec.Passed))
	all.AddRound(round(spec.Failed, "text: says: passed, failed from its bytes"))
	r := all.Merged()
	for name, want := range map[string][]string{
		"json": {`"rounds": 2`, `"round": 2`, `"harness": [`},
		"junit": {
			"flaky: failed 1, passed 1; shown here: round 2", `<testsuite name="streamassay"`,
			`name="judges the same bytes alike"`, "failed from its bytes",
		},
		"html":     {"flaky: failed 1, passed 1", "2 rounds", "failed from its bytes"},
		"markdown": {"failed 1, passed 1", "failed from its bytes"},
	} {
		f, err := FormatByName(name)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Write(&b, r); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s does not say %q:\n%s", name, w, &b)
			}
		}
	}
	var b strings.Builder
	if err := WriteText(&b, r, TextStyle{}); err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"2 rounds", "FLAKY  talk@2: verdicts differ between 2 rounds", "talk.says: failed 1, passed 1", "INTERNAL ERROR", "failed from its bytes", "INTERNAL ERROR"} {
		if !strings.Contains(b.String(), w) {
			t.Errorf("the text does not say %q:\n%s", w, &b)
		}
	}
	var shape struct {
		Dialects []struct {
			Requirements []struct{ Flaky map[string]int }
		}
	}
	b.Reset()
	if err := WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b.String()), &shape); err != nil {
		t.Fatal(err)
	}
	if f := shape.Dialects[0].Requirements[0].Flaky; f["passed"] != 1 || f["failed"] != 1 {
		t.Errorf("flaky in JSON: %v", f)
	}
}
