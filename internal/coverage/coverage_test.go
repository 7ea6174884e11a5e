package coverage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/streamassay/streamassay/spec/dialect"
)

func loaded(t *testing.T) ([]DocumentMap, []*dialect.Dialect) {
	t.Helper()
	documents, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	dialects, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	return documents, dialects
}

// TestEveryCitationIsMapped checks that every cited document has a map, and that clauses name the
// requirements that cite their lines.
func TestEveryCitationIsMapped(t *testing.T) {
	documents, dialects := loaded(t)
	mapped := map[string]bool{}
	for _, d := range documents {
		mapped[d.File] = true
	}
	cites := 0
	for _, d := range dialects {
		for _, r := range d.Requirements {
			for _, c := range citationsIn(r.Source) {
				cites++
				if !mapped[c.file] {
					t.Errorf("%s: %s cites %s, which has no map", d.Name, r.ID, c.file)
				}
			}
		}
	}
	for _, complaint := range Unmapped(documents, dialects) {
		t.Error(complaint)
	}
	if len(documents) != 6 || cites < 500 {
		t.Errorf("%d documents, %d citations: what was looked at?", len(documents), cites)
	}
}

// TestRequirementsCiteTheirDocument checks that the requirements of a clause cite the document of
// the clause.
func TestRequirementsCiteTheirDocument(t *testing.T) {
	documents, dialects := loaded(t)
	sources := map[string]string{}
	for _, d := range dialects {
		for _, r := range requirementsOf(d) {
			sources[r.ID] += r.Source + "\n"
		}
	}
	for _, d := range documents {
		for _, c := range d.Clauses {
			for _, id := range c.Requirements {
				if !strings.Contains(sources[id], d.File) {
					t.Errorf("%s:%s names %s, whose source is %s", d.File, c.Lines, id, sources[id])
				}
			}
		}
	}
}

// seeds returns the lines of the protocol document d. The protocol documents are not part of the
// repository. If they are missing, seeds skips the test.
func seeds(t *testing.T, d DocumentMap) []string {
	t.Helper()
	dir := os.Getenv("SEEDS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "seeds")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("DID NOT RUN: the protocol documents are not at hand; name their folder in $SEEDS")
	}
	if filepath.Ext(d.File) == ".md" { // a fact sheet about a protocol
		dir = filepath.Join(dir, "..", "protocols")
	}
	data, err := os.ReadFile(filepath.Join(dir, d.File))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(data), "\n"), "\n")
}

// TestEveryLineIsMapped checks that every line that is not blank belongs to a clause, and that no
// clause extends beyond the last line.
func TestEveryLineIsMapped(t *testing.T) {
	documents, _ := loaded(t)
	for _, d := range documents {
		lines := seeds(t, d)
		for i, line := range lines {
			at := LineRange{i + 1, i + 1}
			if !blank(line) && !slices.ContainsFunc(d.Clauses, func(c Clause) bool { return c.Lines.Overlaps(at) }) {
				t.Errorf("%s:%s stands in no clause: %s", d.File, at, line)
			}
		}
		if last := d.Clauses[len(d.Clauses)-1].Lines; last.To > len(lines) {
			t.Errorf("%s has %d lines, and no %s", d.File, len(lines), last)
		}
	}
}

// TestObligingWordsAreNotOverlooked checks that an informative clause lists the normative words
// that its lines contain.
func TestObligingWordsAreNotOverlooked(t *testing.T) {
	documents, _ := loaded(t)
	for _, d := range documents {
		lines := seeds(t, d)
		for _, c := range d.Clauses {
			for _, complaint := range c.unmentionedWords(lines) {
				t.Errorf("%s:%s %s", d.File, c.Lines, complaint)
			}
		}
	}
}

// TestLoadComplains checks that invalid maps are rejected with an error that locates the defect.
func TestLoadComplains(t *testing.T) {
	const head = "document: 000_a.txt\nclauses:\n"
	dialects, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	id := dialects[0].Requirements[0].ID
	for _, c := range []struct{ name, text, complaint string }{
		{"whole", head + "- {lines: 1-3, informative: a title}\n- {lines: 4, says: x, requirements: [" + id + "]}\n", ""},
		{"sheet", strings.Replace(head, "000_a.txt", "000.md", 1) + "- {lines: 1, informative: a}\n", ""},
		{"another's name", strings.Replace(head, "000", "001", 1) + "- {lines: 1, informative: a}\n", `document is "001_a.txt"`},
		{"unknown key", head + "- {line: 1, informative: a}\n", "line"},
		{"no lines", head + "- {informative: a}\n", "clause 1, after lines 0, has no lines"},
		{"no number", head + "- {lines: one, informative: a}\n", `invalid lines "one" (e.g. 12, 12-15)`},
		{"backwards", head + "- {lines: 3-1, informative: a}\n", `invalid lines "3-1"`},
		{"disorder", head + "- {lines: 4, informative: a}\n- {lines: 2, informative: a}\n", "lines 2 follow lines 4"},
		{"overlap", head + "- {lines: 1-4, informative: a}\n- {lines: 4-5, informative: a}\n", "lines 4-5 follow lines 1-4"},
		{"neither", head + "- {lines: 1}\n", "lines 1: want either requirements or informative"},
		{"both", head + "- {lines: 1, informative: a, says: x, requirements: [" + id + "]}\n", "lines 1: want either requirements or informative"},
		{"nothing said", head + "- {lines: 1, requirements: [" + id + "]}\n", "lines 1: says is required with requirements"},
		{"although", head + "- {lines: 1, says: x, although: must, requirements: [" + id + "]}\n", "although is allowed only with informative"},
		{"unknown requirement", head + "- {lines: 1, says: x, requirements: [no.such.thing]}\n", `requirement "no.such.thing" is in no catalogue`},
		{"twice", head + "- {lines: 1, says: x, requirements: [" + id + ", " + id + "]}\n", "twice"},
		{"nothing", "document: 000_a.txt\n", "000_a.txt has no clauses"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(fstest.MapFS{"maps/000.yaml": {Data: []byte(c.text)}}, dialects)
			if (err == nil) != (c.complaint == "") || err != nil && !strings.Contains(err.Error(), c.complaint) {
				t.Errorf("%v, not %q", err, c.complaint)
			}
		})
	}
}
