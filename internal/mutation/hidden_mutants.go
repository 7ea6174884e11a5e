package mutation

import "slices"

// hiddenPairs lists the hidden mutants. Each pair consists of the name of a condition in
// hidingConditions and the name of a defect in hiddenDefects. TestHiddenDefects tries a sample of
// all possible pairs.
var hiddenPairs = [][2]string{
	{"after-failed", "repeats-previous"}, {"after-tool", "loses-character"}, {"sixth", "swaps-deltas"},
	{"hundredth", "drops-last-delta"}, {"reused", "loses-character"}, {"after-pause", "repeats-delta"},
	{"charset", "drops-last-delta"}, {"accept-list", "repeats-delta"}, {"second-reader", "swaps-deltas"},
	{"after-canceled", "repeats-delta"}, {"over-4096", "drops-last-delta"},
}

// hiddenMutants are servers whose defect shows only under a certain condition. In a dialect in
// which no request meets the condition, they behave like the correct server.
var hiddenMutants = newHiddenMutants()

func newHiddenMutants() (all []*Mutant) {
	for _, pair := range hiddenPairs {
		isNamed := func(c defectCondition) bool { return c.name == pair[0] }
		when := hidingConditions[slices.IndexFunc(hidingConditions, isNamed)]
		d := hiddenDefects[slices.IndexFunc(hiddenDefects, func(d conditionalDefect) bool { return d.name == pair[1] })]
		all = append(all, &Mutant{
			Name: "hidden-" + when.name + "-" + d.name, Doc: d.doc + ", but only " + when.doc,
			KilledBy: map[string]string{
				"script.text": "*", "script.recall": "*", "script.idle": "*", "script.large": "*", "script.resume": "*",
				"delta.joins-to-whole": "*", "resume.loses-nothing": "*", "cursor.unique": "*",
			},
			AlsoFails: contentChecks,                                           // which of them depends on the runs that meet the condition
			scenarios: []string{"combination-?", "combination-??", "payloads"}, // these suffice to find all of them
			defect:    hidden(when, d),
		})
	}
	return all
}
