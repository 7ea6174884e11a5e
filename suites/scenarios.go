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
	Expected bool
	Says     []string    // the phrases it needs
	Without  string      // a phrase: it is not played where there is one
	Words    []spec.Kind // the kinds that it is about: without them it is not played
	// Denied is why somebody is refused in it: it is not played where the document
	// does not say how, nor where nobody said who may ask, or how much.
	Denied spec.DenialReason
	Alone  bool     // it is played by itself, after the others: what they do would count
	Proves []string // checks: silence on these breaks a promise
	Lead   func(*Talk)
}

// Applies says whether a client can lead the scenario in d.
func (s Scenario) Applies(d *dialect.Dialect) bool {
	phrases, kinds := d.Phrases(), d.Kinds()
	if s.Without != "" && slices.Contains(phrases, s.Without) {
		return false
	}
	if s.Denied != "" && !d.Denies(s.Denied) {
		return false
	}
	return !slices.ContainsFunc(s.Says, func(p string) bool { return !slices.Contains(phrases, p) }) &&
		!slices.ContainsFunc(s.Words, func(k spec.Kind) bool { return !slices.Contains(kinds, k) })
}

// capability is the name by which a target claims or lacks it.
func (s Scenario) capability() string {
	if s.Capability != "" {
		return s.Capability
	}
	return s.Name
}

