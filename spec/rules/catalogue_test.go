package rules_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// Every obligation is judged or says why it is not; every check that it names
// exists and can be broken in its dialect; every constraint of the document with a
// requirement of its own stands in the catalogue.
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
				complain("stands there twice")
			}
			if r.Quote == "" || r.Source == "" || !slices.Contains([]spec.Level{spec.Must, spec.Should, spec.May}, r.Level) {
				complain("has no quote, source or level")
			}
			if (len(r.Checks) == 0) == (r.Excluded == nil) {
				complain("is neither judged nor excluded, or both")
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
						complain("names " + id + ", but the dialect has no word for " + string(k))
					}
				}
			}
		}
		refused, shaped := d.RequirementIDs()
		for _, id := range slices.Concat(refused, shaped) {
			if !slices.ContainsFunc(known[id].Checks, func(c string) bool { return slices.Contains(byDocument, c) }) {
				t.Errorf("%s: the document names the requirement %q, the catalogue does not, or has no check judge it by the document", d.Name, id)
			}
		}
	}
}

// Every check is well described, has an id of its own, and some dialect needs it.
func TestChecks(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	grammar := regexp.MustCompile(`^[a-z]+(\.[a-z0-9]+(-[a-z0-9]+)*)$`)
	for _, c := range rules.All {
		if seen[c.ID] || !grammar.MatchString(c.ID) || c.Title() == "" || c.Watch == nil {
			t.Errorf("%s is there twice, is no area.kebab-slug, or says nothing", c.ID)
		}
		seen[c.ID] = true
		named := false
		for _, d := range all {
			for _, r := range d.Requirements {
				named = named || slices.Contains(r.Checks, c.ID)
			}
		}
		if !named {
			t.Errorf("no catalogue names %s", c.ID)
		}
	}
}
