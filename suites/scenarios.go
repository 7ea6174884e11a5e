package suites

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Scenario is a sequence of requests that exercises certain checks. It can be played in every
// dialect that has the templates and the kinds of events that the scenario needs. A Scenario does
// not judge anything itself.
type Scenario struct {
	Name string // unique name
	Doc  string // description in one line
	// Capability is the name of the capability that a target needs for the scenario; "" stands for
	// the name of the scenario.
	Capability string
	// Required is true if the dialect's document requires the capability. A target then promises
	// it, unless [Target.LackedCapabilities] contains it.
	Required bool
	// ClaimedByName is true if a target claims the capability only by its name, and not by "all",
	// because a scripted target need not know the prompt of the scenario.
	ClaimedByName  bool
	Templates      []string    // templates that the dialect must have
	UnlessTemplate string      // template that the dialect must not have; "" if none
	Kinds          []spec.Kind // kinds of events that the dialect must have
	// Denial is the reason for which the server must deny requests of the scenario; "" if there is
	// none. The dialect's document must describe such denials, and the target must have the
	// settings for them, such as the credentials of a second user.
	Denial         spec.DenialReason
	Exclusive      bool                // no other scenario may be played at the same time
	ExpectedChecks []string            // ids of checks that must judge something if the target promises the capability
	Run            func(*Conversation) // plays the scenario; nil for a generated scenario or a recording
}

// AppliesTo reports whether the scenario can be played in dialect d, that is, whether d has all of
// s.Templates and s.Kinds, does not have s.UnlessTemplate, and describes the denials that s.Denial
// requires.
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

// capabilityName returns the name of the capability that a target needs for the scenario.
func (s Scenario) capabilityName() string {
	if s.Capability != "" {
		return s.Capability
	}
	return s.Name
}

// naturalPrompts maps the name of a scenario to its prompt for agents that do not follow the test
// prompts of docs/prompts.md; see [NaturalPrompts].
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

// acceptGzip is the Accept-Encoding of requests of the scenario "compressed". All other requests
// accept only the coding "identity".
const acceptGzip = "gzip"

// promptTemplates is the value of [Scenario.Templates] for scenarios that only send prompts.
var promptTemplates = []string{"prompt"}

// basicStreamChecks are the ids of the checks that judge the stream of every complete run.
var basicStreamChecks = []string{
	"wire.opens-stream", "wire.frames-are-json", "wire.matches-schema", "wire.utf-8",
	"run.opens-first", "run.comes-first", "run.ends", "run.ends-once", "run.end-is-last",
}

// singlePrompt returns a scenario that sends the test prompt (docs/prompts.md) with the given name,
// with words as its arguments, and reads the stream. The scenario has the name of the test prompt,
// the description doc, and the given expected checks.
func singlePrompt(name, words, doc string, expectedChecks ...string) Scenario {
	return Scenario{
		Name: name, Doc: doc, Templates: promptTemplates, ExpectedChecks: expectedChecks,
		Run: func(t *Conversation) { t.SendAndRead("prompt", t.PromptEvent(name, words)) },
	}
}

// failingPrompt returns a scenario that sends the test prompt (docs/prompts.md) with the given
// name, which makes a run fail. If the dialect has a template for requests with earlier messages,
// the scenario sends the prompt again in such a request, in another thread. The scenario has the
// name of the test prompt and the description doc.
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

// needing returns a copy of s that applies only to dialects with the given kinds of events.
func (s Scenario) needing(kinds ...spec.Kind) Scenario {
	s.Kinds = kinds
	return s
}

// claimedByName returns a copy of s with the field ClaimedByName set.
func (s Scenario) claimedByName() Scenario {
	s.ClaimedByName = true
	return s
}

// Scenarios returns all scenarios of this package, in the order in which [Run] returns their
// results. It does not return generated sequences and combinations.
func Scenarios() []Scenario {
	return slices.Concat(
		singleUserScenarios, replyScenarios, payloadScenarios, variantScenarios, streamEndScenarios, resumeScenarios,
		historyScenarios, outcomeScenarios, accessScenarios, neighbourScenarios, liveScenarios, rangeScenarios,
	)
}

