package suites

import (
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// neighbourScenarios are the scenarios about threads and runs that a server could confuse with each
// other, because their ids are similar or because they are in progress at the same time.
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
		Name: "busy-user", Doc: "a prompt of the same user in another thread, during a stream",
		Capability: "slow", Templates: []string{"prompt", "user"}, UnlessTemplate: "listen", Run: runBusyUser,
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

// forget removes the exchange with index n, counted from 0, and all later ones from the recording,
// so that checks do not judge them. It is used for requests that a server may refuse even though
// the dialect's document does not say so.
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

// forgetRefused removes the exchange with index n, counted from 0, and all later ones from the
// recording, so that the refusal of the last request, or the failure of its run, is not judged.
// However, it keeps them if the status of the last response is 5xx other than 503, because such a
// status is an error even if the server may refuse the request.
func (t *Conversation) forgetRefused(n int) {
	if status := t.lastStatus(); status/100 != 5 || isBusyStatus(status) {
		t.forget(n)
	}
}

// forgetIfRefused calls send, which sends one request. If the server refuses the request,
// forgetIfRefused calls [Conversation.forgetRefused] for the exchange.
func (t *Conversation) forgetIfRefused(send func()) {
	n := t.exchangeCount()
	if send(); t.wasRefused() {
		t.forgetRefused(n)
	}
}

// forgetIfFailed calls send, which sends requests, and reports whether the last request was
// successful; see [Conversation.hasFollowedLastRequest]. If it was not, forgetIfFailed calls
// [Conversation.forgetRefused] for all exchanges of send. It is used for requests with values that
// a server may refuse although the dialect's document does not state so.
func (t *Conversation) forgetIfFailed(send func()) bool {
	n := t.exchangeCount()
	if send(); t.hasFollowedLastRequest() {
		return true
	}
	t.forgetRefused(n)
	return false
}

// wasRefused reports whether the server refused the last request, with a status of at least 400 or
// with a refusal event.
func (t *Conversation) wasRefused() bool {
	return t.LastEvent(spec.HTTPResponse).StatusCode >= 400 || t.LastEvent(spec.RunRefused).Kind != ""
}

// startIfTaken starts a run with a prompt that it builds from e, and reports whether the server
// accepted it. The argument run is the id of the run; "" stands for a new id. If the server refuses
// the request or the run fails, startIfTaken calls [Conversation.forgetRefused] for the exchange,
// because the protocols do not define which strings are valid ids.
func (t *Conversation) startIfTaken(run string, e spec.Event) bool {
	return t.startTemplateIfTaken("prompt", run, e)
}

// startTemplateIfTaken is like [Conversation.startIfTaken], but builds the request from the
// template with the given name.
func (t *Conversation) startTemplateIfTaken(template, run string, e spec.Event) bool {
	n := t.exchangeCount()
	if t.Run = run; run == "" {
		t.Run = t.NewID()
	}
	if t.SendTemplate(template, e) && t.hasFollowedLastRequest() {
		return true
	}
	t.forgetRefused(n)
	return false
}

// similarIDs returns three UUIDs, each of which differs in one digit from id, which is a UUID.
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

// similarNames returns strings that contain the UUID id and are similar to each other. A server may
// confuse some of them if it ignores case or white space, truncates long strings, cuts strings at
// NUL or at a punctuation mark, decodes "%2F" or "+", normalizes accented letters, compares numbers
// by their values, or writes strings into JSON without escapes.
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
		name + "+a", name + " a", name + "\na", name + "\nb", name + `"a`, name + `\a`,
	}
}

