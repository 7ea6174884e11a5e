package mutation

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/internal/rules"
	"github.com/streamassay/streamassay/spec"
)

// Summary returns the numbers of the report in one line: how many mutants were killed, how many
// survived, how many have over-kills (failures that the defect does not explain), and how many
// checks killed at least one mutant. A mutant that survived in one dialect counts as a survivor,
// even if it was killed in others.
func (r *Report) Summary() string {
	played := r.mutantNames(func(o Outcome) bool { return o.IsKilled() || o.IsSurvivor() })
	survivors := r.mutantNames(Outcome.IsSurvivor)
	over := r.mutantNames(Outcome.isOverKilled)
	killed := len(played) - len(survivors)
	proven := 0
	for _, c := range rules.About(spec.Server) {
		if len(r.killsBy(c.ID)) > 0 {
			proven++
		}
	}
	const format = "%d of %d mutants killed, for the reason expected; %d survivors, %d over-kills; " +
		"%d of %d checks proven able to fail"
	return fmt.Sprintf(format,
		killed, len(played), len(survivors), len(over), proven, len(rules.About(spec.Server)))
}

var summaryPattern = regexp.MustCompile(`^\d+ of \d+ mutants killed, for the reason expected; (\d+) survivors, (\d+) over-kills; \d+ of \d+ checks`)

// ParseSummary returns the number of survivors and the number of mutants with over-kills (failures
// that the defect does not explain) from the first line of document. If document does not begin
// with such a line, as [Report.Markdown] writes it, ParseSummary returns an error.
func ParseSummary(document []byte) (survivors, over int, err error) {
	m := summaryPattern.FindSubmatch(document)
	if m == nil {
		return 0, 0, fmt.Errorf("the first line is not %q", summaryPattern)
	}
	survivors, err = strconv.Atoi(string(m[1]))
	if err == nil {
		over, err = strconv.Atoi(string(m[2]))
	}
	return survivors, over, err
}

// IsWorse reports whether r has more than maxSurvivors surviving mutants, or more than
// maxOverKilled mutants with over-kills, which are failures that the defect does not explain.
func (r *Report) IsWorse(maxSurvivors, maxOverKilled int) bool {
	return len(r.mutantNames(Outcome.IsSurvivor)) > maxSurvivors ||
		len(r.mutantNames(Outcome.isOverKilled)) > maxOverKilled
}

// mutantNames returns the names of the mutants for which fits returns true for at least one
// outcome. The names are in the order of the outcomes, without duplicates.
func (r *Report) mutantNames(fits func(Outcome) bool) (names []string) {
	for _, o := range r.Outcomes {
		if fits(o) && !slices.Contains(names, o.Mutant) {
			names = append(names, o.Mutant)
		}
	}
	return names
}

// A killedMutant is a mutant that a certain check killed in at least one dialect.
type killedMutant struct {
	mutant   string   // name of the mutant
	dialects []string // names of the dialects in which the check killed the mutant
}

// killsBy returns the mutants that the check with the given id killed, in the order of the
// outcomes.
func (r *Report) killsBy(check string) (kills []killedMutant) {
	for _, o := range r.Outcomes {
		if !slices.Contains(o.KilledBy, check) {
			continue
		}
		if n := len(kills); n > 0 && kills[n-1].mutant == o.Mutant {
			kills[n-1].dialects = append(kills[n-1].dialects, o.Dialect)
		} else {
			kills = append(kills, killedMutant{o.Mutant, []string{o.Dialect}})
		}
	}
	return kills
}

