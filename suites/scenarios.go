package suites

import (
	"slices"
	"strconv"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Scenario is a sequence of requests that exercises certain checks. It can be played in every
// dialect that has the templates and the kinds of events that the scenario needs. A Scenario does
// not judge anything itself.
type Scenario struct {
	Name string // differs from the names of all other scenarios
	Doc  string // description in one line
	// Capability is the name of the capability that a target must have for the scenario. If it is
	// "", the capability has the name of the scenario.
	Capability string
	// Required is true if the dialect's document requires what the scenario tests. Every target then
	// promises it, unless the target is declared to lack the capability.
	Required       bool
	Templates      []string    // templates that the dialect must have
	UnlessTemplate string      // template that the dialect must not have; "" if none
	Kinds          []spec.Kind // kinds of events that the dialect must have
	// Denial is the reason for the refusals that the scenario tests; "" if it tests none. The
	// dialect's document must describe such refusals, and the target must be configured for them.
	Denial         spec.DenialReason
	Exclusive      bool                // must be played alone, after the others, whose requests would affect its results
	ExpectedChecks []string            // ids of checks that must judge something if the target promises the capability
	Run            func(*Conversation) // plays the scenario; nil for a generated one or a recording
}

// AppliesTo reports whether the dialect has the templates, the kinds of events and the denial that
// the scenario needs, and does not have s.UnlessTemplate.
func (s Scenario) AppliesTo(d *dialect.Dialect) bool {
	templates, kinds := d.Templates(), d.Kinds()
	if s.UnlessTemplate != "" && slices.Contains(templates, s.UnlessTemplate) {
		return false
	}
	if s.Denial != "" && !d.HasDenial(s.Denial) {
		return false
	}
	return !slices.ContainsFunc(s.Templates, func(p string) bool { return !slices.Contains(templates, p) }) &&
		!slices.ContainsFunc(s.Kinds, func(k spec.Kind) bool { return !slices.Contains(kinds, k) })
}

// capabilityName returns the name of the capability that a target must have for the scenario:
// s.Capability or, if that is "", s.Name.
func (s Scenario) capabilityName() string {
	if s.Capability != "" {
		return s.Capability
	}
	return s.Name
}

// naturalPrompts maps the name of a scenario to the sentence that the scenario sends to agents that
// do not know the conformance prompts (see [NaturalPrompts]).
var naturalPrompts = map[string]string{
	"text":        "Please greet the world in one sentence.",
	"empty":       "Please answer with nothing at all.",
	"messages":    "Please answer in two separate messages: one, then two.",
	"contents":    "Please answer with a short text and an image.",
	"reasoning":   "Please think aloud, then answer.",
	"tool":        "Please use your tool to look something up, then answer.",
	"tools":       "Please use your tool twice at once, then answer.",
	"slow":        "Please count slowly to twenty, one number to a line.",
	"many":        "Please write a long text.",
	"large":       "Please write a very long text.",
	"idle":        "Please think for a while without saying anything.",
	"error":       "Please fail.",
	"error-mid":   "Please fail in the middle of your answer.",
	"client-tool": "Please call the tool that I offer.",
	"interrupt":   "Please ask me for approval before you go on.",
	"recall":      "What did I say before this?",
	"state":       "Please change the state that we share.",
	"steps":       "Please answer in two steps.",
}

// promptTemplates lists the templates that a scenario needs if it only sends prompts.
var promptTemplates = []string{"prompt"}

// basicStreamChecks are the ids of the checks that judge the stream of any complete run.
var basicStreamChecks = []string{
	"wire.opens-stream", "wire.frames-are-json", "wire.matches-schema", "wire.utf-8",
	"run.opens-first", "run.comes-first", "run.ends", "run.ends-once", "run.end-is-last",
}

// singlePrompt returns a scenario with the given name. The scenario sends the test prompt of that
// name, with words as its arguments, and reads the stream. The argument doc describes the scenario
// in one line, and expectedChecks are the ids of the checks that must judge something in it.
func singlePrompt(name, words, doc string, expectedChecks ...string) Scenario {
	return Scenario{
		Name: name, Doc: doc, Templates: promptTemplates, ExpectedChecks: expectedChecks,
		Run: func(t *Conversation) { t.SendAndRead("prompt", t.PromptEvent(name, words)) },
	}
}

// failingPrompt returns a scenario that sends the test prompt with the given name, which makes a
// run fail. If the dialect has a template whose requests also contain earlier messages, the
// scenario sends the prompt again with that template, in another thread. The name of the test
// prompt is also the name of the scenario, and doc describes the scenario in one line.
func failingPrompt(name, doc string) Scenario {
	s := singlePrompt(name, "scripted failure", doc)
	s.Run = func(t *Conversation) {
		e := t.PromptEvent(name, "scripted failure")
		t.SendAndRead("prompt", e)
		o, _ := t.dialect.TemplateOperation("prompt")
		for _, template := range o.TemplatesBySimplicity() {
			asked := t.dialect.ParseRequest(t.BuildRequest(template, e))
			hasHistory := len(asked.PartsOf(spec.InputUser)) > 0 && len(asked.PartsOf(spec.InputAssistant)) > 0
			if hasHistory && !isReplyTemplate(template) {
				t.Thread = t.NewID()
				t.SendAndRead(template, e)
				return
			}
		}
	}
	return s
}

// needing returns a copy of s that applies only to dialects with all of the given kinds of events.
func (s Scenario) needing(kinds ...spec.Kind) Scenario {
	s.Kinds = kinds
	return s
}

// Scenarios returns all scenarios that come with this package, in the order of the results of
// [Run]. Generated sequences and combinations are not among them.
func Scenarios() []Scenario {
	return slices.Concat(
		singleUserScenarios, replyScenarios, payloadScenarios, variantScenarios, streamEndScenarios, resumeScenarios,
		historyScenarios, outcomeScenarios, accessScenarios, neighbourScenarios, liveScenarios, rangeScenarios,
	)
}

// singleUserScenarios are the basic scenarios. None of them requires cursors, histories or a second
// user.
var singleUserScenarios = []Scenario{
	singlePrompt("text", "Grüß Gott, 世界 — “ok” 🙂", "a plain reply", basicStreamChecks...),
	singlePrompt("empty", "", "a reply without a message", "wire.opens-stream"),
	singlePrompt("messages", "", "two messages, one after the other"),
	singlePrompt("contents", "", "a message with a text and an image"),
	singlePrompt("reasoning", "an answer", "reasoning, then a reply"),
	singlePrompt("tool", `{"city":"Paris","days":[1,2,3]}`, "a call of the server's own tool",
		"tool.arguments-are-json", "tool.starts-first", "tool.all-end", "tool.result-after-call", "tool.ids-unique").
		needing(spec.ToolResult),
	singlePrompt("tools", "", "two calls of the server's own tool",
		"tool.starts-first", "tool.all-end", "tool.result-after-call").needing(spec.ToolResult),
	{
		Name: "client-tool", Doc: "a call of a client tool, and its result",
		Templates:      []string{"tool-offer", "tool-result"},
		ExpectedChecks: []string{"tool.client-call-is-left-open", "tool.client-call-is-offered", "script.client-tool", "script.client-tool-result"},
		Run:            runClientTool,
	}, {
		Name: "interrupt", Doc: "an interrupt, and the request that resumes the run",
		Templates: []string{"prompt", "resume"}, Kinds: []spec.Kind{spec.Interrupt},
		ExpectedChecks: []string{"interrupt.is-last", "script.interrupt", "script.resume"},
		Run:            elicitAndReply("resume"),
	}, {
		Name: "interrupt-cancelled", Doc: "interrupts that the user dismisses, before and after one with an answer",
		Capability: "interrupt", Templates: []string{"prompt", "resume", "resume-cancelled"}, Kinds: []spec.Kind{spec.Interrupt},
		Run: func(t *Conversation) {
			for _, template := range []string{"resume-cancelled", "resume", "resume-cancelled"} {
				elicitAndReply(template)(t)
			}
		},
	}, {
		Name: "recall", Doc: "the message before, in the same thread and in another", Templates: promptTemplates,
		ExpectedChecks: []string{"script.recall"},
		Run: func(t *Conversation) {
			t.SendAndRead("prompt", t.PromptEvent("text", "one"))
			t.SendAndRead("prompt", t.PromptEvent("recall", ""))
			t.Thread = t.NewID()
			t.SendAndRead("prompt", t.PromptEvent("recall", ""))
		},
	},
	{
		Name: "state", Doc: "a state that the client has, and changes of it", Templates: []string{"state"},
		Kinds: []spec.Kind{spec.StateSnapshot, spec.StateDelta}, Run: runState,
	},
	singlePrompt("steps", "", "two steps with a message each").needing(spec.StepStart, spec.StepEnd),
	{
		Name: "slow", Doc: "deltas some time apart, on a connection that had a reply before", Templates: promptTemplates,
		ExpectedChecks: []string{"wire.flushes"},
		Run: func(t *Conversation) {
			t.keepAlive()
			t.SendAndRead("prompt", t.PromptEvent("text", "a reply before"))
			t.SendAndRead("prompt", t.PromptEvent("slow", "8 80"))
		},
	},
	{
		Name: "slow-pauses", Doc: "deltas more than a second apart", Capability: "slow", Templates: promptTemplates,
		Run: func(t *Conversation) { t.SendAndRead("prompt", t.PromptEvent("slow", "4 1300")) },
	},
	singlePrompt("many", "1025", "many deltas at once"),
	singlePrompt("large", "100000", "one large delta"),
	{
		Name: "idle", Doc: "silence, then a reply, a run afterwards, and a longer silence", Templates: promptTemplates,
		Run: func(t *Conversation) {
			t.SendAndRead("prompt", t.PromptEvent("idle", "400"))
			t.SendAndRead("prompt", t.PromptEvent("text", "after the silence"))
			t.SendAndRead("prompt", t.PromptEvent("idle", "1500"))
		},
	},
	failingPrompt("error", "a run that fails before any content, without and after earlier messages"),
	failingPrompt("error-mid", "a run that fails after some content, without and after earlier messages"),
	{
		Name: "no-thread", Doc: "prompts without a thread id, each in a new thread", Templates: promptTemplates,
		Capability: "text", Kinds: []spec.Kind{spec.RunStart}, Run: runNoThread,
	}, {
		Name: "idle-limit", Doc: "silent streams with an idle limit of one and of three polls", Capability: "idle",
		Templates: []string{"prompt", "listen"}, Kinds: []spec.Kind{"slot.limit"},
		ExpectedChecks: []string{"run.idle-limit-ends", "wire.keeps-alive", "wire.keep-alive-text"},
		Run:            runIdleLimit,
	}, {
		Name: "idle-ended", Doc: "silent streams that the server ends or the client leaves, resumed and read again", Capability: "idle",
		Templates: []string{"prompt", "listen"}, Kinds: []spec.Kind{"slot.limit"}, Run: runIdleEnded,
	}, {
		Name: "two-runs", Doc: "two runs of one thread at the same time, and six, of which one is resumed at each of its events", Capability: "text",
		Templates: []string{"prompt", "listen"}, Run: runTwoRuns,
	}, {
		Name: "together", Doc: "a run that goes on while another run of its thread ends and one is cancelled", Required: true,
		Capability: "cancel", Templates: []string{"prompt", "listen", "cancel"}, Run: runTogether,
	}, {
		Name: "cancel", Doc: "a run that is cancelled during its stream", Required: true, Templates: []string{"prompt", "listen", "cancel"},
		ExpectedChecks: []string{"reply.as-promised", "cancel.run-ends"},
		Run: func(t *Conversation) {
			if t.StartRun("prompt", t.PromptEvent("slow", "60 50")) {
				t.cancelDuringStream(3)
				t.ReadStream("", 0)
				cursors := t.Cursors()
				t.readAfterEnd()
				if len(cursors) > 0 && !t.target.lacksCapability("resume") {
					t.ReadStream(cursors[0], 0)
				}
			}
			if t.StartRun("prompt", t.PromptEvent("idle", "3000")) { // nothing wakes it but the cancel
				t.cancelDuringStream(1)
			}
		},
	}, {
		Name: "stop", Doc: "a cancel request after the stream of the run has ended",
		Capability: "cancel", Templates: []string{"prompt", "cancel"}, UnlessTemplate: "listen",
		Run: func(t *Conversation) { // the documents leave open how the stream of a cancelled run ends
			t.SendAndRead("prompt", t.PromptEvent("text", "one"))
			t.SendTemplate("cancel", spec.Event{})
			if !t.target.lacksCapability("recall") {
				t.SendAndRead("prompt", t.PromptEvent("recall", ""))
			}
		},
	}, {
		Name: "attachments", Doc: "an image that is uploaded, gets a new signed URL, and is sent", Required: true, Templates: []string{"prompt", "attach", "sign", "uploaded"},
		ExpectedChecks: []string{"attachment.type-as-sent", "attachment.signs-what-was-asked"},
		Run:            runAttachments,
	}, {
		Name: "transcribe", Doc: "a recording of speech, uploaded under each of its media types", Required: true, Templates: []string{"prompt", "transcribe"},
		ExpectedChecks: []string{"transcript.is-told"},
		Run: func(t *Conversation) {
			t.SendAndRead("prompt", t.PromptEvent("text", "one"))
			o, _ := t.dialect.TemplateOperation("transcribe")
			for _, template := range o.Templates() {
				n := t.exchangeCount()
				if t.SendTemplate(template, spec.Event{}); template == "transcribe-short" && t.wasRefused() {
					t.forget(n)
				}
			}
		},
	}, {
		Name: "accepts", Doc: "every form of request that the document allows", Capability: "text", Templates: promptTemplates,
		ExpectedChecks: []string{"accept.as-documented"}, Run: runAccepts,
	}, {
		Name: "refusals", Doc: "requests with one fault each, some with two, and the same requests without the fault", Required: true, Templates: promptTemplates,
		ExpectedChecks: []string{"refuse.as-documented"}, Run: runRefusals,
	}, {
		Name: "health", Doc: "the health and version operations, before and after a run that fails", Templates: []string{"health"},
		ExpectedChecks: []string{"health.answers"}, Run: runHealth,
	},
}

// runHealth plays the health scenario. On a connection that is reused, it sends the requests for
// information about the server twice, and once more after a run that fails.
func runHealth(t *Conversation) {
	t.keepAlive()
	for i := range 3 {
		if i == 2 && t.target.supports(Scenario{Templates: promptTemplates, Capability: "error"}) {
			t.SendAndRead("prompt", t.PromptEvent("error", "scripted failure"))
		}
		for _, template := range t.dialect.InfoTemplates() {
			t.SendTemplate(template, spec.Event{})
		}
	}
}

// isValid reports whether the request of the template, with the values in e in place of its
// placeholders, is valid according to the dialect's document.
func (t *Conversation) isValid(template string, e spec.Event) bool {
	return len(t.dialect.ValidateRequest(t.BuildRequest(template, e))) == 0
}

// runNoThread plays the no-thread scenario. It sends prompts without a thread id, unless the
// document requires one. The last of them asks for the previous message, which does not exist if
// the server starts a new thread for each prompt.
func runNoThread(t *Conversation) {
	prompts := []spec.Event{t.PromptEvent("text", "one"), t.PromptEvent("text", "two")}
	if !t.target.lacksCapability("recall") {
		prompts = append(prompts, t.PromptEvent("recall", ""))
	}
	for _, e := range prompts {
		if t.Thread, t.Run = "", ""; t.isValid("prompt", e) {
			t.SendAndRead("prompt", e)
		}
	}
}

// runState plays the state scenario. It sends requests in three threads. Every request except one
// has a state, and some make the agent patch the state. The patches of objects do not depend on
// existing members, so they can be applied even if the agent has a different state. The states of
// one thread have no members in common with those of another. In the third thread, it sends prompts
// of several kinds.
func runState(t *Conversation) {
	ask := func(e spec.Event, state string) {
		e.State = state
		t.SendAndRead("state", e)
	}
	ask(t.PromptEvent("state", `[{"op":"add","path":"/itemCount","value":2}]`), `{"itemCount":1,"kept":" as it is\n","noItems":[],"noneOf":{"":""}}`)
	ask(t.PromptEvent("state",
		`[{"op":"add","path":"/a~1b","value":{"m~n":1}},{"op":"add","path":"/list","value":[1,2,3]},{"op":"add","path":"/none","value":null}]`+
			`[{"op":"test","path":"/a~1b/m~0n","value":1},{"op":"replace","path":"/a~1b/m~0n","value":[2]}]`+
			`[{"op":"add","path":"/list/1","value":{"x":null}},{"op":"add","path":"/list/-","value":null}]`+
			`[{"op":"move","from":"/list/0","path":"/first"},{"op":"copy","from":"/a~1b","path":"/copied"},{"op":"remove","path":"/none"}]`+
			`[{"op":"add","path":"/z","value":{"in":"order"}},{"op":"move","from":"/z","path":"/b"}]`),
		`{"kept":{"null":null,"":[{}]},"second":[1,2]}`)
	t.Thread = t.NewID()
	ask(t.PromptEvent("state", `[{"op":"add","path":"/count","value":2}]`), `{"count":1}`)
	ask(t.PromptEvent("state", `[{"op":"add","path":"/-","value":{"c":[1]}}]`), `[1,{"b":null}]`)
	for _, state := range []string{`[]`, `0`, `false`, `""`} { // a careless server takes them for no state
		ask(t.PromptEvent("state", `[{"op":"test","path":"","value":`+state+`},{"op":"replace","path":"","value":{"was":`+state+`}}]`), state)
	}
	if t.HasTemplate("minimal") {
		t.SendAndRead("minimal", t.PromptEvent("state", `[{"op":"add","path":"/count","value":3}]`)) // without a state
	}
	for _, state := range []string{`[1,{"b":null}]`, `"a text"`, "5"} {
		ask(t.PromptEvent("text", "any JSON is a state"), state)
	}
	n := t.exchangeCount()
	if ask(t.PromptEvent("state", `[{"op":"replace","path":"","value":{"was":null}}]`), "null"); !t.hasFollowedLastRequest() {
		t.forget(n) // a server may refuse null
	}
	t.Thread = t.NewID()
	for _, turn := range []struct{ scenario, args string }{
		{"tool", `{"state":true}`}, {"state", `[{"op":"add","path":"/afterTool","value":1}]`},
		{"messages", ""}, {"reasoning", "with a state"}, {"error-mid", "with a state"}, {"interrupt", `{"state":true}`},
	} {
		if !t.target.lacksCapability(turn.scenario) {
			ask(t.PromptEvent(turn.scenario, turn.args), `{"seen":[1]}`)
		}
	}
}

// runIdleLimit plays the idle-limit scenario. It reads the streams of several silent runs at the
// same time, or of fewer if the target has a lower stream limit. All but one are requested with a
// limit on idle polls, after which the server must end the stream. The limit is one poll for the
// first, and three for most others, so that a silence follows the first keep-alive comment. One of
// the runs is the second of its thread, and two clients read it; one is requested from the cursor of
// its first event, with both limits; one falls silent after some text; and one is started with the
// template "automation", if the dialect has that. The last stream has no limit and must go on to the
// end of its run. Checks judge when the streams end and how they are kept alive. Then runIdleLimit
// requests the stream of a run that sends text several times, with the largest limit on idle polls
// that the document allows and with smaller ones.
func runIdleLimit(t *Conversation) {
	var streams []spec.Request
	// The streams end before the runs, even if it takes long to request them all.
	long, short := t.PromptEvent("idle", "6000"), t.PromptEvent("idle", "2600")
	start := func(template string, silent spec.Event) bool {
		return (t.target.StreamLimit == 0 || len(streams) < t.target.StreamLimit) && t.StartRun(template, silent)
	}
	listen := func(e spec.Event) { streams = append(streams, t.BuildRequest("listen", e)) }
	three := spec.Event{PollLimit: "3"}
	if start("prompt", long) {
		listen(spec.Event{PollLimit: "1"})
	}
	t.Thread = t.NewID()
	t.SendAndRead("prompt", t.PromptEvent("text", "before the silence"))
	if start("prompt", long) {
		listen(three)
		if n := len(streams); t.maxStreams(n+1) > n {
			listen(three)
		}
	}
	t.Thread = t.NewID()
	if start("prompt", long) {
		if cursor := t.readFirstCursor(); cursor != "" {
			listen(spec.Event{PollLimit: "1", Cursor: cursor})
			if n := len(streams); t.maxStreams(n+1) > n {
				listen(spec.Event{PollLimit: "3", Cursor: cursor})
			}
		}
	}
	t.Thread = t.NewID()
	afterText := long
	if !t.target.lacksCapability("slow") {
		afterText = t.PromptEvent("slow", "2 6000")
	}
	if start("prompt", afterText) {
		listen(three)
	}
	t.Thread = t.NewID()
	if t.HasTemplate("automation") && start("automation", long) {
		listen(three)
	}
	t.Thread = t.NewID()
	if start("prompt", short) {
		listen(spec.Event{})
	}
	t.sendTogether(streams, len(streams), nil)
	if longest := t.dialect.MaxPollLimit("listen"); longest != "" && t.StartRun("prompt", t.PromptEvent("text", "one")) {
		for _, limit := range []string{longest, "9", "40"} { // as texts, "9" and "40" are greater than "3600"
			if t.isValid("listen", spec.Event{PollLimit: limit}) {
				t.SendTemplate("listen", spec.Event{PollLimit: limit})
			}
		}
	}
}

// leaveSilent is how long the client of the idle-ended scenario reads a silent stream before it
// leaves. Servers that poll every second send a keep-alive comment in that time.
const leaveSilent = 1300 * time.Millisecond

// runIdleEnded plays the idle-ended scenario. It starts two silent runs in different threads. It
// reads the stream of the first with a limit of one idle poll, and leaves that of the second after
// [leaveSilent]. Then it resumes the first stream after its last event, and reads both from the
// beginning. Checks verify that both runs go on, and that the resumed stream lacks nothing.
func runIdleEnded(t *Conversation) {
	var runs []runRef
	for range 2 {
		t.Thread = t.NewID()
		if !t.StartRun("prompt", t.PromptEvent("idle", "3500")) {
			return
		}
		runs = append(runs, runRef{t.Thread, t.Run})
	}
	t.send(t.BuildRequest("listen", spec.Event{}), wire.StopWhen{Elapsed: leaveSilent})
	t.Thread, t.Run = runs[0].thread, runs[0].id
	t.SendTemplate("listen", spec.Event{PollLimit: "1"})
	if t.LastEvent(spec.RunEnd).Kind == "" && !t.target.lacksCapability("resume") {
		t.resume(0)
	}
	for _, r := range runs {
		t.Thread, t.Run = r.thread, r.id
		t.ReadStream("", 0)
	}
}

// runTwoRuns plays the two-runs scenario. It starts two runs of one thread, and reads the stream of
// the second run before that of the first. Then it starts six runs of the thread, reads their
// streams, and resumes the stream of the first of them at each of its events, between which there
// are events of the other runs. Checks verify that each stream has all events of its own run. Of the
// six runs, those that the server refuses are left out.
func runTwoRuns(t *Conversation) {
	first := t.StartRun("prompt", t.PromptEvent("slow", "4 40"))
	run := t.Run
	if t.StartRun("prompt", t.PromptEvent("text", "two")) {
		t.ReadStream("", 0)
	}
	if t.Run = run; first {
		t.ReadStream("", 0)
	}
	var runs []string
	var streams []spec.Request
	for i := range 6 {
		if t.startIfTaken("", t.PromptEvent("slow", "5 "+strconv.Itoa(70+10*i))) {
			runs = append(runs, t.Run)
			streams = append(streams, t.BuildRequest("listen", spec.Event{}))
		}
	}
	t.sendTogether(streams, t.maxStreams(maxOpenStreams), nil)
	if len(runs) == 0 || t.target.lacksCapability("resume") {
		return
	}
	t.Run = runs[0]
	t.ReadStream("", 0)
	cursors := t.Cursors()
	for _, cursor := range cursors[:max(0, min(len(cursors)-1, maxDisconnects))] {
		t.ReadStream(cursor, 0)
	}
}

// cancelDuringStream reads the stream of the current run to its end. As soon as the given number of
// frames with data has arrived, it cancels the run.
func (t *Conversation) cancelDuringStream(frames int) {
	t.DuringStream(t.BuildRequest("listen", spec.Event{}), frames, func() { t.SendTemplate("cancel", spec.Event{}) })
}

// readAfterEnd requests the stream of the current run from the last cursor in the last exchange,
// which must contain the end of the run, and reads it for at most [quietTimeout]. It sends nothing
// if the last exchange contains no cursor or the target lacks the capability to resume streams.
func (t *Conversation) readAfterEnd() {
	if cursors := t.Cursors(); len(cursors) > 0 && !t.target.lacksCapability("resume") {
		last := spec.Event{Cursor: cursors[len(cursors)-1]}
		t.send(t.BuildRequest("listen", last), wire.StopWhen{Elapsed: quietTimeout})
	}
}

// runTogether plays the together scenario. While the client reads the stream of one run, a second
// run of the thread ends and a third one is cancelled. The same is repeated with a stream that is
// resumed. Checks verify that the first run goes on. Then, while a further run is active, the
// client reads the stream of a short run of the same thread and waits for the end of its body. If
// the target allows a user only one open stream, runTogether sends nothing.
func runTogether(t *Conversation) {
	if t.target.StreamLimit == 1 || !t.StartRun("prompt", t.PromptEvent("idle", "2000")) {
		return
	}
	others := func() {
		t.SendAndRead("prompt", t.PromptEvent("text", "meanwhile"))
		if t.StartRun("prompt", t.PromptEvent("slow", "60 50")) {
			t.cancelDuringStream(3)
		}
	}
	t.DuringStream(t.BuildRequest("listen", spec.Event{}), 1, others)
	if t.target.lacksCapability("resume") || !t.StartRun("prompt", t.PromptEvent("slow", "30 50")) {
		return
	}
	if cursor := t.readFirstCursor(); cursor != "" {
		run := t.Run
		t.DuringStream(t.BuildRequest("listen", spec.Event{Cursor: cursor}), 1, others)
		t.Run = run
		t.ReadStream("", 0) // to compare
	}
	if !t.StartRun("prompt", t.PromptEvent("slow", "200 50")) {
		return
	}
	active := t.Run
	if t.StartRun("prompt", t.PromptEvent("text", "closed while another run is active")) {
		t.readUntilClosed([]spec.Request{t.BuildRequest("listen", spec.Event{})})
	}
	t.Run = active
	t.SendTemplate("cancel", spec.Event{})
}
