package suites

import (
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// rangeScenarios are the scenarios that send the longest run ids, and the earliest and latest days,
// that a document allows.
var rangeScenarios = []Scenario{{
	Name: "range-ends", Doc: "the longest run id in every request that names a run, and the ends of the calendar",
	Capability: "text", Templates: []string{"prompt", "listen"},
	ExpectedChecks: []string{"accept.as-documented"}, Run: runRangeEnds,
}}

// remoteDays are unusual but valid dates: a leap day, and the first and the last day of the years
// from 0001 to 9999.
var remoteDays = []string{"2024-02-29", "0001-01-01", "9999-12-31"}

// runRangeEnds plays the range-ends scenario. If the dialect's document limits the length of run
// ids, it starts, reads and cancels two runs with ids of the maximum length. One of the ids
// contains characters that URLs must escape. Then it requests the history of the thread, as a whole
// and for each of the [remoteDays]. It omits requests that the dialect or the target does not
// support.
func runRangeEnds(t *Conversation) {
	if longest := t.dialect.MaxRunID("listen"); longest > 0 {
		id := t.NewID()
		for _, t.Run = range []string{
			strings.Repeat(id, longest/len(id)+1)[:longest], id + "+" + strings.Repeat("\u00e9", longest-len(id)-1),
		} {
			if !t.SendTemplate("prompt", t.PromptEvent("text", "one")) {
				return // judged by the refusals scenario
			}
			t.ReadStream("", 0)
			if t.canSend("cancel") {
				t.SendTemplate("cancel", spec.Event{})
			}
		}
	}
	if t.completeHistory(); t.canSend("history") {
		for _, day := range remoteDays {
			t.SendTemplate("history", spec.Event{Day: day})
		}
	}
}
