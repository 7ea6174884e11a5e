package rules_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// TestCatalogues checks three properties of the catalogues. Every requirement has either checks or
// a reason why it has none. Its checks exist and apply to its dialect. Every requirement that a
// document names is in the catalogue.
func TestCatalogues(t *testing.T) {
	byDocument := []string{"wire.matches-schema", "refuse.as-documented", "accept.as-documented", "reply.as-promised", "wire.opens-stream", "auth.needs-credentials", "auth.owner-only", "limit.refuses-streams"}
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		known := map[string]spec.Requirement{}
		for _, r := range d.Requirements {
			complain := func(what string) { t.Errorf("%s: %s %s", d.Name, r.ID, what) }
			if known[r.ID].ID != "" {
				complain("is listed twice")
			}
			if r.Quote == "" || r.Source == "" || !slices.Contains([]spec.Level{spec.Must, spec.Should, spec.May}, r.Level) {
				complain("has no quote, source or level")
			}
			if (len(r.Checks) == 0) == (r.Excluded == nil) {
				complain("has both or neither of checks and a reason for their absence")
			}
			if r.Excluded != nil && (r.Excluded.Reason == "" || !slices.Contains([]string{"capability", "unobservable", "contradiction", "client"}, r.Excluded.Kind)) {
				complain("is excluded without a kind and a reason")
			}
			known[r.ID] = r
			for _, id := range r.Checks {
				c, ok := rules.ByID(id)
				if !ok {
					complain("names the check " + id + ", which does not exist")
					continue
				}
				for _, k := range c.Needs {
					if !slices.Contains(d.Kinds(), k) {
						complain("names " + id + ", but the dialect cannot express " + string(k))
					}
				}
			}
		}
		refused, shaped := d.RequirementIDs()
		for _, id := range slices.Concat(refused, shaped) {
			if !slices.ContainsFunc(known[id].Checks, func(c string) bool { return slices.Contains(byDocument, c) }) {
				t.Errorf("%s: the document names the requirement %q; expected it in the catalogue with a check that reads the document", d.Name, id)
			}
		}
	}
}

// TestChecks checks that every check has a unique id, a title and a requirement.
func TestChecks(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	grammar := regexp.MustCompile(`^[a-z]+(\.[a-z0-9]+(-[a-z0-9]+)*)$`)
	for _, c := range rules.All {
		if seen[c.ID] || !grammar.MatchString(c.ID) || c.Title() == "" || c.Watch == nil {
			t.Errorf("%s: expected a unique id of the form area.kebab-slug, a title and a Watch function", c.ID)
		}
		seen[c.ID] = true
		named := false
		for _, d := range all {
			for _, r := range d.Requirements {
				named = named || slices.Contains(r.Checks, c.ID)
			}
		}
		if !named {
			t.Errorf("%s: expected a requirement with this check", c.ID)
		}
	}
}
