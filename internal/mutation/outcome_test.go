package mutation_test

import (
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/mutation"
	"github.com/streamassay/streamassay/spec/dialect"
)

// testMutant runs the suite against mutant m in the dialect agkit@0.0.10 and returns the outcome.
func testMutant(t *testing.T, m *mutation.Mutant) mutation.Outcome {
	t.Helper()
	d, err := dialect.Open("agkit@0.0.10")
	if err != nil {
		t.Fatal(err)
	}
	o, err := mutation.RunOne(t.Context(), d, m)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// sentinel returns a valid mutant for the tests to modify: a server that sends the sentinel twice.
func sentinel() *mutation.Mutant {
	return &mutation.Mutant{
		Name: "sentinel", Doc: "sends the sentinel twice", Fault: "sentinel-twice",
		KilledBy: map[string]string{"done.is-last": "done"},
	}
}

// TestTry checks that the description of an outcome depends on which checks and findings were
// expected, and not only on whether any check failed.
func TestTry(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *mutation.Mutant)
		fate   string
	}{
		"for the reason expected": {func(*mutation.Mutant) {}, "killed"},
		"another place":           {func(m *mutation.Mutant) { m.KilledBy["done.is-last"] = "run.end" }, "killed for another reason"},
		"another check":           {func(m *mutation.Mutant) { m.KilledBy = map[string]string{"wire.utf-8": "*"} }, "killed for another reason"},
		"no fault at all":         {func(m *mutation.Mutant) { m.Fault = "split; bytes=5000" }, "survived"},
		"more than expected":      {func(m *mutation.Mutant) { m.Fault = "sentinel-twice, duplicated" }, "over-killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := sentinel()
			c.change(m)
			if o := testMutant(t, m); o.Description() != c.fate {
				t.Errorf("it %s, and %s was expected: red are %v", o.Description(), c.fate, o.FailedChecks)
			}
		})
	}
}

// TestNonsense checks that RunOne fails for a mutant with an unknown fault, and that Validate
// returns an error for each kind of invalid definition.
func TestNonsense(t *testing.T) {
	m := sentinel()
	m.Fault = "no-such-fault"
	d, err := dialect.Open("agkit")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mutation.RunOne(t.Context(), d, m); err == nil || !strings.Contains(err.Error(), "no-such-fault") {
		t.Errorf("the error is %v", err)
	}
	for name, m := range map[string]*mutation.Mutant{
		"two ways":     {Name: "x", Doc: "x", KilledBy: map[string]string{"done.is-last": "x"}, Fault: "split", Script: "rules: []"},
		"no way":       {Name: "x", Doc: "x", KilledBy: map[string]string{"done.is-last": "x"}},
		"no check":     {Name: "x", Doc: "x", KilledBy: map[string]string{"done.is-lost": "x"}, Fault: "split"},
		"no pattern":   {Name: "x", Doc: "x", KilledBy: map[string]string{"done.is-last": "["}, Fault: "split"},
		"no place":     {Name: "x", Doc: "x", KilledBy: map[string]string{"done.is-last": ""}, Fault: "split"},
		"nothing said": {Name: "x", Fault: "split"},
	} {
		if len(m.Validate()) == 0 {
			t.Errorf("%s: nothing is said to be wrong", name)
		}
	}
}
