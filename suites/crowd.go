package suites

import (
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// The maximum number of threads whose replies the crowd scenario reads at the same time. A lower
// stream limit of the target takes precedence.
const (
	crowdSize     = 16
	deepCrowdSize = 64 // if [Target.Deep] is set
)

// runCrowd plays the crowd scenario. It sends a long prompt with a different random text on each of
// many threads, and reads all replies at the same time. Then it asks for the previous message in
// each thread, also at the same time. Checks verify that each reply contains the text of its own
// thread. After that, it starts idle runs in all threads, so that their streams are certainly open
// at the same time. Finally, it starts slow runs in a few of the threads at the same time. Checks
// verify that their deltas arrive as they are produced. If the agent is not scripted, runCrowd
// sends nothing, because the replies could not be judged.
func runCrowd(t *Conversation) {
	if !t.target.isScripted {
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
}

// sendToAll starts a run on each of the threads and reads the streams of all these runs at the same
// time. It calls prompt once for each thread, in order, with the index of the thread. The function
// prompt must return the event with the values for the placeholders of the template "prompt".
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