// Markdown returns the report in Markdown. The file docs/mutants.md has this content.
func (r *Report) Markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `%s

# Mutants

Made by `+"`streamassay mutants --write docs`"+`; the rows of some mutants were updated later with `+"`--only`"+`.

A mutant is a correct server with one defect. The suite runs against it in every dialect in which one of the
checks that must find the defect judges a requirement. If such a check fails at the expected place, the mutant is
killed; otherwise, it survives. A check that fails although the defect does not affect it is an over-kill.

Mutants named REQUIREMENT.DEFECT are generated from the protocol documents. Against them, the suite plays only scenarios
in which the correct server is judged for that requirement, and sends only invalid requests whose refusal
is about it. The scenario that sends invalid requests takes as long as all others together, so it is played only
if the defect concerns a refusal or an acceptance. In each dialect the correct server must pass, and the canary, a
server that adds a word to every text, must fail; otherwise, no table is written. %d mutants, %d plays (a play is one
mutant in one dialect).
`, r.Summary(), len(r.mutantNames(func(Outcome) bool { return true })), len(r.Outcomes))
	r.writeOutcomes(&b, "Survivors", Outcome.IsSurvivor, Outcome.Description)
	r.writeOutcomes(&b, "Over-kills", Outcome.isOverKilled,
		func(o Outcome) string { return strings.Join(o.OverKills, ", ") })
	// The server may, for example, send none of the frames or replies that could have the defect,
	// although the document describes them.
	r.writeOutcomes(&b, "Equivalent to the correct server", func(o Outcome) bool { return o.IsEquivalent },
		func(Outcome) string { return "nothing was sent that could have the defect" })
	r.writeClasses(&b)
	r.writeCounts(&b)
	r.writeKills(&b)
	r.writeMutants(&b)
	return b.Bytes()
}

// writeOutcomes appends a section with the given title to b. The section lists the outcomes for
// which fits returns true, or states that there are none. Each item has the name of the mutant, the
// name of the dialect, and the text that describe returns for the outcome.
func (r *Report) writeOutcomes(
	b *bytes.Buffer, title string, fits func(Outcome) bool, describe func(Outcome) string,
) {
	fmt.Fprintf(b, "\n## %s\n\n", title)
	for _, o := range r.Outcomes {
		if fits(o) {
			fmt.Fprintf(b, "* %s in %s: %s\n", o.Mutant, o.Dialect, describe(o))
		}
	}
	if !slices.ContainsFunc(r.Outcomes, fits) {
		fmt.Fprintln(b, "None.")
	}
}

// writeCounts appends to b a section with a table of the numbers of mutants that each check killed,
// in total and in each dialect.
func (r *Report) writeCounts(b *bytes.Buffer) {
	fmt.Fprint(b, "\n## Number of mutants that each check killed\n\n| check | mutants |")
	for _, d := range r.Dialects {
		fmt.Fprintf(b, " %s |", d.Name)
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(r.Dialects)+1))
	for _, c := range rules.About(spec.Server) {
		kills := r.killsBy(c.ID)
		fmt.Fprintf(b, "| %s | %d |", c.ID, len(kills))
		for _, d := range r.Dialects {
			n := 0
			for _, k := range kills {
				if slices.Contains(k.dialects, d.Name) {
					n++
				}
			}
			cell := ""
			if n > 0 {
				cell = strconv.Itoa(n)
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		fmt.Fprintln(b)
	}
}

// killsTitle is the title of the section that [Report.writeKills] writes and [Report.Merge] reads.
const killsTitle = "Mutants that each check killed"

// writeKills appends to b a section that lists, for each check, the mutants that the check killed.
func (r *Report) writeKills(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n", killsTitle)
	for _, c := range rules.About(spec.Server) {
		fmt.Fprintf(b, "\n%s\n\n", c.ID)
		for _, k := range r.killsBy(c.ID) {
			fmt.Fprintf(b, "* %s: %s\n", k.mutant, strings.Join(k.dialects, ", "))
		}
	}
}

// writeMutants appends to b a section with a table of the mutants that were run. For each mutant,
// the table contains the name, a description of the defect, and the violated requirements.
func (r *Report) writeMutants(b *bytes.Buffer) {
	fmt.Fprint(b, "\n## The mutants\n\n| mutant | what is wrong with the server | violates |\n|---|---|---|\n")
	played := r.mutantNames(func(Outcome) bool { return true })
	for _, m := range r.Mutants {
		if slices.Contains(played, m.Name) {
			violated := strings.Join(m.RequirementIDs(r.Dialects), " ")
			fmt.Fprintf(b, "| %s | %s | %s |\n", m.Name, strings.ReplaceAll(m.Doc, "|", "\\|"), violated)
		}
	}
}