// singleUserScenarios are the basic scenarios, which need no cursors, no histories and no second
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
		Kinds: []spec.Kind{spec.StateSnapshot, spec.StateDelta}, ClaimedByName: true,
		ExpectedChecks: []string{"script.state"}, Run: runState,
	},
	singlePrompt("steps", "", "two steps with a message each", "script.steps").
		needing(spec.StepStart, spec.StepEnd).claimedByName(),
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
		Name: "slow-pauses", Doc: "deltas more than a second apart; with --deep, for up to 24 seconds", Capability: "slow", Templates: promptTemplates,
		Run: func(t *Conversation) {
			const pause = 1300 * time.Millisecond
			n := 4
			if t.target.Deep { // a server must not end long streams
				n = max(n, min(int(t.target.Timeout*4/5/pause), 18))
			}
			t.SendAndRead("prompt", t.PromptEvent("slow", fmt.Sprintf("%d %d", n, pause.Milliseconds())))
		},
	},
	{
		Name: "compressed", Doc: "a long text, and deltas some time apart, for a client that accepts compressed responses, as browsers do",
		Capability: "slow", Templates: promptTemplates,
		Run: func(t *Conversation) {
			t.keepAlive()
			t.form = func(r spec.Request) spec.Request {
				r.Header = r.Header.With("Accept-Encoding", acceptGzip)
				return r
			}
			t.SendAndRead("prompt", t.PromptEvent("text", longText("compressed", 9000)))
			t.SendAndRead("prompt", t.PromptEvent("slow", "8 80"))
		},
	},
	singlePrompt("many", "1025", "many deltas at once"),
	{
		Name: "large", Doc: "one large delta, and the history with it; with --deep, also one of more than 1 MiB", Templates: promptTemplates,
		Run: func(t *Conversation) {
			t.noteNewThread()
			t.SendAndRead("prompt", t.PromptEvent("large", "100000"))
			if t.target.Deep {
				t.SendAndRead("prompt", t.PromptEvent("large", fmt.Sprint(1<<20+1)))
			}
			t.completeHistory()
		},
	},
	{
		Name: "idle", Doc: "silence, then a reply, a run afterwards, and a longer silence", Templates: promptTemplates,
		Run: func(t *Conversation) {
			t.SendAndRead("prompt", t.PromptEvent("idle", "400"))
			t.SendAndRead("prompt", t.PromptEvent("text", "after the silence"))
			longest := "2600" // milliseconds
			if t.target.Deep {
				longest = "6000"
			}
			t.SendAndRead("prompt", t.PromptEvent("idle", longest))
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
		// If there are no comments, wire.keeps-alive fails, and there is no text to judge.
		ExpectedChecks: []string{"run.idle-limit-ends", "wire.keeps-alive"}, Run: runIdleLimit,
	}, {
		Name: "idle-ended", Doc: "silent streams that the server ends or the client leaves, resumed and read again", Capability: "idle",
		Templates: []string{"prompt", "listen"}, Kinds: []spec.Kind{"slot.limit"}, Run: runIdleEnded,
	}, {
		Name: "two-runs", Doc: "two runs of one thread at the same time, and six, of which one is resumed at each of its events", Capability: "text",
		Templates: []string{"prompt", "listen"}, Run: runTwoRuns,
	}, {
		Name: "together", Doc: "a run that goes on while another run of its thread ends and one is cancelled, and while another stream of it ends at its idle limit", Required: true,
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
		Name: "stop", Doc: "a cancel request after the stream of a run has ended, and two during streams, each followed by a run",
		Capability: "cancel", Templates: []string{"prompt", "cancel"}, UnlessTemplate: "listen",
		Run: func(t *Conversation) { // the documents leave open how the stream of a cancelled run ends
			t.SendAndRead("prompt", t.PromptEvent("text", "one"))
			t.SendTemplate("cancel", spec.Event{})
			if !t.target.lacksCapability("recall") {
				t.SendAndRead("prompt", t.PromptEvent("recall", ""))
			}
			for range 2 {
				if t.target.lacksCapability("slow") {
					break
				}
				t.Run = t.NewID()
				stream := t.BuildRequest("prompt", t.PromptEvent("slow", "40 50"))
				t.DuringStream(stream, 4, func() { t.SendTemplate("cancel", spec.Event{}) })
				t.promptUntilAccepted(t.PromptEvent("text", "after a stopped run"))
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
				send := func() { t.SendTemplate(template, spec.Event{}) }
				if slices.Contains(optionalTemplates, template) {
					t.forgetIfRefused(send)
				} else {
					send()
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

// runHealth plays the health scenario. On reused connections, it requests information about the
// server twice, and once more after a run that fails.
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

// isValid reports whether the request that [Conversation.BuildRequest] returns for the same
// arguments is valid according to the dialect's document.
func (t *Conversation) isValid(template string, e spec.Event) bool {
	return len(t.dialect.ValidateRequest(t.BuildRequest(template, e))) == 0
}

// runNoThread plays the no-thread scenario on reused connections. It sends prompts without a thread
// id, if the dialect's document allows them; each starts a new thread. The last but one makes the
// run fail, and the last one asks for the previous message, which does not exist in a new thread.
// If the document also allows null as the thread id, runNoThread sends the prompts again with null.
func runNoThread(t *Conversation) {
	t.keepAlive()
	prompts := []spec.Event{t.PromptEvent("text", "one"), t.PromptEvent("text", "two")}
	if !t.target.lacksCapability("error") {
		prompts = append(prompts, t.PromptEvent("error", "scripted failure"))
	}
	if !t.target.lacksCapability("recall") {
		prompts = append(prompts, t.PromptEvent("recall", ""))
	}
	for _, e := range prompts {
		if t.Thread, t.Run = "", ""; t.isValid("prompt", e) {
			t.SendAndRead("prompt", e)
		}
	}
	for _, e := range prompts {
		t.Thread, t.Run = t.NewID(), ""
		for _, v := range t.dialect.ValidVariants(t.BuildRequest("prompt", e)) {
			if strings.HasSuffix(v.Form, " is null") && t.dialect.ParseRequest(v.Request).Thread == "" {
				t.Thread = ""
				t.Send(v.Request)
			}
		}
	}
}

// cancelDuringStream reads the stream of the current run to its end, and cancels the run after the
// given number of frames with data.
func (t *Conversation) cancelDuringStream(frames int) {
	t.DuringStream(t.BuildRequest("listen", spec.Event{}), frames, func() { t.SendTemplate("cancel", spec.Event{}) })
}

// readAfterEnd resumes the stream of the current run after the end of the run, and reads it for at
// most [quietTimeout]. It uses the last cursor in the last response, which must contain the end of
// the run. It sends nothing if the response contains no cursor or the target cannot resume streams.
func (t *Conversation) readAfterEnd() {
	if cursors := t.Cursors(); len(cursors) > 0 && !t.target.lacksCapability("resume") {
		t.readStream(cursors[len(cursors)-1], wire.StopWhen{Elapsed: quietTimeout})
	}
}
