package mutation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// TestHiddenDefects measures how many of the defects that show only under a condition are found. It
// runs only if HIDDEN is set: the number of mutants for each dialect in HIDDEN_DIALECTS, with all
// combinations if DEEP is set.
func TestHiddenDefects(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("HIDDEN"))
	if err != nil {
		t.Skip("HIDDEN is not set")
	}
	for name := range strings.FieldsSeq(os.Getenv("HIDDEN_DIALECTS")) {
		d, err := dialect.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		base := findings(t, d, nil)
		rng := rand.New(rand.NewPCG(uint64(len(name)), 11))
		found, missed, unreached := 0, 0, 0
		for _, i := range rng.Perm(len(hidingConditions) * len(hiddenDefects))[:n] {
			when, defect := hidingConditions[i/len(hiddenDefects)], hiddenDefects[i%len(hiddenDefects)]
			m := &Mutant{Name: "hidden", Doc: "hidden", KilledBy: map[string]string{"*": "*"}, defect: hidden(when, defect)}
			if os.Getenv("DEEP") != "" {
				m.scenarios = []string{"combination-*"}
			}
			got := findings(t, d, m)
			isRight := func(id string) bool {
				return !slices.Contains(base, id) &&
					slices.ContainsFunc(defect.checks, func(g string) bool { ok, _ := path.Match(g, id); return ok })
			}
			verdict := "MISSED"
			switch {
			case slices.ContainsFunc(got, isRight):
				verdict = "found"
				found++
			case slices.Contains(got, "not reached"):
				verdict = "NOT REACHED"
				unreached++
			default:
				missed++
			}
			fmt.Println(d.Name, when.name, defect.name, verdict, got)
		}
		fmt.Printf("TOTAL %s found %d missed %d not reached %d\n", d.Name, found, missed, unreached)
	}
}

// findings returns the ids of the checks that have findings against a mutant.
func findings(t *testing.T, d *dialect.Dialect, m *Mutant) (all []string) {
	o, parts, err := runSuite(context.Background(), d, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		for _, r := range p.Evaluation.Results {
			if id := r.PlannedCheck.Check.ID; r.Verdict >= spec.Warned && len(r.Findings) > 0 && !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	if o.IsEquivalent {
		all = append(all, "not reached")
	}
	return all
}
