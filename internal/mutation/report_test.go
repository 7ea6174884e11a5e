package mutation_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/mutation"
	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// outcomes returns a report with two outcomes. Their mutants are called one and two, and their
// dialects a@1 and b@1.
func outcomes(first, second mutation.Outcome) *mutation.Report {
	first.Mutant, second.Mutant = "one", "two"
	first.Dialect, second.Dialect = "a@1", "b@1"
	mutants := []*mutation.Mutant{{Name: "one", Doc: "one is wrong"}, {Name: "two", Doc: "two are wrong"}}
	return &mutation.Report{Mutants: mutants, Outcomes: []mutation.Outcome{first, second}}
}

// TestHeadline checks that ParseSummary returns the numbers of survivors and over-kills that
// Markdown has written, and that IsWorse compares these numbers.
func TestHeadline(t *testing.T) {
	killed := mutation.Outcome{KilledBy: []string{"wire.opens-stream"}}
	over := mutation.Outcome{KilledBy: []string{"wire.utf-8"}, OverKills: []string{"run.ends"}}
	for name, c := range map[string]struct {
		r               *mutation.Report
		survivors, over int
	}{
		"all well":    {outcomes(killed, killed), 0, 0},
		"a survivor":  {outcomes(killed, mutation.Outcome{}), 1, 0},
		"too much":    {outcomes(killed, over), 0, 1},
		"both at all": {outcomes(mutation.Outcome{}, over), 1, 1},
	} {
		survivors, over, err := mutation.ParseSummary(c.r.Markdown())
		if err != nil || survivors != c.survivors || over != c.over {
			t.Errorf("%s: it states %d survivors and %d over-kills, %v; want %d and %d", name, survivors, over, err, c.survivors, c.over)
		}
		if c.r.IsWorse(c.survivors, c.over) {
			t.Errorf("%s: IsWorse with its own numbers = true, want false", name)
		}
		if c.survivors+c.over > 0 && !c.r.IsWorse(0, 0) {
			t.Errorf("%s: IsWorse(0, 0) = false, want true", name)
		}
	}
	if _, _, err := mutation.ParseSummary([]byte("# Mutants\n")); err == nil {
		t.Error("a document without numbers states some")
	}
}

// TestDocument checks that the document lists the survivors, the over-kills, the mutants that each
// check killed, and the defect of each mutant.
func TestDocument(t *testing.T) {
	text := string(outcomes(mutation.Outcome{}, mutation.Outcome{KilledBy: []string{"wire.utf-8"}, OverKills: []string{"run.ends"}}).Markdown())
	for _, want := range []string{
		"* one in a@1: survived\n",
		"* two in b@1: run.ends\n",
		"\nwire.utf-8\n\n* two: b@1\n",
		"| wire.utf-8 | 1 |",
		"| one | one is wrong |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the document does not say %q:\n%s", want, text[:min(len(text), 2000)])
		}
	}
}

// TestDocumentIsCurrent checks that the committed document docs/mutants.md covers the current mutants
// and checks. It does not run the mutants, which "make mutants" does.
func TestDocumentIsCurrent(t *testing.T) {
	text, err := os.ReadFile("../../docs/mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	dialects := allDialects(t)
	all := mutation.All(dialects)
	first, _, _ := strings.Cut(string(text), "\n")
	var killed, mutants, survivors, over, proven, checks int
	const head = "%d of %d mutants killed, for the reason expected; %d survivors, %d over-kills; %d of %d checks proven able to fail"
	if _, err := fmt.Sscanf(first, head, &killed, &mutants, &survivors, &over, &proven, &checks); err != nil {
		t.Fatalf("it begins with %q: %v", first, err)
	}
	if survivors > 0 || over > 0 || proven < checks {
		t.Errorf("a mutant survives, turns something else red, or a check has none: %s", first)
	}
	_, table, _ := strings.Cut(string(text), "\n## The mutants\n")
	rows := map[string]bool{}
	for _, row := range strings.Split(table, "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(row, "| "), " | "); ok && strings.HasPrefix(row, "| ") {
			rows[name] = true
		}
	}
	delete(rows, "mutant") // the head of the table
	var notRun []string
	for _, m := range all {
		if !rows[m.Name] {
			notRun = append(notRun, m.Name)
		}
		delete(rows, m.Name)
	}
	if len(rows) > 0 || len(notRun) > 0 {
		t.Errorf("docs/mutants.md lacks %q, and has %q, which do not exist: run streamassay mutants --only NAME --write docs",
			notRun, slices.Sorted(maps.Keys(rows)))
	}
	for _, c := range rules.About(spec.Server) {
		if !strings.Contains(string(text), "\n| "+c.ID+" |") {
			t.Errorf("%s is not in the matrix: run streamassay mutants --write docs", c.ID)
		}
	}
}
