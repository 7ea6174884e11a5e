package dialect

import (
	"strings"
	"testing"
)

// TestMutantsByName checks that the invalid requests derived from a request have unique names, that
// each can also be made by its name, and that there are some with two violations.
func TestMutantsByName(t *testing.T) {
	pairs := 0
	each(t, func(t *testing.T, d *Dialect) {
		for _, phrase := range []string{"prompt", "resume", "tool-result", "sign"} {
			r, err := d.BuildRequest(phrase, sampleSlots)
			if err != nil {
				continue // it does not have the template
			}
			names := map[string]bool{}
			for i, m := range d.InvalidRequests(r) {
				if names[m.Name] {
					t.Errorf("%s: there are two of %q", phrase, m.Name)
				}
				names[m.Name] = true
				want := 1
				if strings.Contains(m.Name, pairSeparator) {
					want, pairs = 2, pairs+1
				}
				if broken := d.ValidateRequest(m.Request); len(broken) != want || len(d.ValidateRequest(m.Valid)) > 0 {
					t.Errorf("%s: %s breaks %v, its twin %v", phrase, m.Name, broken, d.ValidateRequest(m.Valid))
				}
				if i%7 != 0 && want == 1 {
					continue // a sample is enough
				}
				again, ok := d.InvalidRequestByName(r, m.Name)
				if !ok || string(again.Request.Body) != string(m.Request.Body) || again.Request.Target != m.Request.Target {
					t.Errorf("%s: %q is another mutant by its name: %v %s", phrase, m.Name, ok, again.Request.Body)
				}
			}
		}
	})
	if pairs < 20 {
		t.Errorf("only %d break two constraints", pairs)
	}
}
