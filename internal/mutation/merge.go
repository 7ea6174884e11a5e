package mutation

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Merge adds to r the outcomes of mutants that were not run. It takes them from document, an
// earlier result of [Report.Markdown]. It leaves out mutants that no longer exist, and dialects
// that are not in r.Dialects. If document lists survivors or over-kills (failures that the defect
// does not explain) of mutants that were not run, Merge returns an error: such mutants must be run,
// because document does not contain the details.
func (r *Report) Merge(document []byte) error {
	order := map[string]int{} // position of each existing mutant
	for i, m := range r.Mutants {
		order[m.Name] = i
	}
	isRun := map[string]bool{}
	for _, o := range r.Outcomes {
		isRun[o.Mutant] = true
	}
	old := map[[2]string]*Outcome{} // by mutant and dialect
	outcomeOf := func(mutant, dialect string) *Outcome {
		key := [2]string{mutant, dialect}
		if old[key] == nil {
			old[key] = &Outcome{Mutant: mutant, Dialect: dialect}
		}
		return old[key]
	}
	section, check := "", ""
	for line := range strings.Lines(string(document)) {
		line = strings.TrimSpace(line)
		title, isTitle := strings.CutPrefix(line, "## ")
		item, isItem := strings.CutPrefix(line, "* ")
		item, about, _ := strings.Cut(item, ": ")
		mutant, dialect, _ := strings.Cut(item, " in ")
		_, exists := order[mutant]
		switch {
		case isTitle:
			section, check = title, ""
		case section == killsTitle && !isItem && line != "":
			check = line
		case !isItem || isRun[mutant] || !exists:
		case section == "Survivors" || section == "Over-kills":
			return fmt.Errorf("%s is listed as one of the %s: run all mutants, or this one, too",
				mutant, strings.ToLower(section))
		case section == "Equivalent to the correct server":
			outcomeOf(mutant, dialect).IsEquivalent = true
		case section == killsTitle:
			for dialect := range strings.SplitSeq(about, ", ") {
				o := outcomeOf(mutant, dialect)
				o.KilledBy = append(o.KilledBy, check)
			}
		}
	}
	dialects := map[string]int{}
	for i, d := range r.Dialects {
		dialects[d.Name] = i
	}
	for _, o := range old {
		if _, exists := dialects[o.Dialect]; exists {
			slices.Sort(o.KilledBy)
			r.Outcomes = append(r.Outcomes, *o)
		}
	}
	sort.SliceStable(r.Outcomes, func(i, j int) bool {
		a, b := &r.Outcomes[i], &r.Outcomes[j]
		return cmp.Or(order[a.Mutant]-order[b.Mutant], dialects[a.Dialect]-dialects[b.Dialect]) < 0
	})
	return nil
}
