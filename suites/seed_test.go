package suites_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// TestSeedAgain plays the same seed twice to a server that is not restarted. The second run must
// take the same steps, with new thread ids, and have no findings.
func TestSeedAgain(t *testing.T) {
	for _, name := range []string{"agkit@0.0.10", "agentscope@1.1", "runs@2026-04"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := dialect.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(upright(t, d))
			defer srv.Close()
			base, err := url.Parse(srv.URL + d.Base)
			if err != nil {
				t.Fatal(err)
			}
			target := suites.Target{Dialect: d, Base: base, ClaimedCapabilities: []string{"scripted"}, Seed: 77, Sequences: 4}
			target.Header, target.OtherHeader = bearer("token-of-ann"), bearer("token-of-bob")
			target.Only = []string{"text", "recall", "history", "sequence-[234]"}
			steps, bodies := playAll(t, target)
			stepsAgain, bodiesAgain := playAll(t, target)
			if len(steps) < 5 || !slices.Equal(steps, stepsAgain) {
				t.Errorf("the same seed plays\n%s\nand then\n%s", strings.Join(steps, "\n"), strings.Join(stepsAgain, "\n"))
			}
			for _, body := range bodies {
				if slices.Contains(bodiesAgain, body) {
					t.Errorf("both runs sent %s", body)
				}
			}
		})
	}
}

// playAll plays the scenarios and sequences of a target and reports findings as test errors. steps
// holds the name and description of each scenario, and bodies the request bodies that contain a
// thread id.
func playAll(t *testing.T, target suites.Target) (steps, bodies []string) {
	t.Helper()
	parts, err := suites.Run(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		steps = append(steps, p.Scenario.Name+": "+p.Scenario.Doc)
		for _, x := range p.Trace.Exchanges {
			if target.Dialect.ParseRequest(x.Request).Thread != "" && len(x.Request.Body) > 0 {
				bodies = append(bodies, string(x.Request.Body))
			}
		}
		for _, r := range p.Evaluation.Results {
			if r.Verdict > spec.Passed {
				t.Errorf("%s: %s %v\n%s", p.Scenario.Name, r.PlannedCheck.Check.ID, r.Verdict, findings(r))
			}
		}
	}
	return steps, bodies
}

// TestSaltAgain checks that the same seed and salt lead to the same request bodies, and that
// another salt leads to other bodies.
func TestSaltAgain(t *testing.T) {
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(salt uint64) (all []string) {
		_, played := wander(t, upright(t, d), d, func(target *suites.Target) {
			target.Sequences, target.Salt, target.LackedCapabilities = 2, salt, []string{"client-tool", "interrupt"}
		})
		for _, p := range played {
			for _, x := range p.Trace.Exchanges {
				all = append(all, string(x.Request.Body))
			}
		}
		return all
	}
	first := ask(5)
	if again := ask(5); len(first) < 4 || !slices.Equal(first, again) {
		t.Errorf("seed and salt are the same, and what is sent is not:\n%s\n%s", strings.Join(first, "\n"), strings.Join(again, "\n"))
	}
	if other := ask(6); slices.Equal(first, other) {
		t.Error("another salt sends the same bytes")
	}
}

// TestMessageIDsDiffer checks that all messages that the client sends have different ids. A server
// may identify messages by their ids and take a second message with the same id for the first one.
func TestMessageIDsDiffer(t *testing.T) {
	d, err := dialect.Open("runs")
	if err != nil {
		t.Fatal(err)
	}
	_, played := wander(t, upright(t, d), d, func(target *suites.Target) { target.Sequences, target.LackedCapabilities = 6, []string{"refusals"} })
	run, sent := map[string]string{}, 0
	for _, p := range played {
		for _, x := range p.Trace.Exchanges {
			var body struct {
				RunID    string
				Messages []struct{ ID string }
			}
			if json.Unmarshal(x.Request.Body, &body) != nil {
				continue
			}
			for _, m := range body.Messages {
				if sent++; run[m.ID] != "" {
					t.Errorf("a message of run %s and one of run %s are both called %s", run[m.ID], body.RunID, m.ID)
				}
				run[m.ID] = body.RunID
			}
		}
	}
	if sent < 20 {
		t.Errorf("only %d messages", sent)
	}
}
