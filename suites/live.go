package suites

import (
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// liveScenarios are the scenarios that send requests while a run is in progress or shortly after
// its end.
var liveScenarios = []Scenario{
	{
		Name: "late-reader", Doc: "a run that nobody reads at first, and readers that arrive when it ends or come back later", Capability: "slow",
		Templates: []string{"prompt", "listen"}, Run: runLateReader,
	}, {
		Name: "live-cursors", Doc: "a run that goes on, requested from its own cursors, those of another run and malformed ones", Capability: "resume",
		Required: true, Templates: []string{"prompt", "listen"}, Kinds: cursorKinds,
		ExpectedChecks: []string{"resume.takes-thread-cursor"}, Run: runLiveCursors,
	}, {
		Name: "cancel-again", Doc: "a run that is cancelled twice, and cancel requests after the end of a run", Capability: "cancel",
		Templates: []string{"prompt", "listen", "cancel"}, Run: runCancelAgain,
	}, {
		Name: "disconnect", Doc: "a client that leaves a stream, and then goes on in the same thread at once and later", Capability: "slow",
		Templates: promptTemplates, Run: runDisconnect,
	}, {
		Name: "pause", Doc: "a message, a client tool call and an interrupt that are followed up after a pause", Capability: "recall",
		Templates: promptTemplates, Run: runPause,
	},
}

// The duration of the pause in the pause scenario.
const (
	pauseLength     = 600 * time.Millisecond
	deepPauseLength = 2 * time.Second // if [Target.Deep] is set
)

// runPause plays the pause scenario, which tests whether the server remembers threads during a
// pause. It sends a message in one thread, elicits a call of a client tool in a second one, and
// elicits an interrupt in a third. After the pause, it asks for the previous message in the first
// thread, sends the tool result in the second, and answers the interrupt in the third. It omits the
// second or the third thread if the target does not support client tools or interrupts.
func runPause(t *Conversation) {
	first := t.Thread
	t.SendAndRead("prompt", t.PromptEvent("text", "before the pause"))
	var replies []pendingReply
	elicit := func(template string, needs Scenario) {
		if !t.target.supports(needs) {
			return
		}
		t.Thread = t.NewID()
		if e, ok := t.elicit(template); ok {
			e.Thread = t.Thread
			replies = append(replies, pendingReply{template, e})
		}
	}
	elicit("tool-result", needsClientTool)
	elicit("resume", needsInterrupt)
	pause := pauseLength
	if t.target.Deep {
		pause = deepPauseLength
	}
	if !t.acceptedAny || !t.Sleep(pause) {
		return
	}
	t.Thread = first
	t.SendAndRead("prompt", t.PromptEvent("recall", ""))
	for _, r := range replies {
		t.Thread = r.event.Thread
		t.SendAndRead(r.template, r.event)
	}
}

// unlockTimeout is the time for which the disconnect and stop scenarios try to start another run in
// a thread. It is slightly longer than the time during which the check accept.as-documented allows
// refusals.
const unlockTimeout = 6 * time.Second

// runDisconnect plays the disconnect scenario. It starts a run and closes the connection after two
// events of the stream. Then it tries to start another run in the thread, for up to
// [unlockTimeout], and sends further prompts. Checks verify that the server accepts the other run
// within that time, that the reply to a prompt that asks for the previous message repeats a prompt
// of this thread, and that the abandoned run does not affect the later ones.
func runDisconnect(t *Conversation) {
	recalls := !t.target.lacksCapability("recall")
	if recalls {
		t.SendAndRead("prompt", t.PromptEvent("text", "before"))
	}
	if !t.startAndLeave(t.PromptEvent("slow", "6 40")) {
		return
	}
	again := t.PromptEvent("text", "back again")
	if recalls && !t.promptUntilAccepted(t.PromptEvent("recall", "")) {
		t.SendAndRead("prompt", again) // without waiting a second time
	} else {
		t.promptUntilAccepted(again)
	}
	if recalls {
		t.SendAndRead("prompt", t.PromptEvent("recall", ""))
	}
	for _, prompt := range []struct{ scenario, args string }{
		{"tool", `{"city":"Paris"}`}, {"slow", "6 80"}, {"tool", `{"city":"Rome"}`}, {"error", "once more"},
	} {
		if !t.target.lacksCapability(prompt.scenario) {
			t.SendAndRead("prompt", t.PromptEvent(prompt.scenario, prompt.args))
		}
	}
	if t.canSend("health") {
		t.SendTemplate("health", spec.Event{})
	}
}

// promptUntilAccepted sends the prompt e in the current thread, each time after a short pause,
// until the server accepts the prompt and the run does not fail. The server may refuse prompts
// while another run is in progress. The last attempt is the first one that begins more than
// [unlockTimeout] after the call. promptUntilAccepted reports whether an attempt was successful.
func (t *Conversation) promptUntilAccepted(e spec.Event) (accepted bool) {
	for began := time.Now(); t.Sleep(300 * time.Millisecond); {
		late := time.Since(began) > unlockTimeout
		t.SendAndRead("prompt", e)
		if accepted = t.hasFollowedLastRequest(); late || accepted {
			break
		}
	}
	return accepted
}

// hasFollowedLastRequest reports whether the server has done what the last request asked for: the
// status of its response is 2xx, and the response has no event that reports a failed or refused
// run.
func (t *Conversation) hasFollowedLastRequest() bool {
	failed := t.LastEvent(spec.RunError).Kind != "" || t.LastEvent(spec.RunRefused).Kind != ""
	return t.LastEvent(spec.HTTPResponse).StatusCode/100 == 2 && !failed
}

// startAndLeave starts a run with the prompt e and closes the connection after two events of its
// stream. It reports whether the server accepted the prompt.
func (t *Conversation) startAndLeave(e spec.Event) (accepted bool) {
	if t.respondsWithStream("prompt") {
		t.Run = t.NewID()
		return t.send(t.BuildRequest("prompt", e), wire.StopWhen{Frames: 2})
	}
	if accepted = t.StartRun("prompt", e); accepted {
		t.ReadStream("", 2)
	}
	return accepted
}

// The time between the start of a run and the request for its stream in the late-reader scenario.
const (
	lateReader     = 300 * time.Millisecond
	deepLateReader = 6 * time.Second // if [Target.Deep] is set
)

// runLateReader plays the late-reader scenario. First, it reads the stream of a run that succeeds
// and of a run that fails. Next, it starts a short and a long run, and requests their streams only
// after the short one has ended. It then starts another short run and requests the stream of that
// run several times, until after its end. Finally, it reads the first two streams again. Checks
// compare the streams of each run.
func runLateReader(t *Conversation) {
	wait, prompt := lateReader, t.PromptEvent("slow", "12 60")
	if t.target.Deep {
		wait, prompt = deepLateReader, t.PromptEvent("slow", "70 100")
	}
	slow := t.Thread
	var again []spec.Request
	for _, scenario := range []string{"text", "error"} {
		if !t.target.lacksCapability(scenario) {
			t.Thread = t.NewID()
			t.SendAndRead("prompt", t.PromptEvent(scenario, "read again later"))
			again = append(again, t.BuildRequest("listen", spec.Event{}))
		}
	}
	t.Thread = t.NewID()
	t.StartRun("prompt", t.PromptEvent("text", "read late"))
	early := t.BuildRequest("listen", spec.Event{})
	t.Thread = slow
	if !t.StartRun("prompt", prompt) || !t.Sleep(wait) {
		return
	}
	t.ReadStream("", 0)
	t.ReadStream("", 0)
	t.Send(early)
	if !t.StartRun("prompt", t.PromptEvent("slow", "3 30")) {
		return
	}
	listen := t.BuildRequest("listen", spec.Event{})
	for range 8 { // before, at and after the end of the run
		t.Sleep(10 * time.Millisecond)
		t.Send(listen)
	}
	for _, r := range again {
		t.Send(r)
	}
}

// maxLiveReaders is the maximum number of streams that the live-cursors scenario reads at the same
// time. A lower [Target.StreamLimit] takes precedence.
const maxLiveReaders = 4

// runLiveCursors plays the live-cursors scenario. While a run is in progress, it requests the
// stream of the run with various cursors: cursors of the run itself, of an earlier run and of
// another thread, a cursor after the latest event, and malformed ones. Checks judge the responses.
func runLiveCursors(t *Conversation) {
	before, elsewhere := t.earlierCursors()
	if !t.StartRun("prompt", t.PromptEvent("slow", "20 60")) {
		return
	}
	t.ReadStream("", 3)
	own := t.Cursors()
	if len(before) == 0 || len(elsewhere) == 0 || len(own) == 0 {
		return
	}
	last := own[len(own)-1]
	probes := []string{last + "%%", elsewhere[0], laterCursor(last), last + "-0-x"}
	for _, cursor := range probes {
		t.readStream(cursor, wire.StopWhen{Elapsed: probeTimeout / 4})
	}
	var streams []spec.Request
	for _, cursor := range append(own, before[0], before[len(before)-1]) {
		streams = append(streams, t.BuildRequest("listen", spec.Event{Cursor: cursor}))
	}
	t.sendTogether(streams, t.maxStreams(maxLiveReaders), nil)
	t.ReadStream("", 0)
}

// runCancelAgain plays the cancel-again scenario on reused connections. It cancels runs repeatedly:
// before and while the client reads their streams, and after they have ended or failed. It reads
// their streams again, with and without a cursor, and requests the history. Checks verify that each
// run has exactly one terminal event, that streams requested without a cursor are complete, and
// that the server accepts every request to cancel a run, even if it is repeated.
func runCancelAgain(t *Conversation) {
	t.keepAlive()
	if !t.StartRun("prompt", t.PromptEvent("slow", "40 50")) {
		return
	}
	listen := t.BuildRequest("listen", spec.Event{})
	t.DuringStream(listen, 2, func() {
		t.SendTemplate("cancel", spec.Event{})
		t.SendTemplate("cancel", spec.Event{})
	})
	t.SendTemplate("cancel", spec.Event{})
	t.ReadStream("", 0)
	t.SendAndRead("prompt", t.PromptEvent("text", "ended"))
	t.SendTemplate("cancel", spec.Event{})
	t.SendTemplate("cancel", spec.Event{})
	t.ReadStream("", 0)
	if cursors := t.Cursors(); len(cursors) > 1 && !t.target.lacksCapability("resume") {
		t.ReadStream(cursors[len(cursors)/2], 0)
		t.ReadStream("", 0) // on the connection of the request with the cursor
	}
	if !t.target.lacksCapability("error") {
		t.SendAndRead("prompt", t.PromptEvent("error", "failed before it is cancelled"))
		t.SendTemplate("cancel", spec.Event{})
	}
	if t.StartRun("prompt", t.PromptEvent("slow", "40 50")) { // canceled before anybody reads it
		t.SendTemplate("cancel", spec.Event{})
		t.ReadStream("", 0)
	}
	t.SendAndRead("prompt", t.PromptEvent("text", "afterwards"))
	t.completeHistory()
}
