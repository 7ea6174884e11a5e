package suites

import (
	"cmp"
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A Scenario is one way to make a server talk. It is the same for every dialect
// that has the phrases, and it judges nothing.
type Scenario struct {
	Name string
	Doc  string
	// Capability is what a target promises or lacks; "" is the name.
	Capability string
	// Expected: the dialect's document demands it, so a target that has not said
	// that it lacks it is held to it.
	Required       bool
	Templates      []string    // the phrases it needs
	UnlessTemplate string      // a phrase: it is not played where there is one
	Kinds          []spec.Kind // the kinds that it is about: without them it is not played
	// Denied is why somebody is refused in it: it is not played where the document
	// does not say how, nor where nobody said who may ask, or how much.
	Denial         spec.DenialReason
	Exclusive      bool     // it is played by itself, after the others: what they do would count
	ExpectedChecks []string // checks: silence on these breaks a promise
	Run            func(*Conversation)
}

// AppliesTo says whether a client can lead the scenario in d.
func (s Scenario) AppliesTo(d *dialect.Dialect) bool {
	phrases, kinds := d.Templates(), d.Kinds()
	if s.UnlessTemplate != "" && slices.Contains(phrases, s.UnlessTemplate) {
		return false
	}
	if s.Denial != "" && !d.HasDenial(s.Denial) {
		return false
	}
	return !slices.ContainsFunc(s.Templates, func(p string) bool { return !slices.Contains(phrases, p) }) &&
		!slices.ContainsFunc(s.Kinds, func(k spec.Kind) bool { return !slices.Contains(kinds, k) })
}

// capabilityName is the name by which a target claims or lacks it.
func (s Scenario) capabilityName() string {
	if s.Capability != "" {
		return s.Capability
	}
	return s.Name
}

// naturalPrompts are the prompts in plain words.
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
}

var promptTemplates = []string{"prompt"}

// basicStreamChecks are the checks that any stream that tells an answer exercises.
var basicStreamChecks = []string{
	"wire.opens-stream", "wire.frames-are-json", "wire.matches-schema", "wire.utf-8",
	"run.opens-first", "run.comes-first", "run.ends", "run.ends-once", "run.end-is-last",
}

// singlePrompt makes a scenario of a single prompt.
func singlePrompt(name, words, doc string, proves ...string) Scenario {
	return Scenario{
		Name: name, Doc: doc, Templates: promptTemplates, ExpectedChecks: proves,
		Run: func(t *Conversation) { t.SendAndRead("prompt", t.PromptEvent(name, words)) },
	}
}

// Scenarios are few; the checks on each are many.
var Scenarios = slices.Concat(singleUserScenarios, resumeScenarios, historyScenarios, accessScenarios)

