package mutation

import (
	"slices"
	"testing"

	"github.com/streamassay/streamassay/spec/dialect"
)

// TestGeneratedOutcome checks that a generated mutant is killed only by a finding about its own
// requirement, and that it is equivalent to the correct server if its defect never occurs.
func TestGeneratedOutcome(t *testing.T) {
	d, err := dialect.Open("agkit@0.0.10")
	if err != nil {
		t.Fatal(err)
	}
	all := generatedMutants([]*dialect.Dialect{d})
	named := func(name string) *Mutant {
		return all[slices.IndexFunc(all, func(m *Mutant) bool { return m.Name == name })]
	}
	ends, results := named("agkit.event.tool-call-end.missing"), named("agkit.event.tool-result.missing")
	for want, defect := range map[string]func(occurred func()) middleware{
		"killed":                    ends.defect,
		"killed for another reason": results.defect,
		"equivalent": func(func()) middleware {
			return func(next dialectHandler) dialectHandler { return next }
		},
	} {
		m := *ends
		m.defect = defect
		o, _, err := runSuite(t.Context(), d, &m, []string{"tool"})
		if err != nil || o.Description() != want {
			t.Errorf("the outcome is %q, %v; want %q", o.Description(), err, want)
		}
	}
}
