package rules_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestDialectsAreValid checks that every embedded document and catalogue passes the validation of
// dialects that are read from files.
func TestDialectsAreValid(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		if err := d.Validate(rules.All); err != nil {
			t.Errorf("%s: %v", d.Name, err)
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
		if (c.Of == spec.Client) != strings.HasPrefix(c.ID, "client.") {
			t.Errorf("%s is about the party %q; expected client exactly in the area client", c.ID, c.Of)
		}
		seen[c.ID] = true
		named := false
		for _, d := range all {
			for _, r := range d.Catalogue() {
				named = named || slices.Contains(r.Checks, c.ID)
			}
		}
		if !named {
			t.Errorf("%s: expected a requirement with this check", c.ID)
		}
	}
}