// runSimilarThreads plays the similar-threads scenario on reused connections. It uses several threads whose ids are
// similar: UUIDs and, if the dialect's document allows them, other strings. In each thread, it asks
// for the previous message, sends another message, and finally asks again and requests the history.
// Checks verify that each thread contains only its own messages. If the server refuses an id,
// runSimilarThreads omits that thread. If the agent does not follow the test prompts
// (docs/prompts.md), it sends nothing.
func runSimilarThreads(t *Conversation) {
	if !t.target.isScripted { // checks cannot judge the replies
		return
	}
	t.keepAlive()
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

// readTimeout is the maximum time for which the client reads a stream that the server need not end.
const readTimeout = 2 * time.Second

// runSimilarRuns plays the similar-runs scenario. It starts runs with similar ids in one thread,
// and a run with one of these ids in another thread. Then it reads the streams of all these runs,
// and requests the stream of a run that does not exist but has a similar id. Checks verify that
// each stream ends and contains only the events of its own run. Runs whose ids the server refuses
// are ignored.
func runSimilarRuns(t *Conversation) {
	first, second := t.Thread, t.NewID()
	names := similarNames(t.NewID())
	runs := []runIdentity{{second, names[0]}}
	for _, name := range append(names, names[0]+"&=0") {
		runs = append(runs, runIdentity{first, name})
	}
	missing := runIdentity{first, names[0][:len(names[0])-2]} // a run that does not exist
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

// cancelIfTaken requests the cancellation of the current run, which need not be in progress. If the
// server refuses the request, the exchange is removed from the recording.
func (t *Conversation) cancelIfTaken() {
	t.forgetIfRefused(func() { t.SendTemplate("cancel", spec.Event{}) })
}

// listenIfTaken requests the stream of the current run, which need not exist, and reads it for at
// most [readTimeout]. If the server refuses the request, the exchange is removed from the
// recording.
func (t *Conversation) listenIfTaken() {
	t.forgetIfRefused(func() { t.send(t.BuildRequest("listen", spec.Event{}), wire.StopWhen{Elapsed: readTimeout}) })
}

// runRunIDs plays the run-ids scenario. It starts runs with different unusual ids in one thread,
// and a run with one of these ids in another thread. Checks verify that the responses contain the
// same ids. Runs whose ids the server refuses are ignored. runRunIDs sends nothing if requests do
// not contain the id of the run.
func runRunIDs(t *Conversation) {
	// No id is used twice in a thread: servers may merge messages whose ids, made from it, are the
	// same.
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

// runBusyThread plays the busy-thread scenario. While a stream of a thread is open, it sends a
// second prompt in the thread, which the server may accept or refuse. After the stream, it sends a
// third prompt. Checks verify that the first stream ends correctly and that the server accepts the
// third prompt. A refused second prompt must not affect the first run. If the server accepts the
// second prompt, the checks do not judge the content of the replies, because the protocols do not
// define whether a run may replace another. If [Target.StreamLimit] is 1, runBusyThread sends
// nothing.
func runBusyThread(t *Conversation) {
	if t.target.StreamLimit == 1 {
		return
	}
	t.Run = t.NewID()
	t.DuringStream(t.BuildRequest("prompt", t.PromptEvent("slow", "20 40")), 3, func() {
		t.judgesForm = t.startIfTaken("", t.PromptEvent("text", "meanwhile"))
	})
	t.Sleep(silence)
	t.SendAndRead("prompt", t.PromptEvent("text", "afterwards"))
}

// runBusyUser plays the busy-user scenario. It sends two prompts of one user in the same thread.
// While it sends the second one, a stream of that user in another thread is open. In a third
// thread, it asks for the previous message. Checks verify that the server accepts both prompts, and
// that the reply in the third thread repeats no prompt of the other threads. If
// [Target.StreamLimit] is 1, runBusyUser sends nothing.
func runBusyUser(t *Conversation) {
	if t.target.StreamLimit == 1 {
		return
	}
	user, busy, other := "user-"+t.NewID(), t.Thread, t.NewID()
	prompt := func(thread string, e spec.Event) spec.Event {
		t.Thread, e.User = thread, user
		return e
	}
	t.SendAndRead("user", prompt(other, t.PromptEvent("text", "before")))
	if !t.Sleep(silence) { // a server may refuse a run shortly after another one of its thread
		return
	}
	t.Run = t.NewID()
	stream := t.BuildRequest("user", prompt(busy, t.PromptEvent("slow", "12 40")))
	t.DuringStream(stream, 3, func() { t.SendAndRead("user", prompt(other, t.PromptEvent("text", "meanwhile"))) })
	if !t.target.lacksCapability("recall") { // what the same user said in other threads is not to be recalled
		t.SendAndRead("user", prompt(t.NewID(), t.PromptEvent("recall", "")))
	}
}

// besideOffer calls send while the stream of a slow run in another thread is open. The request for
// that run offers a client tool named "measure". If the target does not support such a run, or
// [Target.StreamLimit] is 1, besideOffer only calls send.
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

// runCrosswise returns the Run function of a scenario with pending replies in several threads. In
// each of four threads with similar ids, the function elicits an interrupt or a call of a client
// tool. Then it sends the replies in a different order, and asks for the previous message in each
// thread. The argument
// prompt is the name of the test prompt, "client-tool" or "interrupt", and replyTemplate is the
// name of the template for the replies.
func runCrosswise(prompt, replyTemplate string) func(*Conversation) {
	return func(t *Conversation) {
		var threads []string
		replies := map[string]spec.Event{}
		id := t.NewID()
		for _, thread := range append(similarIDs(id), id) {
			t.Thread = thread
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

// runCancelOlder plays the cancel-older scenario. It starts a run, then further runs with similar
// ids in the same thread and one with the same id in another thread. It cancels the first run while
// the client reads the streams of the others. It repeats this with other ids and, if the dialect
// has it, with the template "automation". Checks verify that the other runs continue. If
// [Target.StreamLimit] is 1, runCancelOlder sends nothing.
func runCancelOlder(t *Conversation) {
	thread, other := t.Thread, t.NewID()
	older := "Run-" + t.NewID()
	t.cancelOlder("prompt", runIdentity{thread, older}, []runIdentity{{thread, older + "0"}, {other, older}, {thread, strings.ToLower(older)}})
	t.cancelOlder("prompt", runIdentity{thread, older + "%41\u00e9"}, []runIdentity{{thread, older + "%41e\u0301"}, {thread, older + "A\u00e9"}})
	if t.HasTemplate("automation") {
		t.cancelOlder("automation", runIdentity{thread, t.NewID()}, []runIdentity{{thread, t.NewID()}})
	}
}

// cancelOlder starts the run older and then the runs in younger. It cancels the run older while the
// client reads the streams of the others. It starts only some of the runs in younger if all streams
// together would exceed [Target.StreamLimit]. The argument template is the name of the template for
// the requests that start the runs. If the server refuses the run older, cancelOlder sends no
// further requests. If the stream limit is 1, it sends nothing.
func (t *Conversation) cancelOlder(template string, older runIdentity, younger []runIdentity) {
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
// requests the cancellation of runs of the same thread that have ended or do not exist. If the
// server refuses one of these requests, the exchange is removed from the recording. If the
// dialect's document requires a run id in cancel requests, the client also sends a cancel request
// without a run id. Checks verify that the run continues.
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
// the same time. Checks verify that at most one of the two responses reports that the thread was
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

// duringStreams reads the responses to the given requests for event streams at the same time, and
// calls request once when each response has sent a frame with data or has ended. It returns when
// the call and all responses have ended.
func (t *Conversation) duringStreams(streams []spec.Request, request func()) {
	if len(streams) == 0 {
		request()
		return
	}
	t.DuringStream(streams[0], 1, func() { t.duringStreams(streams[1:], request) })
}
