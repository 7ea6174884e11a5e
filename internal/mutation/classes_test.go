package mutation

import (
	"slices"
	"testing"

	"github.com/streamassay/streamassay/spec/dialect"
)

// TestDefectClasses checks that each class of defects has mutants in each dialect, or a reason why
// others have none, and that each of its globs names a mutant.
func TestDefectClasses(t *testing.T) {
	var dialects []*dialect.Dialect
	for _, name := range dialect.Names() {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		dialects = append(dialects, d)
	}
	mutants := All(dialects)
	for _, c := range defectClasses {
		for _, glob := range c.mutants {
			if !slices.ContainsFunc(mutants, func(m *Mutant) bool { return matchesAny([]string{glob}, m.Name) }) {
				t.Errorf("%s: no mutant is called %s", c.name, glob)
			}
		}
		without := 0
		for _, d := range dialects {
			if c.applicableTo(d, mutants) > 0 {
				continue
			}
			if without++; c.otherwise == "" {
				t.Errorf("%s has no mutant in %s, and no reason says why", c.name, d.Name)
			}
		}
		if without == 0 && c.otherwise != "" {
			t.Errorf("%s has mutants in all dialects, although it says why there are none: %s", c.name, c.otherwise)
		}
	}
}
