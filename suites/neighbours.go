package suites

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// neighbourScenarios are the scenarios about threads and runs that a server could confuse with each
// other, because their ids are similar or because they are active at the same time.
var neighbourScenarios = []Scenario{
	{
		Name: "similar-threads", Doc: "threads whose ids differ in one character, in case or only in length", Capability: "recall",
		Templates: promptTemplates, Kinds: []spec.Kind{spec.SlotThread}, Run: runSimilarThreads,
	}, {
		Name: "similar-runs", Doc: "runs whose ids differ in case or only in length, and one id in two threads", Capability: "text",
		Templates: []string{"prompt", "listen"}, Run: runSimilarRuns,
	}, {
		Name: "first-runs", Doc: "the first two runs of a thread, started at the same time", Capability: "text",
		Templates: []string{"prompt", "listen"}, Kinds: []spec.Kind{"slot.created"}, Run: runFirstRuns,
	}, {
		Name: "run-ids", Doc: "runs with unusual ids, which the client chooses, one of them in two threads", Capability: "text",
		Templates: promptTemplates, UnlessTemplate: "listen", Kinds: []spec.Kind{spec.SlotRun}, Run: runRunIDs,
	}, {
		Name: "busy-thread", Doc: "a prompt in a thread whose stream is open, and one after it", Capability: "slow",
		Templates: promptTemplates, UnlessTemplate: "listen", Run: runBusyThread,
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
		Name: "cancel-no-run", Doc: "cancel requests for an ended and for an unknown run, while another run goes on", Capability: "cancel",
		Templates: []string{"prompt", "listen", "cancel"}, Run: runCancelNoRun,
	}, {
		Name: "crowd", Doc: "many threads whose replies are streamed at the same time", Capability: "recall",
		Templates: promptTemplates, Run: runCrowd,
	},
}

// forget removes the exchange with index n, counted from 0, and all later exchanges from the
// recording. It is meant for requests that a server may refuse although the document does not say
// so.
func (t *Conversation) forget(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trace.Exchanges = t.trace.Exchanges[:min(n, len(t.trace.Exchanges))]
}

// exchangeCount returns the number of exchanges in the recording so far.
func (t *Conversation) exchangeCount() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.trace.Exchanges)
}

// forgetIfRefused calls send, which sends one request. If the server refuses that request, the
// exchange is removed from the recording, so that no check judges the refusal.
func (t *Conversation) forgetIfRefused(send func()) {
	n := t.exchangeCount()
	if send(); t.wasRefused() {
		t.forget(n)
	}
}

// forgetIfFailed calls send, which sends requests. If the server refuses the last of them or its run
// fails, the exchanges are removed from the recording, and forgetIfFailed returns false. It is for
// values that some servers may refuse although the document does not say so.
func (t *Conversation) forgetIfFailed(send func()) bool {
	n := t.exchangeCount()
	if send(); t.hasFollowedLastRequest() {
		return true
	}
	t.forget(n)
	return false
}

// wasRefused reports whether the server refused the request of the last exchange, either with a
// status of 400 or above or with a refusal event.
func (t *Conversation) wasRefused() bool {
	return t.LastEvent(spec.HTTPResponse).StatusCode >= 400 || t.LastEvent(spec.RunRefused).Kind != ""
}

// startIfTaken is like [Conversation.StartRun] with the template "prompt" and the values in e, but
// the argument run is the id of the run, or "" for a new id. It returns false if the server refuses
// the request, or if the response says that the run failed. In both cases, it removes the exchange
// from the recording, because the documents do not say which strings are valid ids, so that checks
// must not judge the refusal.
func (t *Conversation) startIfTaken(run string, e spec.Event) bool {
	return t.startTemplateIfTaken("prompt", run, e)
}

// startTemplateIfTaken is like [Conversation.startIfTaken], but sends a request of the template.
func (t *Conversation) startTemplateIfTaken(template, run string, e spec.Event) bool {
	n := t.exchangeCount()
	if t.Run = run; run == "" {
		t.Run = t.NewID()
	}
	if t.SendTemplate(template, e) && t.hasFollowedLastRequest() {
		return true
	}
	t.forget(n)
	return false
}

