// Package mutation proves that the checks can fail. A mutant is a correct server with one defect that
// violates one clause of a protocol document. The suite runs against it, and its results are
// compared with what the clause requires: the requirement must fail by a check that serves it, at
// the expected place, and nothing else may fail.
package mutation_test

import (
	"path"
	"regexp"
	"slices"
	"testing"

	"github.com/streamassay/streamassay/internal/mutation"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// TestAll checks that each mutant has a valid definition, violates requirements of a catalogue and
// applies to at least one dialect.
func TestAll(t *testing.T) {
	dialects, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	var laws []string
	for _, d := range dialects {
		for _, r := range d.Requirements {
			laws = append(laws, r.ID)
		}
	}
	names := map[string]bool{mutation.Canary.Name: true}
	for _, m := range mutation.All {
		if names[m.Name] || !kebab.MatchString(m.Name) {
			t.Errorf("%q is no name, or there are two", m.Name)
		}
		names[m.Name] = true
		for _, err := range m.Validate() {
			t.Errorf("%s: %v", m.Name, err)
		}
		for _, id := range m.Violates {
			if !slices.ContainsFunc(laws, func(law string) bool { ok, _ := path.Match(id, law); return ok }) {
				t.Errorf("%s breaks %s, which no catalogue has", m.Name, id)
			}
		}
		if !slices.ContainsFunc(dialects, m.AppliesTo) {
			t.Errorf("%s is played in no dialect: nothing that it breaks is judged", m.Name)
		}
		for _, d := range dialects {
			if m.AppliesTo(d) && !expects(m, d) {
				t.Errorf("%s is played in %s, and none of the checks that are to kill it serves what it breaks there", m.Name, d.Name)
			}
		}
	}
}

// expects reports whether one of the checks in m.KilledBy serves a requirement of dialect d that
// the mutant m violates.
func expects(m *mutation.Mutant, d *dialect.Dialect) bool {
	return slices.ContainsFunc(m.Requirements(d), func(r spec.Requirement) bool {
		return slices.ContainsFunc(r.Checks, func(id string) bool { return m.KilledBy[id] != "" })
	})
}

// TestEveryCheckHasMutants checks that each check is expected to kill at least two mutants.
func TestEveryCheckHasMutants(t *testing.T) {
	for _, c := range rules.About(spec.Server) {
		n := 0
		for _, m := range mutation.All {
			if m.KilledBy[c.ID] != "" {
				n++
			}
		}
		if n < 2 {
			t.Errorf("%s is to kill %d mutants; two at least are wanted", c.ID, n)
		}
	}
}

// TestEnough checks that there are at least 150 mutants.
func TestEnough(t *testing.T) {
	if len(mutation.All) < 150 {
		t.Errorf("there are %d mutants, and 150 are wanted", len(mutation.All))
	}
}
