package suites

import "github.com/streamassay/streamassay/spec"

// outcomeScenarios are the scenarios about the history of threads whose runs ended in different
// ways.
var outcomeScenarios = []Scenario{
	{
		Name: "outcomes", Doc: "the history of a thread with two tool calls, two replies, failed runs and a cancelled one",
		Capability: "history", Templates: []string{"prompt", "listen", "history"}, Run: runOutcomes,
	},
}

// runOutcomes plays the outcomes scenario. The runs of one thread call two tools, send two
// messages, fail before any content, fail after some content, and are cancelled. runOutcomes
// requests the history after the start of each failing run, and at the end. Checks compare the
// histories with the runs.
func runOutcomes(t *Conversation) {
	if !t.canSend("history") {
		return
	}
	t.noteNewThread()
	t.SendAndRead("prompt", t.PromptEvent("tools", ""))
	t.SendAndRead("prompt", t.PromptEvent("messages", ""))
	for _, scenario := range []string{"error", "error-mid"} {
		if t.StartRun("prompt", t.PromptEvent(scenario, "stored although it fails")) {
			t.fetchHistory(spec.Event{})
			t.ReadStream("", 0)
		}
	}
	if t.canSend("cancel") && t.StartRun("prompt", t.PromptEvent("slow", "61 50")) {
		t.cancelDuringStream(3)
	}
	if t.acceptedAny {
		t.completeHistory()
	}
}
