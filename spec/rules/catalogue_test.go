package rules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
	"github.com/streamassay/streamassay/spec/rules"
)

// Every obligation is judged or says why it is not; every check that it names
// exists and can be broken in its dialect; every constraint of the document with a
// requirement of its own stands in the catalogue.
func TestCatalogues(t *testing.T) {
	byDocument := []string{"wire.matches-schema", "refuse.as-documented", "accept.as-documented", "reply.as-promised", "auth.needs-credentials", "auth.owner-only", "limit.refuses-streams"}
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		known := map[string]spec.Requirement{}
		for _, r := range d.Requirements {
			complain := func(what string) { t.Errorf("%s: %s %s", d.Name, r.ID, what) }
			if known[r.ID].ID != "" {
				complain("stands there twice")
			}
			if r.Quote == "" || r.Source == "" || !slices.Contains([]spec.Level{spec.Must, spec.Should, spec.May}, r.Level) {
				complain("has no quote, source or level")
			}
			if (len(r.Checks) == 0) == (r.Excluded == nil) {
				complain("is neither judged nor excluded, or both")
			}
			if r.Excluded != nil && (r.Excluded.Reason == "" || !slices.Contains([]string{"capability", "unobservable", "contradiction", "client"}, r.Excluded.Kind)) {
				complain("is excluded without a kind and a reason")
			}
			known[r.ID] = r
			for _, id := range r.Checks {
				c, ok := rules.ByID(id)
				if !ok {
					complain("names the check " + id + ", which does not exist")
					continue
				}
				for _, k := range c.Needs {
					if !slices.Contains(d.Kinds(), k) {
						complain("names " + id + ", but the dialect has no word for " + string(k))
					}
				}
			}
		}
		refused, shaped := d.Laws()
		for _, id := range slices.Concat(refused, shaped) {
			if !slices.ContainsFunc(known[id].Checks, func(c string) bool { return slices.Contains(byDocument, c) }) {
				t.Errorf("%s: the document names the requirement %q, the catalogue does not, or has no check judge it by the document", d.Name, id)
			}
		}
	}
}

// Every check is well described, has an id of its own, and some dialect needs it.
func TestChecks(t *testing.T) {
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	grammar := regexp.MustCompile(`^[a-z]+(\.[a-z0-9]+(-[a-z0-9]+)*)$`)
	for _, c := range rules.All {
		if seen[c.ID] || !grammar.MatchString(c.ID) || c.Title() == "" || c.Watch == nil {
			t.Errorf("%s is there twice, is no area.kebab-slug, or says nothing", c.ID)
		}
		seen[c.ID] = true
		named := false
		for _, d := range all {
			for _, r := range d.Requirements {
				named = named || slices.Contains(r.Checks, c.ID)
			}
		}
		if !named {
			t.Errorf("no catalogue names %s", c.ID)
		}
	}
}

// Every quote stands in the document at the lines named. The documents are not
// part of the project: the test runs where they are at hand.
func TestQuotes(t *testing.T) {
	dir := os.Getenv("SEEDS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "seeds")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("DID NOT RUN: the protocol documents are not at hand; name their folder in $SEEDS")
	}
	all, err := dialect.All()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, d := range all {
		for _, r := range d.Requirements {
			cited := ""
			for source := range strings.SplitSeq(r.Source, "; ") {
				if text, ok := linesOf(t, dir, source); ok {
					cited += text + "\n"
				}
			}
			if cited == "" {
				continue
			}
			n++
			if !strings.Contains(plain(cited), plain(r.Quote)) {
				t.Errorf("%s: %s quotes %q, which does not stand in %s", d.Name, r.ID, r.Quote, r.Source)
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d quotes were looked up", n)
	}
}

// plain lets a quote run over line ends.
func plain(s string) string { return strings.Join(strings.Fields(s), " ") }

var citation = regexp.MustCompile(`^([0-9a-z_]+\.txt):([0-9,-]+)$`)

// linesOf are the lines that a source names, if it names a document's.
func linesOf(t *testing.T, dir, source string) (string, bool) {
	m := citation.FindStringSubmatch(source)
	if m == nil {
		return "", false
	}
	data, err := os.ReadFile(filepath.Join(dir, m[1]))
	if err != nil {
		t.Errorf("%s: %v", source, err)
		return "", false
	}
	lines := strings.Split(string(data), "\n")
	var cited []string
	for part := range strings.SplitSeq(m[2], ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, _ := strconv.Atoi(from)
		b, _ := strconv.Atoi(to)
		if !isRange {
			b = a
		}
		if a < 1 || b < a || b > len(lines) {
			t.Errorf("%s: no such lines", source)
			continue
		}
		cited = append(cited, lines[a-1:b]...)
	}
	return strings.Join(cited, "\n"), true
}
