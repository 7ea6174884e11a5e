package coverage

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// exclusionKinds of exclusions, in the order in which they are told.
var exclusionKinds = []string{"capability", "unobservable", "contradiction", "client"}

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

| dialect | requirements | judged | `+strings.Join(exclusionKinds, " | ")+` |
|---|---|---|`+strings.Repeat("---|", len(exclusionKinds))+"\n")
	for _, d := range dialects {
		fmt.Fprintf(&b, "| %s | %s |\n", d.Name, strings.Join(countRequirements(d.Requirements), " | "))
	}
	for _, d := range documents {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n| lines | clause | requirements, and how they are judged |\n|---|---|---|\n", d.File, countClauses([]Document{d}, dialects))
		for _, c := range d.Clauses {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Lines, escapeCell(c.description()), strings.Join(c.judgedRequirements(dialects), "<br>"))
		}
	}
	rest := requirementsWithoutLines(documents, dialects)
	fmt.Fprintf(&b, "\n## What no document states\n\n%d requirements stand for no line: what released servers were seen to do, and what the others are useless without.\n\n| requirement | source | how it is judged |\n|---|---|---|\n", len(rest))
	for _, r := range rest {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.ID, escapeCell(r.Source), judgedBy(r))
	}
	return b.Bytes()
}

func (c Clause) description() string {
	switch {
	case c.Informative == "":
		return c.Summary
	case c.NormativeWord != "":
		return fmt.Sprintf("Informative (although: %s): %s", c.NormativeWord, c.Informative)
	}
	return "Informative: " + c.Informative
}

// judgedRequirements says of every requirement of the clause how it is judged, and in which
// versions, if it is not the same in all of its family.
func (c Clause) judgedRequirements(dialects []*dialect.Dialect) (all []string) {
	versionCount := map[string]int{}
	for _, d := range dialects {
		versionCount[d.Family]++
	}
	for _, id := range c.Requirements {
		var judgements []string
		versionsBy := map[string][]string{}
		family := ""
		for _, d := range dialects {
			if i := slices.IndexFunc(d.Requirements, func(r spec.Requirement) bool { return r.ID == id }); i >= 0 {
				judgement := judgedBy(d.Requirements[i])
				if family = d.Family; versionsBy[judgement] == nil {
					judgements = append(judgements, judgement)
				}
				versionsBy[judgement] = append(versionsBy[judgement], d.Version)
			}
		}
		for _, judgement := range judgements {
			text := fmt.Sprintf("`%s`: %s", id, judgement)
			if len(versionsBy[judgement]) < versionCount[family] {
				text += " (" + strings.Join(versionsBy[judgement], ", ") + ")"
			}
			all = append(all, text)
		}
	}
	return all
}

func judgedBy(r spec.Requirement) string {
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
	clauses, judgedCount, informative := 0, 0, 0
	excludedCount := map[string]int{}
	for _, d := range documents {
		for _, c := range d.Clauses {
			clauses++
			switch {
			case c.Informative != "":
				informative++
			case slices.ContainsFunc(c.Requirements, func(id string) bool { return judged[id] }):
				judgedCount++
			default:
				excludedCount[excluded[c.Requirements[0]]]++
			}
		}
	}
	var parts []string
	total := 0
	for _, kind := range exclusionKinds {
		total += excludedCount[kind]
		parts = append(parts, fmt.Sprintf("%s %d", kind, excludedCount[kind]))
	}
	return fmt.Sprintf("%d clauses, %d judged, %d excluded (%s), %d informative", clauses, judgedCount, total, strings.Join(parts, ", "), informative)
}

// countRequirements counts all, those that are judged, and the others by kind.
func countRequirements(list []spec.Requirement) []string {
	n := make([]int, 2+len(exclusionKinds))
	for _, r := range list {
		n[0]++
		if r.Excluded == nil {
			n[1]++
		} else {
			n[2+slices.Index(exclusionKinds, r.Excluded.Kind)]++
		}
	}
	return strings.Fields(strings.Trim(fmt.Sprint(n), "[]"))
}

// escapeCell keeps a text within a table, and tags in it visible.
func escapeCell(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(strings.Join(strings.Fields(s), " "))
}
