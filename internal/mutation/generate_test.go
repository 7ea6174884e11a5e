package mutation

import (
	"slices"
	"testing"

	"github.com/streamassay/streamassay/spec"
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

// TestRefusalOutcome checks that a generated mutant of a refusal is killed if only the refusals
// scenario is played, and that all invalid requests in it are about the requirement of the mutant.
func TestRefusalOutcome(t *testing.T) {
	d, err := dialect.Open("agkit@0.0.10")
	if err != nil {
		t.Fatal(err)
	}
	all := generatedMutants([]*dialect.Dialect{d})
	m := all[slices.IndexFunc(all, func(m *Mutant) bool { return m.Name == "agkit.error.schema.status" })]
	o, parts, err := runSuite(t.Context(), d, m, []string{refusals})
	if err != nil || o.Description() != "killed" {
		t.Fatalf("the outcome is %q, %v; want killed", o.Description(), err)
	}
	for e := range d.Events(parts[0].Trace) {
		if e.Kind == spec.HTTPRequest && !e.Valid() && !m.concerns(e) {
			t.Errorf("%s %s violates the document, but not about %s", e.Facts().Method, e.Facts().Target, m.requirement)
		}
	}
}
