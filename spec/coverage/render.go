package coverage

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// kinds of exclusions, in the order in which they are told.
var kinds = []string{"capability", "unobservable", "contradiction", "client"}

// Render writes the maps as one text for people: counts first, then every line.
func Render(documents []Document, dialects []*dialect.Dialect) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Coverage: %d documents, %s, %d unmapped\n", len(documents), countClauses(documents, dialects), len(Unmapped(documents, dialects)))
	fmt.Fprint(&b, `
Made from spec/coverage by `+"`make docs`"+`. Every line of the protocol documents that is not blank stands in one clause:
it obliges somebody, and has requirements, or it obliges nobody, and says why. A clause counts as judged if one of its
requirements has checks in one version at least, and by the kind of exclusion of the first if none has:

* capability: it takes something of the target, or of the harness, that is not there;
* unobservable: nothing that comes over the wire shows it;
* contradiction: another clause says otherwise, and that one is followed;
* client: it obliges the client, and a server is what is judged.

Unmapped are requirements that cite a document where no clause names them. What a requirement says, and why one is not
judged, stands in [requirements.md](requirements.md).

| dialect | requirements | judged | `+strings.Join(kinds, " | ")+` |
|---|---|---|`+strings.Repeat("---|", len(kinds))+"\n")
	for _, d := range dialects {
		fmt.Fprintf(&b, "| %s | %s |\n", d.Name, strings.Join(countRequirements(d.Requirements), " | "))
	}
	for _, d := range documents {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n| lines | clause | requirements, and how they are judged |\n|---|---|---|\n", d.File, countClauses([]Document{d}, dialects))
		for _, c := range d.Clauses {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Lines, cell(c.text()), strings.Join(c.judged(dialects), "<br>"))
		}
	}
	rest := unstated(documents, dialects)
	fmt.Fprintf(&b, "\n## What no document states\n\n%d requirements stand for no line: what released servers were seen to do, and what the others are useless without.\n\n| requirement | source | how it is judged |\n|---|---|---|\n", len(rest))
	for _, r := range rest {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.ID, cell(r.Source), how(r))
	}
	return b.Bytes()
}

func (c Clause) text() string {
	switch {
	case c.Informative == "":
		return c.Says
	case c.Although != "":
		return fmt.Sprintf("Informative (although: %s): %s", c.Although, c.Informative)
	}
	return "Informative: " + c.Informative
}

// judged says of every requirement of the clause how it is judged, and in which
// versions, if it is not the same in all of its family.
func (c Clause) judged(dialects []*dialect.Dialect) (all []string) {
	versions := map[string]int{}
	for _, d := range dialects {
		versions[d.Family]++
	}
	for _, id := range c.Requirements {
		var ways []string
		in := map[string][]string{}
		family := ""
		for _, d := range dialects {
			if i := slices.IndexFunc(d.Requirements, func(r spec.Requirement) bool { return r.ID == id }); i >= 0 {
				way := how(d.Requirements[i])
				if family = d.Family; in[way] == nil {
					ways = append(ways, way)
				}
				in[way] = append(in[way], d.Version)
			}
		}
		for _, way := range ways {
			text := fmt.Sprintf("`%s`: %s", id, way)
			if len(in[way]) < versions[family] {
				text += " (" + strings.Join(in[way], ", ") + ")"
			}
			all = append(all, text)
		}
	}
	return all
}

func how(r spec.Requirement) string {
	if r.Excluded != nil {
		return "not judged, " + r.Excluded.Kind
	}
	return strings.Join(r.Checks, ", ")
}

// countClauses says how many clauses there are, and what becomes of them.
func countClauses(documents []Document, dialects []*dialect.Dialect) string {
	judged, excluded := map[string]bool{}, map[string]string{}
	for _, d := range dialects {
		for _, r := range d.Requirements {
			if r.Excluded != nil {
				excluded[r.ID] = r.Excluded.Kind
			} else {
				judged[r.ID] = true
			}
		}
	}
	clauses, yes, informative := 0, 0, 0
	no := map[string]int{}
	for _, d := range documents {
		for _, c := range d.Clauses {
			clauses++
			switch {
			case c.Informative != "":
				informative++
			case slices.ContainsFunc(c.Requirements, func(id string) bool { return judged[id] }):
				yes++
			default:
				no[excluded[c.Requirements[0]]]++
			}
		}
	}
	var parts []string
	total := 0
	for _, kind := range kinds {
		total += no[kind]
		parts = append(parts, fmt.Sprintf("%s %d", kind, no[kind]))
	}
	return fmt.Sprintf("%d clauses, %d judged, %d excluded (%s), %d informative", clauses, yes, total, strings.Join(parts, ", "), informative)
}

// countRequirements counts all, those that are judged, and the others by kind.
func countRequirements(list []spec.Requirement) []string {
	n := make([]int, 2+len(kinds))
	for _, r := range list {
		n[0]++
		if r.Excluded == nil {
			n[1]++
		} else {
			n[2+slices.Index(kinds, r.Excluded.Kind)]++
		}
	}
	return strings.Fields(strings.Trim(fmt.Sprint(n), "[]"))
}

// cell keeps a text within a table, and tags in it visible.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(strings.Join(strings.Fields(s), " "))
}