// similarIDs returns three UUIDs, each of which differs from id, also a UUID, in one digit.
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

// similarNames returns strings that are made from the UUID id and are similar to each other. They
// differ, for example, in case, in length, in a trailing space, only in the last of many
// characters, in what precedes or follows a punctuation mark, a line feed or NUL, or in one
// character beyond ASCII. Two of them are numbers with the same value. A server may confuse some of
// them if it decodes "%2F" or "+", cuts strings at NUL, or normalizes accented letters.
func similarNames(id string) []string {
	name := "Thread-" + id
	long, longer := name+strings.Repeat("0", 80), name+strings.Repeat("0", 256)
	decimal := func(r rune) rune { return []rune("0123456789012345")[strings.IndexRune("0123456789abcdef", r)] }
	number := strings.Map(decimal, strings.ReplaceAll(id, "-", ""))
	return []string{
		long + "1", long + "2", longer + "1", longer + "2",
		name, strings.ToLower(name), strings.ToUpper(name), name + "0", name[:len(name)-1],
		strings.ReplaceAll(name, "-", ""), strings.ReplaceAll(name, "-", "_"), "0" + number, "00" + number,
		name + "/a", name + "%2Fa", name + ".a", name + "#a", name + "?a", name + "\x00a",
		name + " ", name + "\u00e9", name + "\u00e8", name + "e\u0301", name + "\U0001f600", name + "\U0001f601",
		name + "\u00c9", name + "\u200b", "a/" + name, "b/" + name, "a:" + name, "b:" + name,
		name + "+a", name + " a", name + "\na", name + "\nb",
	}
}

// runSimilarThreads plays the similar-threads scenario with several threads whose ids are similar.
// In each thread, it asks for the previous message and then sends another message. Finally, it asks
// for the previous message in each thread again, and requests the histories. Checks verify that
// each thread contains only its own messages. The ids are UUIDs and, if the dialect's document
// allows them, other strings. Threads whose ids the server refuses are left out. If the agent is
// not scripted, runSimilarThreads sends nothing, because the replies could not be judged.
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

// readTimeout is how long the client reads a stream that the server need not end.
const readTimeout = 2 * time.Second

// runSimilarRuns plays the similar-runs scenario. It starts several runs with similar ids in one
// thread, and a run in another thread that has the same id as one of them. Then it reads the
// streams of all these runs to their ends, and requests a stream with a similar id that no run has.
// Checks verify that each stream ends and contains only the events of its own run. Runs whose ids
// the server refuses are left out.
func runSimilarRuns(t *Conversation) {
	first, second := t.Thread, t.NewID()
	names := similarNames(t.NewID())
	runs := []runRef{{second, names[0]}}
	for _, name := range append(names, names[0]+"&=0") {
		runs = append(runs, runRef{first, name})
	}
	missing := runRef{first, names[0][:len(names[0])-2]} // a run that does not exist
	var streams []spec.Request
	for i, r := range runs {
		if t.Thread = r.thread; t.startIfTaken(r.id, t.PromptEvent("text", "of run "+strconv.Itoa(i))) {
			streams = append(streams, t.BuildRequest("listen", spec.Event{}))
		}
	}
	t.sendTogether(streams, t.maxStreams(maxOpenStreams), nil)
	t.Thread, t.Run = missing.thread, missing.id
	t.listenIfTaken()
}

// cancelIfTaken requests the cancellation of the current run. A server may refuse that if the run
// has ended or does not exist; if it does, the exchange is removed from the recording.
func (t *Conversation) cancelIfTaken() {
	t.forgetIfRefused(func() { t.SendTemplate("cancel", spec.Event{}) })
}

// listenIfTaken requests the stream of the current run, which need not exist, and reads it for at
// most [readTimeout]. A server may refuse the request; if it does, the exchange is removed from the
// recording.
func (t *Conversation) listenIfTaken() {
	t.forgetIfRefused(func() { t.send(t.BuildRequest("listen", spec.Event{}), wire.StopWhen{Elapsed: readTimeout}) })
}

