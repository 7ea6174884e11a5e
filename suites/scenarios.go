package suites

import (
	"slices"
	"strconv"

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
	Words    []spec.Kind // the kinds that it is about: without them it is not played
	Proves   []string    // checks: silence on these breaks a promise
	Lead     func(*Talk)
}

// Applies says whether a client can lead the scenario in d.
func (s Scenario) Applies(d *dialect.Dialect) bool {
	phrases, kinds := d.Phrases(), d.Kinds()
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
var Scenarios = []Scenario{
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
		Proves: []string{"tool.client-call-is-left-open", "tool.client-call-is-offered", "script.client-tool"},
		Lead:   leadClientTool,
	}, {
		Name: "interrupt", Doc: "an interrupt, and what the client answers",
		Says: []string{"prompt", "resume"}, Words: []spec.Kind{spec.Interrupt},
		Proves: []string{"interrupt.is-last", "script.interrupt"},
		Lead: func(t *Talk) {
			t.Say("prompt", t.Prompt("interrupt", `{"question":"Delete 3 files?","steps":["a","b"]}`))
			if asked := t.Heard(spec.Interrupt); asked.Kind != "" {
				t.Say("resume", spec.Event{ID: asked.ID, Text: "approved"})
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
		Name: "cancel", Doc: "a run that is canceled while it is told", Expected: true, Says: []string{"prompt", "listen", "cancel"},
		Proves: []string{"reply.as-promised", "cancel.run-ends"},
		Lead: func(t *Talk) {
			if t.Open("prompt", t.Prompt("slow", "60 50")) {
				t.While(3, func() { t.send(t.Request("cancel", spec.Event{}), wire.Limit{}) })
			}
		},
	}, {
		Name: "resume", Doc: "the connection is lost after every event in turn, and taken up again", Expected: true,
		Says: []string{"prompt", "listen"}, Words: []spec.Kind{spec.SlotCursor},
		Proves: []string{"resume.starts-after-cursor", "resume.excludes-cursor", "resume.loses-nothing", "resume.tells-the-same", "resume.ends"},
		Lead:   leadResume,
	}, {
		Name: "accepts", Doc: "every form of request that the document allows", Capability: "text", Says: prompts,
		Proves: []string{"accept.as-documented"}, Lead: leadAccepts,
	}, {
		Name: "refusals", Doc: "every request that breaks the document in one place, and its twin", Expected: true, Says: prompts,
		Proves: []string{"refuse.as-documented"}, Lead: leadRefusals,
	}, {
		Name: "health", Doc: "the operation that says whether the server is well", Says: []string{"health"},
		Proves: []string{"health.answers"},
		Lead:   func(t *Talk) { t.send(t.Request("health", spec.Event{}), wire.Limit{}) },
	},
}

// whole says whether the dialect lets a client say this.
func (t *Talk) whole(phrase string, e spec.Event) bool {
	return len(t.dialect.Judge(t.Request(phrase, e))) == 0
}

func leadClientTool(t *Talk) {
	offer := t.Prompt("client-tool", `{"color":"blue"}`)
	offer.Name = "paint"
	t.Say("tool-offer", offer)
	id := t.Heard(spec.ToolStart).Call
	if id == "" {
		id = t.Heard(spec.ToolCall).Call
	}
	if id != "" {
		t.Say("tool-result", spec.Event{Call: id, Name: "paint", Text: "painted it blue"})
	}
}

func leadIdleLimit(t *Talk) {
	for _, limit := range []string{"1", "2"} {
		if t.Open("prompt", t.Prompt("idle", "2600")) {
			t.send(t.Request("listen", spec.Event{Limit: limit}), wire.Limit{})
		}
	}
}

// mostCuts bounds how often the resume scenario loses the connection: how long the
// run is, is the target's word.
const mostCuts = 32

func leadResume(t *Talk) {
	for k, n := 1, 2; k < min(n, mostCuts); k++ {
		if !t.Open("prompt", t.Prompt("text", "resume after event "+strconv.Itoa(k))) {
			return
		}
		t.Listen("", k)
		heard := t.Cursors()
		if len(heard) > 0 {
			t.Listen(heard[len(heard)-1], 0)
		}
		t.Listen("", 0)
		n = len(t.Cursors())
	}
}

// answering are the phrases that answer what the server asked before: they are no
// requests on their own.
var answering = []string{"tool-result", "tool-results", "resume"}

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
}

func leadRefusals(t *Talk) {
	tried := map[string]bool{}
	for _, o := range t.dialect.Operations() {
		for _, phrase := range o.Phrases() {
			if slices.Contains(answering, phrase) || !t.played(o, phrase) {
				continue
			}
			t.Thread = t.id()
			e := t.Prompt("text", "one")
			e.Name = "paint"
			if !o.Asks && !t.Open("prompt", e) {
				return
			}
			if o.Asks {
				t.Run = t.id()
			}
			t.probe(o, t.Request(phrase, e), tried)
		}
	}
}

// played says whether the suite knows how to ask for an operation so that a right
// answer can be told from a wrong one: a cancel only where there are runs to cancel.
func (t *Talk) played(o *dialect.Operation, phrase string) bool {
	_, listens := t.dialect.Phrase("listen")
	return o.Asks || phrase == "listen" || phrase == "cancel" && listens && !t.target.lacks("cancel") || phrase == "health"
}

// probe sends a request without fault, and what breaks the document in one place,
// each with its twin before it. What was tried with another phrase is left out.
func (t *Talk) probe(o *dialect.Operation, r spec.Request, tried map[string]bool) {
	mutants := t.dialect.Mutate(r)
	if !t.probed(o, r) {
		return // nothing can be learned from faults in what is refused without them
	}
	twin := r // the last request without fault: the one that a fault is compared with
	for _, m := range mutants {
		name := o.Name + " " + m.Name
		if tried[name] {
			continue
		}
		tried[name] = true
		if string(m.Twin.Body) != string(twin.Body) || m.Twin.Target != twin.Target {
			t.probed(o, m.Twin)
			twin = m.Twin
		}
		t.probed(o, m.Request)
	}
}

// probed sends one of them.
func (t *Talk) probed(o *dialect.Operation, r spec.Request) (accepted bool) {
	if o.Asks {
		r = t.fresh(r)
	}
	return t.send(r, wire.Limit{})
}