// singleUserScenarios are the scenarios of one user.
var singleUserScenarios = []Scenario{
	singlePrompt("text", "Grüß Gott, 世界 — “ok” 🙂", "a plain answer", basicStreamChecks...),
	singlePrompt("empty", "", "an answer that says nothing", "wire.opens-stream"),
	singlePrompt("messages", "", "two messages, one after the other"),
	singlePrompt("contents", "", "a message with a text and an image"),
	singlePrompt("reasoning", "an answer", "reasoning, and then an answer"),
	singlePrompt("tool", `{"city":"Paris","days":[1,2,3]}`, "a call of the server's own tool",
		"tool.arguments-are-json", "tool.starts-first", "tool.all-end", "tool.result-after-call", "tool.ids-unique"),
	singlePrompt("tools", "", "two calls of the server's own tool",
		"tool.starts-first", "tool.all-end", "tool.result-after-call"),
	{
		Name: "client-tool", Doc: "a call of the client's tool, and what the client answers",
		Templates:      []string{"tool-offer", "tool-result"},
		ExpectedChecks: []string{"tool.client-call-is-left-open", "tool.client-call-is-offered", "script.client-tool", "script.client-tool-result"},
		Run:            runClientTool,
	}, {
		Name: "interrupt", Doc: "an interrupt, and what the client answers",
		Templates: []string{"prompt", "resume"}, Kinds: []spec.Kind{spec.Interrupt},
		ExpectedChecks: []string{"interrupt.is-last", "script.interrupt", "script.resume"},
		Run: func(t *Conversation) {
			if e, ok := t.elicit("resume"); ok {
				t.SendAndRead("resume", e)
			}
		},
	}, {
		Name: "recall", Doc: "what was said before in the same conversation, and in another", Templates: promptTemplates,
		ExpectedChecks: []string{"script.recall"},
		Run: func(t *Conversation) {
			t.SendAndRead("prompt", t.PromptEvent("text", "one"))
			t.SendAndRead("prompt", t.PromptEvent("recall", ""))
			t.Thread = t.newID()
			t.SendAndRead("prompt", t.PromptEvent("recall", ""))
		},
	},
	singlePrompt("slow", "8 80", "deltas some time apart", "wire.flushes"),
	singlePrompt("many", "300", "many deltas at once"),
	singlePrompt("large", "100000", "one large delta"),
	singlePrompt("idle", "400", "silence, and then an answer"),
	singlePrompt("error", "scripted failure", "a run that fails before it says anything"),
	singlePrompt("error-mid", "scripted failure", "a run that fails in the middle"),
	{
		Name: "no-thread", Doc: "an answer outside any conversation", Templates: promptTemplates, Capability: "text", Kinds: []spec.Kind{spec.RunStart},
		Run: func(t *Conversation) {
			t.Thread = ""
			if t.isValid("prompt", t.PromptEvent("text", "one")) {
				t.SendAndRead("prompt", t.PromptEvent("text", "one"))
			}
		},
	}, {
		Name: "idle-limit", Doc: "streams that are to be ended after one and after two silent polls", Capability: "idle",
		Templates: []string{"prompt", "listen"}, Kinds: []spec.Kind{"slot.limit"},
		ExpectedChecks: []string{"run.idle-limit-ends", "wire.keeps-alive", "wire.keep-alive-text"},
		Run:            runIdleLimit,
	}, {
		Name: "two-runs", Doc: "two runs of one conversation at the same time", Capability: "text", Templates: []string{"prompt", "listen"},
		Run: func(t *Conversation) {
			first := t.StartRun("prompt", t.PromptEvent("slow", "4 40"))
			run := t.Run
			if t.StartRun("prompt", t.PromptEvent("text", "two")) {
				t.ReadStream("", 0)
			}
			if t.Run = run; first {
				t.ReadStream("", 0)
			}
		},
	}, {
		Name: "together", Doc: "a run that goes on while another of its conversation ends, and one is canceled", Required: true,
		Capability: "cancel", Templates: []string{"prompt", "listen", "cancel"}, Run: runTogether,
	}, {
		Name: "cancel", Doc: "a run that is canceled while it is told", Required: true, Templates: []string{"prompt", "listen", "cancel"},
		ExpectedChecks: []string{"reply.as-promised", "cancel.run-ends"},
		Run: func(t *Conversation) {
			if t.StartRun("prompt", t.PromptEvent("slow", "60 50")) {
				t.DuringStream(t.BuildRequest("listen", spec.Event{}), 3, func() { t.send(t.BuildRequest("cancel", spec.Event{}), wire.StopWhen{}) })
			}
		},
	}, {
		Name: "stop", Doc: "a cancel where the request that opens a run is answered by its stream, and that is over",
		Capability: "cancel", Templates: []string{"prompt", "cancel"}, UnlessTemplate: "listen",
		Run: func(t *Conversation) { // how a stream ends that is stopped, no document says for sure
			t.SendAndRead("prompt", t.PromptEvent("text", "one"))
			t.send(t.BuildRequest("cancel", spec.Event{}), wire.StopWhen{})
		},
	}, {
		Name: "attachments", Doc: "an image that is uploaded, signed again, and sent", Required: true, Templates: []string{"prompt", "attach", "sign", "uploaded"},
		ExpectedChecks: []string{"attachment.type-as-sent", "attachment.signs-what-was-asked"},
		Run:            runAttachments,
	}, {
		Name: "transcribe", Doc: "a recording, under each of the names of its type", Required: true, Templates: []string{"prompt", "transcribe"},
		ExpectedChecks: []string{"transcript.is-told"},
		Run: func(t *Conversation) {
			t.SendAndRead("prompt", t.PromptEvent("text", "one"))
			for _, phrase := range []string{"transcribe", "transcribe-x", "transcribe-wave"} {
				t.send(t.BuildRequest(phrase, spec.Event{}), wire.StopWhen{})
			}
		},
	}, {
		Name: "accepts", Doc: "every form of request that the document allows", Capability: "text", Templates: promptTemplates,
		ExpectedChecks: []string{"accept.as-documented"}, Run: runAccepts,
	}, {
		Name: "refusals", Doc: "every request that breaks the document in one place, some that break it in two, and their twins", Required: true, Templates: promptTemplates,
		ExpectedChecks: []string{"refuse.as-documented"}, Run: runRefusals,
	}, {
		Name: "health", Doc: "the operations that say what the server is, and whether it is well", Templates: []string{"health"},
		ExpectedChecks: []string{"health.answers"},
		Run: func(t *Conversation) {
			for _, phrase := range []string{"health", "root", "readiness", "liveness"} {
				if _, ok := t.dialect.TemplateOperation(phrase); ok {
					t.send(t.BuildRequest(phrase, spec.Event{}), wire.StopWhen{})
				}
			}
		},
	},
}

