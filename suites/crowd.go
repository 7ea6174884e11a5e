package suites

import (
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// The maximum number of threads whose replies the crowd scenario reads at the same time. A lower
// [Target.StreamLimit] takes precedence.
const (
	crowdSize     = 16
	deepCrowdSize = 64 // if [Target.Deep] is set
)

// runCrowd plays the crowd scenario, in which many threads have open streams at the same time. It
// sends a prompt with a different random text to each thread, and then asks each thread for the
// previous message. Checks verify that each reply contains the text of its own thread. In every
// thread, it also starts a run that sends nothing for a while. In a few threads, it starts slow
// runs, and runs whose replies have several messages, steps or tool calls. Checks verify that the
// deltas of the slow runs arrive as they are produced. If the agent does not follow the test
// prompts (docs/prompts.md), runCrowd sends nothing.
func runCrowd(t *Conversation) {
	if !t.target.isScripted { // checks cannot judge the replies
		return
	}
	n := crowdSize
	if t.target.Deep {
		n = deepCrowdSize
	}
	n = t.maxStreams(n)
	threads := make([]string, n)
	for i := range threads {
		threads[i] = t.NewID()
	}
	t.sendToAll(threads, func(i int) spec.Event {
		var words strings.Builder
		for range 60 {
			words.WriteString(t.NewID()[:8] + "-" + strconv.Itoa(i) + " ")
		}
		return t.PromptEvent("text", strings.TrimSpace(words.String()))
	})
	t.sendToAll(threads, func(int) spec.Event { return t.PromptEvent("recall", "") })
	if !t.target.lacksCapability("idle") {
		t.sendToAll(threads, func(int) spec.Event { return t.PromptEvent("idle", "150") })
	}
	if !t.target.lacksCapability("slow") {
		t.sendToAll(threads[:min(n, 3)], func(int) spec.Event { return t.PromptEvent("slow", "6 80") })
	}
	for _, scenario := range []string{"messages", "steps", "tools"} { // their replies consist of several parts
		hasKind := scenario != "steps" || slices.Contains(t.dialect.Kinds(), spec.StepStart)
		if hasKind && !t.target.lacksCapability(scenario) {
			t.sendToAll(threads[:min(n, 4)], func(int) spec.Event { return t.PromptEvent(scenario, "") })
		}
	}
}

// sendToAll starts a run in each thread and reads the streams of all these runs at the same time.
// It builds the request for threads[i] from the template "prompt" and the result of prompt(i).
func (t *Conversation) sendToAll(threads []string, prompt func(i int) spec.Event) {
	var streams []spec.Request
	listens := t.HasTemplate("listen")
	for i, thread := range threads {
		t.Thread, t.Run = thread, t.NewID()
		r := t.BuildRequest("prompt", prompt(i))
		if listens {
			if !t.Send(r) {
				continue
			}
			r = t.BuildRequest("listen", spec.Event{})
		}
		streams = append(streams, r)
	}
	t.sendTogether(streams, len(streams), nil)
}