// runRunIDs plays the run-ids scenario. It starts several runs in one thread, each with a different
// unusual id, and then a run with one of these ids in another thread. Checks verify that the server
// repeats these ids. runRunIDs uses no id twice in the same thread, because the message of the
// second run would then have the id of an earlier message, and servers may merge messages with the
// same id. Runs whose ids the server refuses are left out. runRunIDs sends nothing if requests do
// not contain the id of the run.
func runRunIDs(t *Conversation) {
	if t.Run = t.NewID(); t.dialect.ParseRequest(t.BuildRequest("prompt", t.PromptEvent("text", "one"))).Run != t.Run {
		return
	}
	names := similarNames(t.NewID())
	takesNames := false
	for i, id := range names {
		takesNames = t.startIfTaken(id, t.PromptEvent("text", "of run "+strconv.Itoa(i))) || takesNames
	}
	if takesNames { // otherwise, ids may have to be UUIDs, whose spellings are equivalent
		id := strings.ToUpper(t.NewID())
		t.startIfTaken(id, t.PromptEvent("text", "an id in capitals"))
		t.startIfTaken(strings.ReplaceAll(t.NewID(), "-", ""), t.PromptEvent("text", "an id without hyphens"))
	}
	t.Thread = t.NewID()
	t.startIfTaken(names[0], t.PromptEvent("text", "in another thread"))
}

// runBusyThread plays the busy-thread scenario. While a slow stream is open, it sends another
// prompt in the same thread, which the server may accept or refuse. After both, it sends a third
// one. Checks verify that the first stream ends as every stream must, and that the third prompt is
// accepted. What the replies say is not judged, because the documents do not say whether a run may
// take the place of another. If the target allows a user only one open stream, runBusyThread sends
// nothing.
func runBusyThread(t *Conversation) {
	if t.target.StreamLimit == 1 {
		return
	}
	t.judgesForm = true
	t.Run = t.NewID()
	t.DuringStream(t.BuildRequest("prompt", t.PromptEvent("slow", "20 40")), 3, func() {
		t.startIfTaken("", t.PromptEvent("text", "meanwhile"))
	})
	t.Sleep(silence)
	t.SendAndRead("prompt", t.PromptEvent("text", "afterwards"))
}

// besideOffer calls send while the stream of a slow run in another thread is open. The request that
// starts this run offers a client tool named "measure". besideOffer calls send without opening such
// a stream if the response to an offer of a tool is not the stream of the run, if the target allows
// a user only one open stream, or if the target lacks the capability "slow".
func (t *Conversation) besideOffer(send func()) {
	if !t.respondsWithStream("tool-offer") || t.target.StreamLimit == 1 || t.target.lacksCapability("slow") {
		send()
		return
	}
	thread := t.Thread
	t.Thread, t.Run = t.NewID(), t.NewID()
	e := t.PromptEvent("slow", slowPromptArgs)
	e.Name = "measure"
	stream := t.BuildRequest("tool-offer", e)
	t.Thread = thread
	t.DuringStream(stream, 1, send)
}

