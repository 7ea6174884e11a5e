package main

import (
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/suites"
)

// TestTargetNames checks by which name reports, JSON comparisons and transcripts call a target.
func TestTargetNames(t *testing.T) {
	const base, embedded = "http://a:1", "the embedded reference"
	both := []string{"runs", "agkit"}
	for _, c := range []struct {
		url      string
		dialects []string
		report   string
		json     string
		bases    []string // by dialect, as in transcripts
	}{
		{base, []string{"runs"}, base + "/api/v1/agent", base, []string{base + "/api/v1/agent"}},
		{base + "/", both, base + "/", base + "/", []string{base + "/api/v1/agent", base}},
		{base + "/x/", both, base + "/x", base + "/x/", []string{base + "/x", base + "/x"}},
		{"", both, embedded, "reference", []string{embedded, embedded}},
	} {
		o := newTargetOptions()
		o.URL, o.Dialects, o.Transcripts = c.url, c.dialects, t.TempDir()
		j, err := newTargetRun(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := originalArgument(j); j.displayName != c.report || got != c.json {
			t.Errorf("%s: the report names %s, JSON names %s; want %s and %s", c.url, j.displayName, got, c.report, c.json)
		}
		for i, want := range c.bases {
			p := suites.ScenarioResult{Dialect: j.suiteTargets[i].Dialect, Scenario: suites.Scenarios()[0]}
			p.Trace.Exchanges = []spec.Exchange{{Request: spec.Request{Method: "GET", Target: "/"}}}
			if err := j.saveConversation(p, j.transcriptPath(p)); err != nil {
				t.Fatal(err)
			}
			tr, err := transcript.Open(j.transcriptPath(p))
			if err != nil || tr.Target != want {
				t.Errorf("%s in %s: the transcript names %v, %v; want %s", c.url, p.Dialect.Name, tr, err, want)
			}
		}
	}
}

// TestFirstWrongGlob checks that, if the globs of --only and --skip are wrong, the error is always
// about --only.
func TestFirstWrongGlob(t *testing.T) {
	o := newTargetOptions()
	o.suite.Only, o.suite.Skip = []string{"zz*"}, []string{"["}
	for range 20 {
		if err := o.checkGlobs(nil); err == nil || !strings.HasPrefix(err.Error(), "--only ") {
			t.Fatalf("got %v, want an error about --only", err)
		}
	}
}
