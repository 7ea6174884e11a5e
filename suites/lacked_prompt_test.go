package suites_test

import (
	"context"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/suites"
)

// lackablePrompts are the test prompts of all dialects without which a server can be tested.
var lackablePrompts = []string{
	"empty", "messages", "contents", "reasoning", "tool", "tools", "client-tool", "interrupt", "recall", "state", "steps",
	"large", "many", "idle", "error", "error-mid", "slow",
}

// TestLackedPrompts checks that a server whose agent follows only the prompt for text has no
// finding if its target lacks the others, whatever scenarios send them.
func TestLackedPrompts(t *testing.T) {
	for _, name := range dialect.Names() {
		if !dialect.IsDefault(name) { // the scenarios are the same
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := dialect.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			agent := func(ctx context.Context, turn reference.Turn) iter.Seq[spec.Event] {
				prompt, _ := turn.Prompt()
				words, _ := strings.CutPrefix(prompt, "conformance:")
				if name, _, _ := strings.Cut(words, " "); slices.Contains(lackablePrompts, name) {
					turn.Parts = append(turn.Parts, spec.Event{Kind: spec.InputUser, Text: "What is that?"})
					turn.Text = "What is that?"
				}
				return reference.Scripted(ctx, turn)
			}
			srv := httptest.NewServer(reference.New(d, agent, reference.Config{}))
			defer srv.Close()
			target := suites.Target{
				Dialect: d, Seed: 1, LackedCapabilities: lackablePrompts, ClaimedCapabilities: []string{"all"}, Skip: []string{"refusals"},
			}
			parts, _ := played(t, target, srv.URL)
			for _, p := range parts {
				for _, r := range p.Evaluation.Results {
					if r.Verdict > spec.Passed {
						t.Errorf("%s: %s is %v: %.300v", p.Scenario.Name, r.PlannedCheck.Check.ID, r.Verdict, r.Findings)
					}
				}
			}
		})
	}
}
