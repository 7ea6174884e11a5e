package suites_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/streamassay/streamassay/reports"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/suites"
)

// greets returns a check with the given id that judges the start of each response: its status must
// be 200.
func greets(id string) *spec.Check {
	return &spec.Check{ID: id, Doc: "responses have status 200", Watch: func(p *spec.Pass) func(spec.Event) {
		return func(e spec.Event) {
			if e.Kind == spec.HTTPResponse {
				p.Judge(e, e.StatusCode == 200, "status %d, want 200", e.StatusCode)
			}
		}
	}}
}

// TestOwnInvalid checks that [suites.Run] refuses scenarios and checks of the user that are
// incomplete or clash with others, and names the field.
func TestOwnInvalid(t *testing.T) {
	srv, valid := startServer()
	defer srv.Close()
	run := func(*suites.Conversation) {}
	clients := greets("own.clients")
	clients.Of = spec.Client
	for name, test := range map[string]struct {
		field     string
		scenarios []suites.Scenario
		checks    []spec.PlannedCheck
	}{
		"no name":            {"Scenarios", []suites.Scenario{{Run: run}}, nil},
		"no function":        {"Scenarios", []suites.Scenario{{Name: "mine"}}, nil},
		"a known scenario":   {"Scenarios", []suites.Scenario{{Name: "text", Run: run}}, nil},
		"a sequence":         {"Scenarios", []suites.Scenario{{Name: "sequence-1", Run: run}}, nil},
		"a combination":      {"Scenarios", []suites.Scenario{{Name: "combination-1", Run: run}}, nil},
		"a scenario twice":   {"Scenarios", []suites.Scenario{{Name: "mine", Run: run}, {Name: "mine", Run: run}}, nil},
		"no check":           {"Checks", nil, []spec.PlannedCheck{{}}},
		"no Watch":           {"Checks", nil, []spec.PlannedCheck{{Check: &spec.Check{ID: "own.a", Doc: "a"}}}},
		"a check of clients": {"Checks", nil, []spec.PlannedCheck{{Check: clients}}},
		"a known check":      {"Checks", nil, []spec.PlannedCheck{{Check: greets("run.ends")}}},
		"a check twice":      {"Checks", nil, []spec.PlannedCheck{{Check: greets("own.a")}, {Check: greets("own.a")}}},
		"no level":           {"Checks", nil, []spec.PlannedCheck{{Check: greets("own.a"), Requirements: []spec.Requirement{{ID: "own.x"}}}}},
	} {
		target := valid
		target.Scenarios, target.Checks = test.scenarios, test.checks
		_, err := suites.Run(t.Context(), target, nil)
		if invalid, ok := errors.AsType[*suites.FieldError](err); !ok || invalid.Field != test.field {
			t.Errorf("%s: got %v, want an error about %s", name, err, test.field)
		}
	}
}

// TestOwnChecks checks that a check without requirements is one of level MUST, that a check about
// events which the dialect lacks is left out, and that a scenario which a target claims must
// exercise the checks that it expects.
func TestOwnChecks(t *testing.T) {
	srv, target := startServer()
	defer srv.Close()
	foreign := greets("own.foreign")
	foreign.Needs = []spec.Kind{spec.History}
	idle := &spec.Check{ID: "own.idle", Doc: "never judges", Watch: func(*spec.Pass) func(spec.Event) { return func(spec.Event) {} }}
	target.Checks = []spec.PlannedCheck{{Check: greets("own.greets")}, {Check: foreign}, {Check: idle}}
	target.Scenarios = []suites.Scenario{
		{Name: "mine", Doc: "my own", ExpectedChecks: []string{"own.greets", "own.idle"}, Run: func(c *suites.Conversation) {
			c.Send(spec.Request{Method: "GET", Target: "/nothing-is-here"})
			c.SendAndRead("prompt", c.PromptEvent("text", "one"))
		}},
		{Name: "lacked", Doc: "what the server lacks", ExpectedChecks: []string{"own.greets"}, Run: func(*suites.Conversation) { t.Error("the scenario was played") }},
		{Name: "elsewhere", Doc: "not in this dialect", Kinds: []spec.Kind{spec.History}, Run: func(*suites.Conversation) { t.Error("the scenario was played") }},
	}
	target.Only, target.ClaimedCapabilities, target.LackedCapabilities = []string{"own.*", "mine", "lacked"}, []string{"mine"}, []string{"lacked"}
	parts, err := suites.Run(t.Context(), target, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(parts, func(p suites.ScenarioResult) bool { return p.Scenario.Name == "mine" })
	if i < 0 || i+1 >= len(parts) || parts[i+1].Scenario.Name != "lacked" {
		t.Fatalf("got %d results, want those of my scenarios in their order", len(parts))
	}
	for _, p := range parts[i+2:] {
		if !suites.IsCombination(p.Scenario.Name) {
			t.Errorf("scenario %s follows mine, want only combinations", p.Scenario.Name)
		}
	}
	for _, want := range []struct {
		requirement    string
		mine, withheld spec.Verdict
	}{{"own.greets", spec.Failed, spec.Skipped}, {"own.idle", spec.Failed, spec.Silent}, {"own.foreign", -1, -1}} {
		for part, verdict := range map[int]spec.Verdict{i: want.mine, i + 1: want.withheld} {
			results := reports.RequirementResults(nil, parts[part].Evaluation.Results)
			k := slices.IndexFunc(results, func(r reports.RequirementResult) bool { return r.ID == want.requirement })
			switch {
			case k < 0 && verdict == -1:
			case k < 0 || results[k].Verdict != verdict || results[k].Level != spec.Must:
				t.Errorf("%s: %s: %+v, want %v", parts[part].Scenario.Name, want.requirement, results, verdict)
			case results[k].Quote == "" || !slices.Equal(results[k].Checks, []string{want.requirement}):
				t.Errorf("%s: %+v, want the title and the id of the check", want.requirement, results[k])
			}
		}
	}
}