// isValid says whether the dialect lets a client say this.
func (t *Conversation) isValid(phrase string, e spec.Event) bool {
	return len(t.dialect.ValidateRequest(t.BuildRequest(phrase, e))) == 0
}

func runClientTool(t *Conversation) {
	if e, ok := t.elicit("tool-result"); ok {
		t.SendAndRead("tool-result", e)
	}
}

// elicit makes the server ask for something, or give it, so that phrase can answer
// with it; ok is whether it did.
func (t *Conversation) elicit(phrase string) (answer spec.Event, ok bool) {
	switch phrase {
	case "resume":
		t.SendAndRead("prompt", t.PromptEvent("interrupt", `{"question":"Delete 3 files?","steps":["a","b"]}`))
		asked := t.LastEvent(spec.Interrupt)
		return spec.Event{ID: asked.ID, Text: "approved"}, asked.Kind != ""
	case "sign", "uploaded":
		if t.target.lacksCapability("attachments") || !t.send(t.BuildRequest("attach", spec.Event{}), wire.StopWhen{}) {
			return spec.Event{}, false
		}
		kept := t.LastEvent(spec.AttachmentStored)
		if phrase == "sign" {
			return spec.Event{Name: kept.Name, ID: kept.ID}, kept.ID != ""
		}
		answer = t.PromptEvent("text", "an image")
		answer.ID = kept.Text
		return answer, kept.Text != ""
	}
	offer := t.PromptEvent("client-tool", `{"color":"blue"}`)
	offer.Name = "paint"
	t.SendAndRead("tool-offer", offer)
	id := cmp.Or(t.LastEvent(spec.ToolStart).Call, t.LastEvent(spec.ToolCall).Call)
	return spec.Event{Call: id, Name: "paint", Text: "painted it blue"}, id != ""
}

func runIdleLimit(t *Conversation) {
	for _, limit := range []string{"1", "2"} {
		if t.StartRun("prompt", t.PromptEvent("idle", "2600")) {
			t.send(t.BuildRequest("listen", spec.Event{PollLimit: limit}), wire.StopWhen{})
		}
	}
}

// replyTemplates are the phrases that answer what the server asked for, or gave, before:
// they are no requests on their own.
var replyTemplates = []string{"tool-result", "resume", "sign", "uploaded"}

func runAccepts(t *Conversation) {
	o, _ := t.dialect.TemplateOperation("prompt")
	for _, phrase := range o.Templates() {
		if slices.Contains(replyTemplates, phrase) {
			continue
		}
		t.Thread = t.newID()
		e := t.PromptEvent("text", "accepted")
		e.Name = "paint"
		t.SendAndRead(phrase, e)
	}
	for _, phrase := range []string{"prompt", "listen"} {
		o, _ := t.dialect.TemplateOperation(phrase)
		if o == nil {
			continue
		}
		for _, spare := range o.OptionalHeaders {
			t.Thread, t.Run = t.newID(), t.newID()
			e := t.PromptEvent("text", "accepted")
			if phrase == "listen" && !t.StartRun("prompt", e) {
				continue
			}
			r := t.BuildRequest(phrase, e)
			r.Header = r.Header.Without(spare.Name)
			t.send(r, wire.StopWhen{})
		}
	}
}

// runTogether hears one run out while another ends, and while another is canceled.
func runTogether(t *Conversation) {
	if t.target.StreamLimit == 1 || !t.StartRun("prompt", t.PromptEvent("idle", "2000")) {
		return
	}
	t.DuringStream(t.BuildRequest("listen", spec.Event{}), 1, func() {
		t.SendAndRead("prompt", t.PromptEvent("text", "meanwhile"))
		if t.StartRun("prompt", t.PromptEvent("slow", "60 50")) {
			t.DuringStream(t.BuildRequest("listen", spec.Event{}), 3, func() { t.send(t.BuildRequest("cancel", spec.Event{}), wire.StopWhen{}) })
		}
	})
}
