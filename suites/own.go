package suites

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// scenarios returns all scenarios for the target: first [Scenarios], then t.Scenarios.
func (t *Target) scenarios() []Scenario { return append(Scenarios(), t.Scenarios...) }

// ownPlannedChecks returns copies of the planned checks in t.Checks, except those whose check needs a
// kind of event that the dialect does not have. If a planned check has no requirements, the copy has
// one of level MUST, with the id and the title of the check. In the copies, the field Checks of
// each requirement contains the id of the check.
func (t *Target) ownPlannedChecks() (all []spec.PlannedCheck) {
	kinds := t.Dialect.Kinds()
	for _, o := range t.Checks {
		if slices.ContainsFunc(o.Check.Needs, func(k spec.Kind) bool { return !slices.Contains(kinds, k) }) {
			continue
		}
		o.Requirements = slices.Clone(o.Requirements)
		if len(o.Requirements) == 0 {
			o.Requirements = []spec.Requirement{
				{ID: o.Check.ID, Level: spec.Must, Quote: o.Check.Title(), Source: "derived: own check"},
			}
		}
		for i := range o.Requirements {
			if r := &o.Requirements[i]; !slices.Contains(r.Checks, o.Check.ID) {
				r.Checks = append(slices.Clone(r.Checks), o.Check.ID)
			}
		}
		all = append(all, o)
	}
	return all
}

// checkOwnScenarios returns an error if a scenario in t.Scenarios has no name or no Run function,
// or if its name is used by another scenario or reserved for sequences and combinations.
func (t *Target) checkOwnScenarios() error {
	known := scenarioNames(Scenarios())
	for _, s := range t.Scenarios {
		switch {
		case s.Name == "" || s.Run == nil:
			return fmt.Errorf("scenario %q needs a name and a function Run", s.Name)
		case slices.Contains(known, s.Name) || strings.HasPrefix(s.Name, "sequence-") || IsCombination(s.Name):
			return fmt.Errorf("the name of scenario %q is taken", s.Name)
		}
		known = append(known, s.Name)
	}
	return nil
}

// checkOwnChecks returns an error if a check in t.Checks has no ID, no Doc or no function Watch, if
// it judges clients, or if its ID is used by another check. It also returns an error if a
// requirement of a check has no ID or no valid Level.
func (t *Target) checkOwnChecks() error {
	known := map[string]bool{}
	for _, c := range rules.All {
		known[c.ID] = true
	}
	for _, o := range t.Checks {
		switch {
		case o.Check == nil || o.Check.ID == "" || o.Check.Doc == "" || o.Check.Watch == nil:
			return errors.New("a check needs an ID, a Doc and a function Watch")
		case o.Check.Of != spec.Server:
			return fmt.Errorf("check %s is about clients; a run judges servers", o.Check.ID)
		case known[o.Check.ID]:
			return fmt.Errorf("the id of check %s is taken", o.Check.ID)
		}
		known[o.Check.ID] = true
		for _, r := range o.Requirements {
			if r.ID == "" || !slices.Contains([]spec.Level{spec.Must, spec.Should, spec.May}, r.Level) {
				return fmt.Errorf("a requirement of check %s needs an ID and a Level (MUST, SHOULD or MAY)", o.Check.ID)
			}
		}
	}
	return nil
}