// runCrosswise returns the Run function of a scenario. In each of four threads, the function makes
// the server send an interrupt or call a client tool, which has a different name in each thread.
// Then it sends the replies in the order of the threads, except that the reply in the last thread
// comes before the one in the third. Finally, it asks for the previous message in each thread. The
// argument prompt is the name of the test prompt, "client-tool" or "interrupt". The argument
// replyTemplate is the name of the template of the replies.
func runCrosswise(prompt, replyTemplate string) func(*Conversation) {
	return func(t *Conversation) {
		var threads []string
		replies := map[string]spec.Event{}
		for range 4 {
			t.Thread = t.NewID()
			template, e := t.elicitingRequest(replyTemplate)
			e.Text = t.PromptEvent(prompt, `{"thread":`+strconv.Itoa(len(threads))+`}`).Text
			if e.Name != "" {
				e.Name = clientTools[len(threads)%len(clientTools)]
			}
			ask := func() { t.SendAndRead(template, e) }
			if template == "tool-offer" && len(threads) == 0 {
				t.besideOffer(ask)
			} else {
				ask()
			}
			reply, ok := t.replyEvent(replyTemplate)
			if !ok {
				return
			}
			reply.Name = e.Name
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

// runCancelOlder plays the cancel-older scenario. It starts a run and then up to three more, as
// many as the stream limit of the target allows: two in the same thread with similar ids, and one
// in another thread with the same id. While the client reads the streams of these later runs,
// runCancelOlder cancels the first run. Checks verify that the other runs go on. Then it does the
// same with runs whose ids differ only in the form of an accented letter, or would be the same if a
// percent-encoded letter in them were decoded. Finally it does the same with two runs that are
// started with the template "automation", if the dialect has it. If the target allows a user only
// one open stream, runCancelOlder sends nothing.
func runCancelOlder(t *Conversation) {
	thread, other := t.Thread, t.NewID()
	older := "Run-" + t.NewID()
	t.cancelOlder("prompt", runRef{thread, older}, []runRef{{thread, older + "0"}, {other, older}, {thread, strings.ToLower(older)}})
	t.cancelOlder("prompt", runRef{thread, older + "%41\u00e9"}, []runRef{{thread, older + "%41e\u0301"}, {thread, older + "A\u00e9"}})
	if t.HasTemplate("automation") {
		t.cancelOlder("automation", runRef{thread, t.NewID()}, []runRef{{thread, t.NewID()}})
	}
}

// cancelOlder starts the run that the argument older describes, and then those in younger: all of
// them, or as many as the stream limit of the target allows. The requests are of the given
// template. While the client reads the streams of the later runs, cancelOlder cancels the first
// one. If the server refuses the first run, cancelOlder starts no other. If the target allows a
// user only one open stream, it starts none at all.
func (t *Conversation) cancelOlder(template string, older runRef, younger []runRef) {
	limit := t.target.StreamLimit
	if t.Thread = older.thread; limit == 1 || !t.startTemplateIfTaken(template, older.id, t.PromptEvent("slow", "40 50")) {
		return
	}
	var streams []spec.Request
	for _, r := range younger {
		t.Thread = r.thread
		if (limit == 0 || len(streams)+2 <= limit) && t.startTemplateIfTaken(template, r.id, t.PromptEvent("idle", "1200")) {
			streams = append(streams, t.BuildRequest("listen", spec.Event{}))
		}
	}
	t.Thread, t.Run = older.thread, older.id
	t.duringStreams(streams, func() { t.cancelDuringStream(3) })
}

// runCancelNoRun plays the cancel-no-run scenario. While the client reads the stream of a run, it
// sends cancel requests for a run of the same thread that has ended and for one that does not
// exist. A server may refuse these two requests; if it does, the exchange is removed from the
// recording. If the document requires a run id in cancel requests, the client also sends one
// without it. Checks verify that the run goes on.
func runCancelNoRun(t *Conversation) {
	t.SendAndRead("prompt", t.PromptEvent("text", "first"))
	ended := t.Run
	if !t.StartRun("prompt", t.PromptEvent("idle", "1200")) {
		return
	}
	live := t.Run
	t.DuringStream(t.BuildRequest("listen", spec.Event{}), 1, func() {
		for _, t.Run = range []string{ended, t.NewID()} {
			t.cancelIfTaken()
		}
		if t.Run = ""; !t.isValid("cancel", spec.Event{}) {
			t.SendTemplate("cancel", spec.Event{})
		}
	})
	t.Run = live
	t.ReadStream("", 0)
}

// runFirstRuns plays the first-runs scenario. In each of several new threads, it starts two runs at
// the same time. Checks verify that at most one of the two responses says that the thread was
// created.
func runFirstRuns(t *Conversation) {
	for range 4 {
		t.Thread = t.NewID()
		var starts []spec.Request
		for _, text := range []string{"one", "two"} {
			t.Run = t.NewID()
			starts = append(starts, t.BuildRequest("prompt", t.PromptEvent("text", text)))
		}
		t.sendTogether(starts, len(starts), nil)
	}
}

// duringStreams sends the given requests, each of which must ask for an event stream, and reads all
// responses to their ends at the same time. As soon as the response to a request has a frame with
// data or has ended, it sends the next request or, after the last one, calls the function request.
// If streams is empty, it calls request at once. duringStreams returns when the call and all
// responses have ended.
func (t *Conversation) duringStreams(streams []spec.Request, request func()) {
	if len(streams) == 0 {
		request()
		return
	}
	t.DuringStream(streams[0], 1, func() { t.duringStreams(streams[1:], request) })
}