// natural are the prompts in plain words.
var natural = map[string]string{
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

var prompts = []string{"prompt"}

// said are the checks that any stream that tells an answer exercises.
var said = []string{
	"wire.opens-stream", "wire.frames-are-json", "wire.matches-schema", "wire.utf-8",
	"run.opens-first", "run.comes-first", "run.ends", "run.ends-once", "run.end-is-last",
}

// one makes a scenario of a single prompt.
func one(name, words, doc string, proves ...string) Scenario {
	return Scenario{
		Name: name, Doc: doc, Says: prompts, Proves: proves,
		Lead: func(t *Talk) { t.Say("prompt", t.Prompt(name, words)) },
	}
}

// Scenarios are few; the checks on each are many.
var Scenarios = slices.Concat(talking, resuming, memory, admission)

// talking are the scenarios of one user.
var talking = []Scenario{
	one("text", "Grüß Gott, 世界 — “ok” 🙂", "a plain answer", said...),
	one("empty", "", "an answer that says nothing", "wire.opens-stream"),
	one("messages", "", "two messages, one after the other"),
	one("contents", "", "a message with a text and an image"),
	one("reasoning", "an answer", "reasoning, and then an answer"),
	one("tool", `{"city":"Paris","days":[1,2,3]}`, "a call of the server's own tool",
		"tool.arguments-are-json", "tool.starts-first", "tool.all-end", "tool.result-after-call", "tool.ids-unique"),
	one("tools", "", "two calls of the server's own tool",
		"tool.starts-first", "tool.all-end", "tool.result-after-call"),
	{
		Name: "client-tool", Doc: "a call of the client's tool, and what the client answers",
		Says:   []string{"tool-offer", "tool-result"},
		Proves: []string{"tool.client-call-is-left-open", "tool.client-call-is-offered", "script.client-tool", "script.client-tool-result"},
		Lead:   leadClientTool,
	}, {
		Name: "interrupt", Doc: "an interrupt, and what the client answers",
		Says: []string{"prompt", "resume"}, Words: []spec.Kind{spec.Interrupt},
		Proves: []string{"interrupt.is-last", "script.interrupt", "script.resume"},
		Lead: func(t *Talk) {
			if e, ok := t.asked("resume"); ok {
				t.Say("resume", e)
			}
		},
	}, {
		Name: "recall", Doc: "what was said before in the same conversation, and in another", Says: prompts,
		Proves: []string{"script.recall"},
		Lead: func(t *Talk) {
			t.Say("prompt", t.Prompt("text", "one"))
			t.Say("prompt", t.Prompt("recall", ""))
			t.Thread = t.id()
			t.Say("prompt", t.Prompt("recall", ""))
		},
	},
	one("slow", "8 80", "deltas some time apart", "wire.flushes"),
	one("many", "300", "many deltas at once"),
	one("large", "100000", "one large delta"),
	one("idle", "400", "silence, and then an answer"),
	one("error", "scripted failure", "a run that fails before it says anything"),
	one("error-mid", "scripted failure", "a run that fails in the middle"),
	{
		Name: "no-thread", Doc: "an answer outside any conversation", Says: prompts, Capability: "text", Words: []spec.Kind{spec.RunStart},
		Lead: func(t *Talk) {
			t.Thread = ""
			if t.whole("prompt", t.Prompt("text", "one")) {
				t.Say("prompt", t.Prompt("text", "one"))
			}
		},
	}, {
		Name: "idle-limit", Doc: "streams that are to be ended after one and after two silent polls", Capability: "idle",
		Says: []string{"prompt", "listen"}, Words: []spec.Kind{"slot.limit"},
		Proves: []string{"run.idle-limit-ends", "wire.keeps-alive", "wire.keep-alive-text"},
		Lead:   leadIdleLimit,
	}, {
		Name: "two-runs", Doc: "two runs of one conversation at the same time", Capability: "text", Says: []string{"prompt", "listen"},
		Lead: func(t *Talk) {
			first := t.Open("prompt", t.Prompt("slow", "4 40"))
			run := t.Run
			if t.Open("prompt", t.Prompt("text", "two")) {
				t.Listen("", 0)
			}
			if t.Run = run; first {
				t.Listen("", 0)
			}
		},
	}, {
		Name: "together", Doc: "a run that goes on while another of its conversation ends, and one is canceled", Expected: true,
		Capability: "cancel", Says: []string{"prompt", "listen", "cancel"}, Lead: leadTogether,
	}, {
		Name: "cancel", Doc: "a run that is canceled while it is told", Expected: true, Says: []string{"prompt", "listen", "cancel"},
		Proves: []string{"reply.as-promised", "cancel.run-ends"},
		Lead: func(t *Talk) {
			if t.Open("prompt", t.Prompt("slow", "60 50")) {
				t.While(t.Request("listen", spec.Event{}), 3, func() { t.send(t.Request("cancel", spec.Event{}), wire.Limit{}) })
			}
		},
	}, {
		Name: "stop", Doc: "a cancel where the request that opens a run is answered by its stream, and that is over",
		Capability: "cancel", Says: []string{"prompt", "cancel"}, Without: "listen",
		Lead: func(t *Talk) { // how a stream ends that is stopped, no document says for sure
			t.Say("prompt", t.Prompt("text", "one"))
			t.send(t.Request("cancel", spec.Event{}), wire.Limit{})
		},
	}, {
		Name: "attachments", Doc: "an image that is uploaded, signed again, and sent", Expected: true, Says: []string{"prompt", "attach", "sign", "uploaded"},
		Proves: []string{"attachment.type-as-sent", "attachment.signs-what-was-asked"},
		Lead:   leadAttachments,
	}, {
		Name: "transcribe", Doc: "a recording, under each of the names of its type", Expected: true, Says: []string{"prompt", "transcribe"},
		Proves: []string{"transcript.is-told"},
		Lead: func(t *Talk) {
			t.Say("prompt", t.Prompt("text", "one"))
			for _, phrase := range []string{"transcribe", "transcribe-x", "transcribe-wave"} {
				t.send(t.Request(phrase, spec.Event{}), wire.Limit{})
			}
		},
	}, {
		Name: "accepts", Doc: "every form of request that the document allows", Capability: "text", Says: prompts,
		Proves: []string{"accept.as-documented"}, Lead: leadAccepts,
	}, {
		Name: "refusals", Doc: "every request that breaks the document in one place, some that break it in two, and their twins", Expected: true, Says: prompts,
		Proves: []string{"refuse.as-documented"}, Lead: leadRefusals,
	}, {
		Name: "health", Doc: "the operations that say what the server is, and whether it is well", Says: []string{"health"},
		Proves: []string{"health.answers"},
		Lead: func(t *Talk) {
			for _, phrase := range []string{"health", "root", "readiness", "liveness"} {
				if _, ok := t.dialect.Phrase(phrase); ok {
					t.send(t.Request(phrase, spec.Event{}), wire.Limit{})
				}
			}
		},
	},
}

// whole says whether the dialect lets a client say this.
func (t *Talk) whole(phrase string, e spec.Event) bool {
	return len(t.dialect.Judge(t.Request(phrase, e))) == 0
}

func leadClientTool(t *Talk) {
	if e, ok := t.asked("tool-result"); ok {
		t.Say("tool-result", e)
	}
}

// asked makes the server ask for something, or give it, so that phrase can answer
// with it; ok is whether it did.
func (t *Talk) asked(phrase string) (answer spec.Event, ok bool) {
	switch phrase {
	case "resume":
		t.Say("prompt", t.Prompt("interrupt", `{"question":"Delete 3 files?","steps":["a","b"]}`))
		asked := t.Heard(spec.Interrupt)
		return spec.Event{ID: asked.ID, Text: "approved"}, asked.Kind != ""
	case "sign", "uploaded":
		if t.target.lacks("attachments") || !t.send(t.Request("attach", spec.Event{}), wire.Limit{}) {
			return spec.Event{}, false
		}
		kept := t.Heard(spec.AttachmentStored)
		if phrase == "sign" {
			return spec.Event{Name: kept.Name, ID: kept.ID}, kept.ID != ""
		}
		answer = t.Prompt("text", "an image")
		answer.ID = kept.Text
		return answer, kept.Text != ""
	}
	offer := t.Prompt("client-tool", `{"color":"blue"}`)
	offer.Name = "paint"
	t.Say("tool-offer", offer)
	id := cmp.Or(t.Heard(spec.ToolStart).Call, t.Heard(spec.ToolCall).Call)
	return spec.Event{Call: id, Name: "paint", Text: "painted it blue"}, id != ""
}

func leadIdleLimit(t *Talk) {
	for _, limit := range []string{"1", "2"} {
		if t.Open("prompt", t.Prompt("idle", "2600")) {
			t.send(t.Request("listen", spec.Event{PollLimit: limit}), wire.Limit{})
		}
	}
}

// answering are the phrases that answer what the server asked for, or gave, before:
// they are no requests on their own.
var answering = []string{"tool-result", "resume", "sign", "uploaded"}

func leadAccepts(t *Talk) {
	o, _ := t.dialect.Phrase("prompt")
	for _, phrase := range o.Phrases() {
		if slices.Contains(answering, phrase) {
			continue
		}
		t.Thread = t.id()
		e := t.Prompt("text", "accepted")
		e.Name = "paint"
		t.Say(phrase, e)
	}
	for _, phrase := range []string{"prompt", "listen"} {
		o, _ := t.dialect.Phrase(phrase)
		if o == nil {
			continue
		}
		for _, spare := range o.Spares {
			t.Thread, t.Run = t.id(), t.id()
			e := t.Prompt("text", "accepted")
			if phrase == "listen" && !t.Open("prompt", e) {
				continue
			}
			r := t.Request(phrase, e)
			r.Header = r.Header.Without(spare.Name)
			t.send(r, wire.Limit{})
		}
	}
}

// leadTogether hears one run out while another ends, and while another is canceled.
func leadTogether(t *Talk) {
	if t.target.Streams == 1 || !t.Open("prompt", t.Prompt("idle", "2000")) {
		return
	}
	t.While(t.Request("listen", spec.Event{}), 1, func() {
		t.Say("prompt", t.Prompt("text", "meanwhile"))
		if t.Open("prompt", t.Prompt("slow", "60 50")) {
			t.While(t.Request("listen", spec.Event{}), 3, func() { t.send(t.Request("cancel", spec.Event{}), wire.Limit{}) })
		}
	})
}
