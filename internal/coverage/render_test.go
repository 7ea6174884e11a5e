package coverage

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

var update = flag.Bool("update", false, "write docs/coverage.md")

// TestDocument checks that docs/coverage.md is up to date.
func TestDocument(t *testing.T) {
	path, got := filepath.Join("..", "..", "docs", "coverage.md"), string(Render(loaded(t)))
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || got != string(want) {
		t.Errorf("%s is not up to date (%v): run make docs", path, err)
	}
}

// TestRender checks that the rendered document shows how each clause is judged, and counts what is
// unmapped.
func TestRender(t *testing.T) {
	judged := func(id string) spec.Requirement {
		return spec.Requirement{ID: id, Source: "000_a.txt:2", Checks: []string{"x.y", "x.z"}}
	}
	not := func(id, kind string) spec.Requirement {
		return spec.Requirement{ID: id, Source: "000_a.txt:3; other: 000_a.txt:9", Excluded: &spec.Exclusion{Kind: kind}}
	}
	dialects := []*dialect.Dialect{
		{Name: "f@1", Family: "f", Version: "1", Requirements: []spec.Requirement{judged("f.a"), not("f.b", "client"), judged("f.lost"), {ID: "f.free", Source: "observed: x", Checks: []string{"x.v"}}}},
		{Name: "f@2", Family: "f", Version: "2", Requirements: []spec.Requirement{not("f.a", "capability"), not("f.b", "client")}},
	}
	documents := []DocumentMap{{File: "000_a.txt", Clauses: []Clause{
		{Lines: LineRange{1, 1}, Informative: "a <title>", NormativeWord: "must"},
		{Lines: LineRange{2, 3}, Summary: "a|b", Requirements: []string{"f.a", "f.b"}},
		{Lines: LineRange{4, 4}, Summary: "c", Requirements: []string{"f.b"}},
	}}}
	text := string(Render(documents, dialects))
	first, _, _ := strings.Cut(text, "\n")
	if want := "# Coverage: 1 documents, 3 clauses, 1 judged, 1 excluded (capability 0, unobservable 0, contradiction 0, client 1), 1 informative, 1 unmapped"; first != want {
		t.Errorf("%s, not %s", first, want)
	}
	for _, row := range []string{
		"| 1 | Informative (although: must): a &lt;title> |  |",
		"| 2-3 | a\\|b | `f.a`: x.y, x.z (1)<br>`f.a`: not judged, capability (2)<br>`f.b`: not judged, client |",
		"| 4 | c | `f.b`: not judged, client |",
		"| f@1 | 4 | 3 | 0 | 0 | 0 | 1 |",
		"| f@2 | 2 | 0 | 1 | 0 | 0 | 1 |",
		"2 requirements are not stated by any document: they were observed of released servers, or follow from other requirements.",
		"| `f.lost` | 000_a.txt:2 | x.y, x.z |",
		"| `f.free` | observed: x | x.v |",
	} {
		if !strings.Contains(text, row+"\n") {
			t.Errorf("there is no row %s in\n%s", row, text)
		}
	}
}

// TestUnmapped checks that a requirement is unmapped if no clause names it at one of the lines that
// the requirement cites.
func TestUnmapped(t *testing.T) {
	documents := []DocumentMap{{File: "000_a.txt", Clauses: []Clause{
		{Lines: LineRange{1, 3}, Summary: "x", Requirements: []string{"f.a"}},
		{Lines: LineRange{4, 4}, Summary: "x", Requirements: []string{"f.b"}},
	}}}
	for source, want := range map[string]string{
		"000_a.txt:2":                     "",
		"000_a.txt:1,3-4":                 "",
		"000_a.txt:4":                     "f@1: f.a cites 000_a.txt:4, where no clause names it",
		"000_a.txt:2,7-8":                 "f@1: f.a cites 000_a.txt:7-8, where no clause names it",
		"001_b.txt:4; 000_a.txt:5":        "f@1: f.a cites 000_a.txt:5, where no clause names it",
		"001_b.txt:4":                     "",
		"derived: as it is (000_a.txt:4)": "",
		"observed: 000_a.txt:4":           "",
	} {
		d := &dialect.Dialect{Name: "f@1", Requirements: []spec.Requirement{{ID: "f.a", Source: source}, {ID: "f.c", Source: "observed: x"}}}
		if got := strings.Join(Unmapped(documents, []*dialect.Dialect{d}), "; "); got != want {
			t.Errorf("%s: %q, not %q", source, got, want)
		}
	}
	d := &dialect.Dialect{Name: "f@1", Requirements: []spec.Requirement{{ID: "f.c", Source: "derived: as it is (000_a.txt:4)"}}}
	if got := strings.Join(Unmapped(documents, []*dialect.Dialect{d}), "; "); got != "f@1: f.c points to 000_a.txt, where no clause names it" {
		t.Errorf("who only points to a document is %q", got)
	}
}
