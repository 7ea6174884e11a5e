package suites

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// neighbourScenarios are the scenarios about threads and runs that could be taken for each other:
// their ids are similar, or they are active at the same time.
var neighbourScenarios = []Scenario{
	{
		Name: "similar-threads", Doc: "threads whose ids differ in one character, in case or only in length", Capability: "recall",
		Templates: promptTemplates, Kinds: []spec.Kind{spec.SlotThread}, Run: runSimilarThreads,
	}, {
		Name: "similar-runs", Doc: "runs whose ids differ in case or only in length, and one id in two threads", Capability: "text",
		Templates: []string{"prompt", "listen"}, Run: runSimilarRuns,
	}, {
		Name: "crosswise-tools", Doc: "client tools that were called in several threads, and results in another order", Capability: "client-tool",
		Templates: []string{"tool-offer", "tool-result"}, Run: runCrosswise("client-tool", "tool-result"),
	}, {
		Name: "crosswise-interrupts", Doc: "interrupts in several threads, resumed in another order", Capability: "interrupt",
		Templates: []string{"prompt", "resume"}, Kinds: []spec.Kind{spec.Interrupt}, Run: runCrosswise("interrupt", "resume"),
	}, {
		Name: "cancel-older", Doc: "the oldest of several runs of a thread is cancelled, and the others go on", Capability: "cancel",
		Templates: []string{"prompt", "listen", "cancel"}, Run: runCancelOlder,
	}, {
		Name: "crowd", Doc: "many threads whose replies are streamed at the same time", Capability: "recall",
		Templates: promptTemplates, Run: runCrowd,
	},
}

// forget removes from the recording the exchange with index n, from 0, and all later ones. It is
// used for requests that a server may refuse although the document does not say so.
func (t *Conversation) forget(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trace.Exchanges = t.trace.Exchanges[:min(n, len(t.trace.Exchanges))]
}

// exchangeCount returns the number of exchanges so far.
func (t *Conversation) exchangeCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.trace.Exchanges)
}

// wasRefused reports whether the response of the last exchange is a refusal: a status of 400 or
// above, or a refusal event.
func (t *Conversation) wasRefused() bool {
	return t.LastEvent(spec.HTTPResponse).StatusCode >= 400 || t.LastEvent(spec.RunRefused).Kind != ""
}

// startIfTaken is like [Conversation.StartRun] with the template prompt and the given run id, or a
// new one if run is "". If the server refuses the request, startIfTaken removes the exchange from
// the recording and returns false, because the documents do not say which strings are valid ids.
func (t *Conversation) startIfTaken(run string, e spec.Event) bool {
	n := t.exchangeCount()
	if t.Run = run; run == "" {
		t.Run = t.NewID()
	}
	if t.SendTemplate("prompt", e) && !t.wasRefused() {
		return true
	}
	t.forget(n)
	return false
}

// similarIDs returns three UUIDs, each of which differs from the UUID id in one digit.
func similarIDs(id string) (all []string) {
	for _, i := range []int{len(id) - 1, 0, 10} {
		digit := byte('0')
		if id[i] == '0' {
			digit = '1'
		}
		all = append(all, id[:i]+string(digit)+id[i+1:])
	}
	return all
}

// similarNames returns strings that begin alike and differ in case, in length, in a space at the end,
// in the last of many characters, in a character that URLs escape, or in one beyond ASCII or beyond
// 16 bits.
func similarNames(id string) []string {
	name := "Thread-" + id
	long := name + strings.Repeat("0", 80)
	return []string{
		long + "1", long + "2",
		name, strings.ToLower(name), strings.ToUpper(name), name + "0", name[:len(name)-1],
		name + "/a", name + "%2Fa", name + " ", name + "\u00e9", name + "\u00e8", name + "e\u0301",
		name + "\U0001f600",
	}
}

// runSimilarThreads plays the similar-threads scenario: it asks in each thread for the previous
// message, sends a message, and at last asks in each thread again. Checks verify that each has only
// its own messages. Ids that a document need not allow are left out if the server refuses them.
func runSimilarThreads(t *Conversation) {
	if !t.target.isScripted {
		return
	}
	ids := append([]string{t.Thread}, similarIDs(t.Thread)...)
	t.Thread = "Thread-" + t.Thread
	if t.isValid("prompt", t.PromptEvent("recall", "")) {
		ids = append(ids, similarNames(t.NewID())...)
	}
	var taken []string
	for i, id := range ids {
		if t.Thread = id; !t.startIfTaken("", t.PromptEvent("recall", "")) {
			continue
		}
		if t.HasTemplate("listen") {
			t.ReadStream("", 0)
		}
		t.SendAndRead("prompt", t.PromptEvent("text", "of neighbour "+strconv.Itoa(i)))
		taken = append(taken, id)
	}
	for _, id := range taken {
		t.Thread = id
		t.SendAndRead("prompt", t.PromptEvent("recall", ""))
		t.completeHistory()
	}
}

