package spec_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/streamassay/streamassay/spec"
)

// heard returns the result of a check with the given requirements that makes the given judgements
// on one conversation.
func heard(laws []spec.Requirement, evidence ...judgement) spec.CheckResult {
	check := &spec.Check{ID: "a.check", Watch: func(p *spec.Pass) func(spec.Event) {
		p.AtEnd(func() {
			for _, j := range evidence {
				p.Judge(spec.Event{Requirement: j.law}, j.holds, "it does not hold")
			}
		})
		return func(spec.Event) {}
	}}
	plan := spec.Plan{PlannedChecks: []spec.PlannedCheck{{Check: check, Requirements: laws}}}
	return spec.Run(plan, slices.Values([]spec.Event{}), nil).Results[0]
}

type judgement struct {
	law   string
	holds bool
}

// TestOn checks that the verdict on a requirement depends only on the evidence for that
// requirement, that a MAY is never violated, and that an unused permission does not count as a
// pass.
func TestOn(t *testing.T) {
	must, should, may := spec.Requirement{ID: "must", Level: spec.Must}, spec.Requirement{ID: "should", Level: spec.Should}, spec.Requirement{ID: "may", Level: spec.May}
	all := []spec.Requirement{must, should, may}
	tests := map[string]struct {
		laws     []spec.Requirement
		evidence []judgement
		verdict  spec.Verdict
		judged   int
		on       map[string]spec.Verdict
	}{
		"nothing":              {all, nil, spec.Silent, 0, map[string]spec.Verdict{}},
		"a MAY not used":       {all, []judgement{{"may", false}}, spec.Silent, 0, map[string]spec.Verdict{}},
		"a MAY used":           {all, []judgement{{"may", true}}, spec.Passed, 1, map[string]spec.Verdict{"may": spec.Passed}},
		"a MAY used sometimes": {all, []judgement{{"may", true}, {"may", false}}, spec.Passed, 1, map[string]spec.Verdict{"may": spec.Passed}},
		"only MAYs, unnamed":   {[]spec.Requirement{may}, []judgement{{"", false}}, spec.Silent, 0, map[string]spec.Verdict{}},
		"one of two": {all, []judgement{{"must", false}, {"should", true}}, spec.Failed, 2,
			map[string]spec.Verdict{"must": spec.Failed, "should": spec.Passed}},
		"a MUST holds, a MAY is not used": {all, []judgement{{"must", true}, {"may", false}}, spec.Passed, 1,
			map[string]spec.Verdict{"must": spec.Passed}},
	}
	for name, test := range tests {
		r := heard(test.laws, test.evidence...)
		if r.Verdict != test.verdict || r.Judged != test.judged {
			t.Errorf("%s: %v by %d judgements, want %v by %d", name, r.Verdict, r.Judged, test.verdict, test.judged)
		}
		for _, law := range test.laws {
			if got := r.VerdictOn(law); got != test.on[law.ID] {
				t.Errorf("%s: %s is %v, want %v", name, law.ID, got, test.on[law.ID])
			}
		}
	}
}

// TestAbout checks that evidence that names no requirement counts for the requirement that is about
// its kind of event or, if there is none, for the requirement that is not about any kind.
func TestAbout(t *testing.T) {
	end, failure := spec.Requirement{ID: "end", Level: spec.Must}, spec.Requirement{ID: "failure", Level: spec.Must, About: []spec.Kind{spec.RunError}}
	check := &spec.Check{ID: "a.check", Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) { p.Judge(e, e.Text == "", "it does not hold") }
	}}
	for _, test := range []struct {
		events       []spec.Event
		end, failure spec.Verdict
	}{
		{[]spec.Event{{Kind: spec.RunError, Text: "bad"}}, spec.Silent, spec.Failed},
		{[]spec.Event{{Kind: spec.RunEnd, Text: "bad"}}, spec.Failed, spec.Silent},
		{[]spec.Event{{Kind: spec.RunEnd}, {Kind: spec.RunError, Text: "bad"}}, spec.Passed, spec.Failed},
		{[]spec.Event{{Kind: spec.RunEnd}}, spec.Passed, spec.Silent},
	} {
		plan := spec.Plan{PlannedChecks: []spec.PlannedCheck{{Check: check, Requirements: []spec.Requirement{end, failure}}}}
		r := spec.Run(plan, slices.Values(test.events), nil).Results[0]
		if r.VerdictOn(end) != test.end || r.VerdictOn(failure) != test.failure {
			t.Errorf("%v: the end is %v, the failure %v; want %v, %v", test.events, r.VerdictOn(end), r.VerdictOn(failure), test.end, test.failure)
		}
	}
}

// TestBreakPromise checks that a broken promise violates requirements that demand something, but no
// permissions.
func TestBreakPromise(t *testing.T) {
	must, may := spec.Requirement{ID: "must", Level: spec.Must}, spec.Requirement{ID: "may", Level: spec.May}
	r := heard([]spec.Requirement{must, may})
	if !r.BreakPromise("it was promised") || r.Verdict != spec.Failed || r.VerdictOn(must) != spec.Failed || r.VerdictOn(may) != spec.Silent {
		t.Errorf("the check is %v, the MUST %v, the MAY %v; want failed, failed, silent", r.Verdict, r.VerdictOn(must), r.VerdictOn(may))
	}
	only := heard([]spec.Requirement{may})
	if only.BreakPromise("it was promised") || only.Verdict != spec.Silent || only.Note != "" {
		t.Errorf("a promised MAY that was not exercised is %v (%q), want silent", only.Verdict, only.Note)
	}
}

// TestUnmeasured checks that a conversation is not judged if it has no request and no frame of the
// dialect, or if it is not HTTP.
func TestUnmeasured(t *testing.T) {
	whole, asked, frame := spec.Evaluation{Complete: true, RequestRecorded: true, HTTP: true, Recognized: true}, spec.Evaluation{RequestRecorded: true, HTTP: true}, spec.Evaluation{Recognized: true, HTTP: true}
	foreign, garbage := spec.Evaluation{HTTP: true}, spec.Evaluation{RequestRecorded: true, NotHTTP: true}
	tests := []struct {
		heard []spec.Evaluation
		want  error
	}{
		{[]spec.Evaluation{whole}, nil}, {[]spec.Evaluation{asked}, nil}, {[]spec.Evaluation{frame}, nil}, {[]spec.Evaluation{foreign, asked}, nil},
		{[]spec.Evaluation{foreign}, spec.ErrUnrecognized}, {[]spec.Evaluation{garbage, garbage}, spec.ErrNotHTTP}, {[]spec.Evaluation{asked, garbage}, nil}, {nil, nil},
	}
	for i, test := range tests {
		if got := spec.WhyUnjudgeable(test.heard); !errors.Is(got, test.want) {
			t.Errorf("%d: %v, want %v", i, got, test.want)
		}
	}
	broken := heard([]spec.Requirement{{ID: "must", Level: spec.Must}}, judgement{"must", false})
	for _, test := range []struct {
		of   spec.Evaluation
		want spec.Verdict
	}{{asked, spec.Failed}, {foreign, spec.Silent}, {garbage, spec.Silent}} {
		test.of.Results = []spec.CheckResult{broken}
		if got := spec.RequireCompleteExchange([]spec.Evaluation{test.of})[0].Results[0]; got.Verdict != test.want || (got.Judged > 0) != (test.want == spec.Failed) {
			t.Errorf("%+v: a finding is %v by %d judgements, want %v", test.of, got.Verdict, got.Judged, test.want)
		}
	}
}
