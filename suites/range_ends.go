package suites

import (
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// rangeScenarios are the scenarios that send the longest run ids and the earliest and latest days
// that a document allows. No other scenario sends these values.
var rangeScenarios = []Scenario{{
	Name: "range-ends", Doc: "the longest run id in every request that names a run, and the ends of the calendar",
	Capability: "text", Templates: []string{"prompt", "listen"},
	ExpectedChecks: []string{"accept.as-documented"}, Run: runRangeEnds,
}}

// remoteDays are valid dates that a server seldom gets: a leap day, and the first and the last day
// whose year has four digits.
var remoteDays = []string{"2024-02-29", "0001-01-01", "9999-12-31"}

// runRangeEnds plays the range-ends scenario. It starts a run whose id is as long as the document
// allows, reads the stream of the run and requests its cancellation. It does the same with a second
// id that has as many characters, but more bytes, and contains a plus sign, which URLs escape. It
// skips this part if the document does not limit the length of run ids. Then it requests the
// history of the thread, first as a whole and then once for each of [remoteDays]. It stops if the
// server refuses to start a run.
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