// readTimeout is how long the client reads a stream that a server need not end.
const readTimeout = 2 * time.Second

// runSimilarRuns plays the similar-runs scenario: it starts runs with similar ids in one thread, and
// one with the same id in another thread, and reads their streams, and the stream of a similar id
// that is of no run. Checks verify that each stream has only the events of its run. Ids that the
// server refuses are left out.
func runSimilarRuns(t *Conversation) {
	name := "Run-" + t.NewID()
	first, second := t.Thread, t.NewID()
	var runs []runRef
	for i, r := range []runRef{
		{first, name}, {first, strings.ToLower(name)}, {first, name + "0"}, {first, name[:len(name)-1]},
		{second, name}, {first, name + "\u00e9"}, {first, name + "&=0"},
	} {
		if t.Thread = r.thread; t.startIfTaken(r.id, t.PromptEvent("text", "of run "+strconv.Itoa(i))) {
			runs = append(runs, r)
		}
	}
	runs = append(runs, runRef{first, name[:len(name)-2]}) // of a run that does not exist
	for _, r := range runs {
		t.Thread, t.Run = r.thread, r.id
		n := t.exchangeCount()
		t.send(t.BuildRequest("listen", spec.Event{}), wire.StopWhen{Elapsed: readTimeout})
		if t.wasRefused() {
			t.forget(n)
		}
	}
}

// runCrosswise returns the Run function of a scenario that makes the server call a client tool or
// send an interrupt in several threads, with the given prompt, and then replies to them with
// requests of the given template: in two threads in the same order, in two in the opposite order.
// At last it asks in each thread for the previous message.
func runCrosswise(prompt, replyTemplate string) func(*Conversation) {
	return func(t *Conversation) {
		var threads []string
		replies := map[string]spec.Event{}
		for range 4 {
			t.Thread = t.NewID()
			template, e := t.elicitingRequest(replyTemplate)
			e.Text = t.PromptEvent(prompt, `{"thread":`+strconv.Itoa(len(threads))+`}`).Text
			t.SendAndRead(template, e)
			reply, ok := t.replyEvent(replyTemplate)
			if !ok {
				return
			}
			reply.Text += " in thread " + strconv.Itoa(len(threads))
			threads, replies[t.Thread] = append(threads, t.Thread), reply
		}
		for _, i := range []int{0, 1, 3, 2} {
			t.Thread = threads[i]
			t.SendAndRead(replyTemplate, replies[t.Thread])
		}
		for _, thread := range threads {
			t.Thread = thread
			t.SendAndRead("prompt", t.PromptEvent("recall", ""))
		}
	}
}

// runCancelOlder plays the cancel-older scenario: while the streams of two runs are read, it cancels
// an older run of the thread, whose id is similar to theirs. Checks verify that the two go on. If
// the target allows only one open stream for each user, runCancelOlder sends nothing.
func runCancelOlder(t *Conversation) {
	limit := t.target.StreamLimit
	older := "Run-" + t.NewID()
	if limit == 1 || !t.startIfTaken(older, t.PromptEvent("slow", "40 50")) {
		return
	}
	var younger []spec.Request
	for _, id := range []string{older + "0", strings.ToLower(older)} {
		if (limit == 0 || len(younger)+2 <= limit) && t.startIfTaken(id, t.PromptEvent("idle", "1200")) {
			younger = append(younger, t.BuildRequest("listen", spec.Event{}))
		}
	}
	t.Run = older
	t.duringStreams(younger, func() { t.cancelDuringStream(3) })
}

// duringStreams sends the given stream requests, and calls request as soon as each response has a
// frame or has ended. It returns after all of them have ended.
func (t *Conversation) duringStreams(streams []spec.Request, request func()) {
	if len(streams) == 0 {
		request()
		return
	}
	t.DuringStream(streams[0], 1, func() { t.duringStreams(streams[1:], request) })
}

// The numbers of threads whose replies the crowd scenario streams at once.
const (
	crowdSize     = 16
	deepCrowdSize = 64
)

// runCrowd plays the crowd scenario: it sends a long prompt on each of many threads, with a random
// text of its own, and reads all replies at the same time. Then it asks in each thread for the
// previous message. Checks verify that each reply has its own text.
func runCrowd(t *Conversation) {
	if !t.target.isScripted {
		return
	}
	n := crowdSize
	if t.target.Deep {
		n = deepCrowdSize
	}
	if limit := t.target.StreamLimit; limit > 0 {
		n = min(n, limit)
	}
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
}

// sendToAll starts a run on each of the threads with a prompt filled from prompt(i), where i is the
// index of the thread, and reads all streams at the same time.
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
