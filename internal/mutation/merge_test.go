package mutation_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/internal/mutation"
)

// TestMerge checks that the results of some mutants replace theirs in the table, that those of the
// others stay as they are, and that mutants that do not exist anymore are left out.
func TestMerge(t *testing.T) {
	dialects := allDialects(t)
	all := mutation.All(dialects)
	report := func(outcomes ...mutation.Outcome) *mutation.Report {
		return &mutation.Report{Dialects: dialects, Mutants: all, Outcomes: outcomes}
	}
	first, second, third := all[0].Name, all[1].Name, all[2].Name
	at, at2 := dialects[0].Name, dialects[1].Name
	old := report(
		mutation.Outcome{Mutant: first, Dialect: at, KilledBy: []string{"wire.ends", "wire.utf-8"}},
		mutation.Outcome{Mutant: first, Dialect: at2, KilledBy: []string{"wire.utf-8"}},
		mutation.Outcome{Mutant: second, Dialect: at, KilledBy: []string{"wire.ends"}},
		mutation.Outcome{Mutant: third, Dialect: at, IsEquivalent: true},
	)
	document := bytes.ReplaceAll(old.Markdown(), []byte("* "+third+" in "), []byte("* gone in x: \n* "+third+" in "))
	r := report(mutation.Outcome{Mutant: second, Dialect: at, KilledBy: []string{"wire.flushes"}})
	if err := r.Merge(document); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range r.Outcomes {
		got = append(got, o.Mutant+" "+o.Dialect+" "+o.Description()+" "+strings.Join(o.KilledBy, "+"))
	}
	want := []string{
		first + " " + at + " killed wire.ends+wire.utf-8", first + " " + at2 + " killed wire.utf-8",
		second + " " + at + " killed wire.flushes", third + " " + at + " equivalent ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	survived := report(mutation.Outcome{Mutant: first, Dialect: at})
	if err := report(r.Outcomes[2]).Merge(survived.Markdown()); err == nil {
		t.Error("the result of a mutant that survived is merged, although the document does not say enough about it")
	}
}
