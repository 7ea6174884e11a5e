package suites_test

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/transcript"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// fromBytes returns the conversation of p after it was written to a transcript and read again.
func fromBytes(p suites.ScenarioResult) (spec.Trace, error) {
	t, err := transcript.Parse("part.txtar", transcript.Format(&transcript.Transcript{Trace: p.Trace}))
	if err != nil {
		return spec.Trace{}, err
	}
	return t.Trace, nil
}

// TestAgain checks that [suites.Rejudge] finds no differences if the recordings are unchanged,
// reports a difference if a recording was changed, and returns an error if a recording cannot be
// read.
func TestAgain(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"agkit@0.0.10", "agentscope@1.1", "runs@2026-04"} {
		t.Run(name, func(t *testing.T) {
			d, err := dialect.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(reference.New(d, reference.Scripted, reference.Config{}))
			defer srv.Close()
			base, err := url.Parse(srv.URL + d.Base)
			if err != nil {
				t.Fatal(err)
			}
			target := suites.Target{Dialect: d, Base: base, ClaimedCapabilities: []string{"all"}, Skip: []string{"refusals", "resume*"}, Seed: 7, Salt: 7}
			parts, err := suites.Run(context.WithoutCancel(t.Context()), target, nil)
			if err != nil {
				t.Fatal(err)
			}
			differs, err := suites.Rejudge(target, parts, fromBytes)
			if err != nil || len(differs) > 0 {
				t.Errorf("judged again: %v\n%s", err, strings.Join(differs, "\n"))
			}
			spoilt := func(p suites.ScenarioResult) (spec.Trace, error) {
				trace, err := fromBytes(p)
				if p.Scenario.Name == "text" {
					body := &trace.Exchanges[len(trace.Exchanges)-1].Response.Body
					*body = bytes.Replace(*body, []byte("data: {"), []byte("data: <"), 1)
				}
				return trace, err
			}
			differs, err = suites.Rejudge(target, parts, spoilt)
			if err != nil || !slices.ContainsFunc(differs, func(s string) bool {
				return strings.HasPrefix(s, name+" text: wire.frames-are-json: passed of ") && strings.Contains(s, "the event is not JSON")
			}) {
				t.Errorf("other bytes, and the verdicts are said to be the same: %v\n%s", err, strings.Join(differs, "\n"))
			}
			_, err = suites.Rejudge(target, parts, func(suites.ScenarioResult) (spec.Trace, error) { return spec.Trace{}, errors.New("no such file") })
			if err == nil || !strings.Contains(err.Error(), "no such file") {
				t.Errorf("what cannot be read: %v", err)
			}
		})
	}
}
