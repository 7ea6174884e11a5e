package coverage

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Render returns a Markdown document that shows how the catalogues of the given dialects cover the
// given protocol documents. It contains a summary, a table for each document and a table of the
// requirements that no clause names. The table of a document lists its clauses, with their
// requirements and how these are judged.
func Render(documents []DocumentMap, dialects []*dialect.Dialect) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Coverage: %d documents, %s, %d unmapped\n",
		len(documents), countClauses(documents, dialects), len(Unmapped(documents, dialects)))
	fmt.Fprint(&b, `
Generated from internal/coverage by `+"`make docs`"+`. Every line of the protocol documents that is not blank belongs to one
clause. A clause either has requirements, or is informative for a stated reason. It counts as judged if one of its
requirements has checks in at least one version, and otherwise by the kind of exclusion of its first requirement:

* capability: judging it takes something that targets, or streamassay, do not offer;
* unobservable: it cannot be observed over the wire;
* contradiction: another clause contradicts it and is followed instead;
* client: it is about the client, and the checks of clients do not judge it.

Unmapped are requirements that cite a document in which no clause names them. The quotations, and the reasons for
exclusions, are in [requirements.md](requirements.md).

| dialect | requirements | judged | `+strings.Join(spec.ExclusionKinds, " | ")+` |
|---|---|---|`+strings.Repeat("---|", len(spec.ExclusionKinds))+"\n")
	for _, d := range dialects {
		fmt.Fprintf(&b, "| %s | %s |\n", d.Name, strings.Join(countRequirements(d.Requirements), " | "))
	}
	for _, d := range documents {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n", d.File, countClauses([]DocumentMap{d}, dialects))
		fmt.Fprint(&b, "| lines | clause | requirements, and how they are judged |\n|---|---|---|\n")
		for _, c := range d.Clauses {
			fmt.Fprintf(&b, "| %s | %s | %s |\n",
				c.Lines, escapeCell(c.description()), strings.Join(c.judgedRequirements(dialects), "<br>"))
		}
	}
	rest := requirementsWithoutLines(documents, dialects)
	fmt.Fprint(&b, "\n## Requirements without a clause\n\n")
	fmt.Fprintf(&b, "%d requirements are not stated by any document: they were observed of released servers, "+
		"or follow from other requirements.\n\n", len(rest))
	fmt.Fprint(&b, "| requirement | source | how it is judged |\n|---|---|---|\n")
	for _, r := range rest {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.ID, escapeCell(r.Source), judgedBy(r))
	}
	return b.Bytes()
}

// description returns the text of the clause for the table. This is the summary of the clause or,
// if it is informative, "Informative", the normative word if there is one, and the reason.
func (c Clause) description() string {
	switch {
	case c.Informative == "":
		return c.Summary
	case c.NormativeWord != "":
		return fmt.Sprintf("Informative (although: %s): %s", c.NormativeWord, c.Informative)
	}
	return "Informative: " + c.Informative
}

// judgedRequirements returns Markdown texts that state which checks judge the requirements of the
// clause in the given dialects. There is one text for all versions of a protocol in which the same
// checks judge a requirement. If dialects contains further versions of the protocol, the text ends,
// in parentheses, with the versions to which it applies.
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
			all := requirementsOf(d)
			if i := slices.IndexFunc(all, func(r spec.Requirement) bool { return r.ID == id }); i >= 0 {
				judgement := judgedBy(all[i])
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

// judgedBy returns the ids of the checks that judge r, separated by commas. If no check judges r,
// it returns "not judged" and the kind of the exclusion, such as "not judged, client".
func judgedBy(r spec.Requirement) string {
	if r.Excluded != nil {
		return "not judged, " + r.Excluded.Kind
	}
	return strings.Join(r.Checks, ", ")
}

// countClauses returns a text that states the number of clauses in the documents, and how many of
// them are judged, excluded and informative, such as "9 clauses, 5 judged, 2 excluded (capability
// 1, ..., client 1), 2 informative". A clause is judged if at least one of the dialects judges at
// least one of its requirements. Excluded clauses are counted by kind (see [spec.ExclusionKinds]);
// the kind is that of the first requirement of the clause.
func countClauses(documents []DocumentMap, dialects []*dialect.Dialect) string {
	judged, excluded := map[string]bool{}, map[string]string{}
	for _, d := range dialects {
		for _, r := range requirementsOf(d) {
			if r.Excluded != nil {
				excluded[r.ID] = r.Excluded.Kind
			} else {
				judged[r.ID] = true
			}
		}
	}
	clauses := 0
	count := map[string]int{} // of clauses, by "informative", "judged" or the kind of the exclusion
	for _, d := range documents {
		clauses += len(d.Clauses)
		for _, c := range d.Clauses {
			switch {
			case c.Informative != "":
				count["informative"]++
			case slices.ContainsFunc(c.Requirements, func(id string) bool { return judged[id] }):
				count["judged"]++
			default:
				count[excluded[c.Requirements[0]]]++
			}
		}
	}
	var parts []string
	total := 0
	for _, kind := range spec.ExclusionKinds {
		total += count[kind]
		parts = append(parts, fmt.Sprintf("%s %d", kind, count[kind]))
	}
	return fmt.Sprintf("%d clauses, %d judged, %d excluded (%s), %d informative",
		clauses, count["judged"], total, strings.Join(parts, ", "), count["informative"])
}

// countRequirements returns the cells of one row of the summary: the number of requirements in the
// list, the number of judged ones, and for each of [spec.ExclusionKinds] the number of requirements
// that are excluded in that way.
func countRequirements(list []spec.Requirement) []string {
	excluded := map[string]int{} // by kind; "" counts the requirements that are judged
	for _, r := range list {
		kind := ""
		if r.Excluded != nil {
			kind = r.Excluded.Kind
		}
		excluded[kind]++
	}
	cells := []string{strconv.Itoa(len(list)), strconv.Itoa(excluded[""])}
	for _, kind := range spec.ExclusionKinds {
		cells = append(cells, strconv.Itoa(excluded[kind]))
	}
	return cells
}

// escapeCell returns s as the text of a cell in a Markdown table: on one line, with the characters
// | and < escaped.
func escapeCell(s string) string {
	return strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(strings.Join(strings.Fields(s), " "))
}
