package suites

import (
	"cmp"
	"fmt"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
)

// A combinationPlayer plays the conversation of one combination.
type combinationPlayer struct {
	*sequencePlayer
	name  string // makes the words unique in the run
	words int    // the number of words used so far
	tool  string // the name of the client tool; "" for paint
	text  textSample
	json  jsonSample

	precede func(c *combinationPlayer) // plays what came before; nil: nothing
	read    func(c *combinationPlayer) // reads the stream of the main run; nil: to its end
}

// word returns a word that no other prompt of the run contains.
func (c *combinationPlayer) word() string {
	c.words++
	return fmt.Sprintf("word-%s-%d", c.name, c.words)
}

// object returns a JSON object that no other prompt of the run contains.
func (c *combinationPlayer) object() string { return `{"city":` + jsonString(c.word()) + `}` }

// ask sends the test prompt that has the name of the given scenario and the arguments args, such as
// "conformance:slow 8 80", and reads the reply to its end.
func (c *combinationPlayer) ask(scenario, args string) {
	c.SendAndRead("prompt", c.PromptEvent(scenario, args))
}

// askMain is like ask, but reads the stream in the way that the combination's value of the
// dimension of readers prescribes.
func (c *combinationPlayer) askMain(scenario, args string) {
	if c.read == nil {
		c.ask(scenario, args)
	} else if c.StartRun("prompt", c.PromptEvent(scenario, args)) {
		c.read(c)
	}
}

// readFinished reads the stream of the last run once more, unless the server refused the run: the
// documents allow the stream of a run that does not exist to wait for it.
func (c *combinationPlayer) readFinished() {
	if c.accepted {
		c.ReadStream("", 0)
	}
}

// askClientTool has the agent call a client tool with the arguments args, and sends result.
func (c *combinationPlayer) askClientTool(args, result string) {
	offer := c.PromptEvent("client-tool", args)
	offer.Name = cmp.Or(c.tool, "paint")
	c.SendAndRead("tool-offer", offer)
	if reply, ok := c.replyEvent("tool-result"); ok {
		reply.Name, reply.Text, reply.Description = offer.Name, result, offer.Text
		c.SendAndRead("tool-result", reply)
	}
}

// askInterrupt has the agent interrupt the run with a payload, and resumes it with answer.
func (c *combinationPlayer) askInterrupt(payload, answer string) {
	c.ask("interrupt", payload)
	if reply, ok := c.replyEvent("resume"); ok {
		reply.Text = answer
		c.SendAndRead("resume", reply)
	}
}

// askInOtherThread sends the test prompt of a scenario on a new thread.
func (c *combinationPlayer) askInOtherThread(scenario, args string) {
	thread := c.Thread
	c.Thread = c.NewID()
	c.ask(scenario, args)
	c.Thread = thread
}

// abandon starts a slow run and closes the connection after two events of its stream.
func (c *combinationPlayer) abandon() {
	if c.respondsWithStream("prompt") {
		c.Run = c.NewID()
		c.send(c.BuildRequest("prompt", c.PromptEvent("slow", slowPromptArgs)), wire.StopWhen{Frames: 2})
	} else if c.StartRun("prompt", c.PromptEvent("slow", slowPromptArgs)) {
		c.ReadStream("", 2)
	}
}

// refusedForms are the names of invalid requests, one of which the document of each dialect refuses.
var refusedForms = []string{"body ends too early to be JSON", "header Content-Type is text/plain", "method is PUT"}

// sendRefused sends a request that would start a run if it were valid. It sends nothing if the
// document does not say how any of the [refusedForms] is refused.
func (c *combinationPlayer) sendRefused() {
	run := c.Run
	c.Run = c.NewID()
	r := c.BuildRequest("prompt", c.PromptEvent("text", c.word()))
	c.Run = run
	for i := range refusedForms {
		name := refusedForms[(i+c.words)%len(refusedForms)]
		if m, ok := c.dialect.InvalidRequestByName(r, name); ok {
			c.Send(m.Request)
			return
		}
	}
}

// cancel starts a slow run and cancels it while its stream is read.
func (c *combinationPlayer) cancel() {
	if c.StartRun("prompt", c.PromptEvent("slow", "60 50")) {
		c.cancelDuringStream(3)
	}
}

// asks returns the dimensionValue in which the client sends the test prompt of a scenario, with the
// arguments that args returns.
func asks(doc, scenario string, args func(c *combinationPlayer) string) dimensionValue {
	return dimensionValue{doc: doc, needs: Scenario{Templates: promptTemplates, Capability: scenario},
		apply: func(c *combinationPlayer) { c.ask(scenario, args(c)) }}
}

// asksMain is like [asks], but for the main prompt of the combination.
func asksMain(doc, scenario string, args func(c *combinationPlayer) string) dimensionValue {
	return dimensionValue{doc: doc, needs: Scenario{Templates: promptTemplates, Capability: scenario},
		apply: func(c *combinationPlayer) { c.askMain(scenario, args(c)) }}
}

// asksWithText is like [asksMain], but for a prompt whose arguments are the text of the combination.
func asksWithText(scenario string) dimensionValue {
	v := asksMain("the prompt "+scenario+" with TEXT", scenario, sampleText)
	v.takesText = true
	return v
}

// fixed returns a function that returns the given arguments of a prompt.
func fixed(args string) func(*combinationPlayer) string {
	return func(*combinationPlayer) string { return args }
}

// sampleText returns the text of the combination's class.
func sampleText(c *combinationPlayer) string { return c.text.make(c.word()) }

// sampleJSON returns the JSON object of the combination's class.
func sampleJSON(c *combinationPlayer) string { return c.json.make(c.word()) }

// textValues returns the values of the dimension of texts, one for each of the [textSamples] that
// prompts of the dialect may contain.
func (t *Target) textValues() (all []dimensionValue) {
	for _, s := range textSamples {
		if t.fitsInPrompt(s) {
			all = append(all, dimensionValue{doc: s.doc, apply: func(c *combinationPlayer) { c.text = s }})
		}
	}
	return all
}

// fitsInPrompt reports whether a prompt with a text of the class is a valid request. Some documents
// limit the length of a prompt.
func (t *Target) fitsInPrompt(s textSample) bool {
	const id = "00000000-0000-4000-8000-000000000000"
	e := spec.Event{Thread: id, Run: id, Text: t.promptText("reasoning", s.make("word-0000-00"))}
	r, err := t.Dialect.BuildRequest("prompt", e)
	return err == nil && len(t.Dialect.ValidateRequest(r)) == 0
}

// jsonValues returns the values of the dimension of JSON objects, one for each of the [jsonSamples].
func jsonValues() (all []dimensionValue) {
	for _, s := range jsonSamples {
		all = append(all, dimensionValue{doc: s.doc, apply: func(c *combinationPlayer) { c.json = s }})
	}
	return all
}

// formValues returns the values of the dimension of request forms, one for each of the
// [requestForms].
func formValues() (all []dimensionValue) {
	for _, f := range requestForms {
		doc := f.doc
		if doc != "" {
			doc = "requests " + doc
		}
		all = append(all, dimensionValue{doc: doc, apply: func(c *combinationPlayer) { c.form = f.rewrite }})
	}
	return all
}

// connectionValues are the values of the dimension of connections.
var connectionValues = []dimensionValue{
	{},
	{doc: "on a reused connection", apply: func(c *combinationPlayer) { c.keepAlive() }},
}

// What several values of dimensions need.
var (
	needsListen     = Scenario{Templates: []string{"listen"}}
	needsCursor     = Scenario{Templates: []string{"listen"}, Kinds: cursorKinds, Capability: "resume"}
	needsClientTool = Scenario{Templates: []string{"tool-offer", "tool-result"}, Capability: "client-tool"}
	needsHistory    = Scenario{
		Templates: []string{"prompt", "history"}, Kinds: []spec.Kind{spec.History}, Capability: "history",
	}
	needsInterrupt = Scenario{
		Templates: []string{"prompt", "resume"}, Kinds: []spec.Kind{spec.Interrupt}, Capability: "interrupt",
	}
)

// beforeValues are the values of the dimension of what happened before in the conversation.
var beforeValues = []dimensionValue{
	{},
	asks("after a reply", "text", (*combinationPlayer).word),
	asks("after an empty reply", "empty", fixed("")),
	asks("after two messages", "messages", fixed("")),
	asks("after an image", "contents", fixed("")),
	asks("after reasoning", "reasoning", (*combinationPlayer).word),
	asks("after a tool call", "tool", (*combinationPlayer).object),
	asks("after two tool calls", "tools", fixed("")),
	asks("after a failed run", "error", (*combinationPlayer).word),
	asks("after a run that failed midway", "error-mid", (*combinationPlayer).word),
	asks("after a large reply", "large", fixed("70000")),
	asks("after a reply of 300 deltas", "many", fixed("300")),
	{
		doc: "after a client tool call", needs: needsClientTool,
		apply: func(c *combinationPlayer) {
			c.askClientTool(c.object(), c.word())
		},
	},
	{
		doc: "after a resumed interrupt", needs: needsInterrupt,
		apply: func(c *combinationPlayer) {
			c.askInterrupt(c.object(), c.word())
		},
	},
	{
		doc: "after an abandoned run", needs: Scenario{Templates: promptTemplates, Capability: "slow"},
		apply: (*combinationPlayer).abandon,
	},
	{
		doc: "after a cancelled run", needs: Scenario{Templates: []string{"prompt", "listen", "cancel"}, Capability: "cancel"},
		apply: (*combinationPlayer).cancel,
	},
	{
		doc: "after a refused request", needs: Scenario{Templates: promptTemplates, Capability: "refusals"},
		apply: func(c *combinationPlayer) {
			c.ask("text", c.word())
			c.sendRefused()
		},
	},
	{
		doc: "after a reply in another conversation", needs: Scenario{Templates: promptTemplates},
		apply: func(c *combinationPlayer) {
			c.askInOtherThread("text", c.word())
		},
	},
}

// promptValues are the values of the dimension of main prompts. TEXT and JSON in their docs stand
// for the values of the dimensions "text" and "json".
var promptValues = []dimensionValue{
	asksWithText("text"),
	asksWithText("reasoning"),
	asksWithText("error"),
	asksWithText("error-mid"),
	{
		doc: "the prompt recall after TEXT", takesText: true,
		needs: Scenario{Templates: promptTemplates, Capability: "recall"},
		apply: func(c *combinationPlayer) {
			c.ask("text", sampleText(c))
			c.askMain("recall", "")
		},
	},
	{
		doc: "the prompt recall after another prompt with TEXT", takesText: true,
		needs: Scenario{Templates: promptTemplates, Capability: "recall"},
		apply: func(c *combinationPlayer) {
			c.SendAndRead("prompt", spec.Event{Text: "say " + sampleText(c)})
			c.askMain("recall", "")
		},
	},
	{
		doc: "the prompt client-tool with JSON and the result TEXT", needs: needsClientTool, takesText: true, takesJSON: true,
		apply: func(c *combinationPlayer) {
			c.askClientTool(sampleJSON(c), sampleText(c))
		},
	},
	{
		doc: "the prompt interrupt with JSON, resumed with TEXT", needs: needsInterrupt, takesText: true, takesJSON: true,
		apply: func(c *combinationPlayer) {
			c.askInterrupt(sampleJSON(c), sampleText(c))
		},
	},
	{
		doc: "the prompt tool with JSON", needs: Scenario{Templates: promptTemplates, Capability: "tool"}, takesJSON: true,
		apply: func(c *combinationPlayer) { c.askMain("tool", sampleJSON(c)) },
	},
	asksMain("the prompt tools", "tools", fixed("")),
	asksMain("the prompt messages", "messages", fixed("")),
	asksMain("the prompt contents", "contents", fixed("")),
	asksMain("the prompt empty", "empty", fixed("")),
	asksMain("the prompt many 1", "many", fixed("1")),
	asksMain("the prompt many 2", "many", fixed("2")),
	asksMain("the prompt many 257", "many", fixed("257")),
	asksMain("the prompt large 1", "large", fixed("1")),
	asksMain("the prompt large 4097", "large", fixed("4097")),
	asksMain("the prompt large 65537", "large", fixed("65537")),
	asksMain("the prompt large 1048577", "large", fixed("1048577")),
	asksMain("the prompt slow 4 15", "slow", fixed("4 15")),
	asksMain("the prompt idle 120", "idle", fixed("120")),
}

// afterValues are the values of the dimension of what the client does after the main run.
var afterValues = []dimensionValue{
	{},
	asks("then the prompt recall", "recall", fixed("")),
	asks("then another reply", "text", (*combinationPlayer).word),
	asks("then another tool call", "tool", (*combinationPlayer).object),
	{
		doc: "then the prompt recall in another conversation", needs: Scenario{Templates: promptTemplates, Kinds: []spec.Kind{spec.SlotThread}, Capability: "recall"},
		apply: func(c *combinationPlayer) {
			c.askInOtherThread("recall", "")
		},
	},
	{
		doc: "then the history", needs: needsHistory,
		apply: func(c *combinationPlayer) { c.completeHistory() },
	},
	{
		doc: "then the history after another reply", needs: needsHistory,
		apply: func(c *combinationPlayer) {
			c.ask("text", c.word())
			c.completeHistory()
		},
	},
	{
		doc: "then the stream again", needs: needsListen,
		apply: (*combinationPlayer).readFinished,
	},
	{
		doc: "then requests of another user", needs: Scenario{Templates: []string{"listen"}, Denial: spec.DeniedOtherUser, Capability: "second-user"},
		apply: func(c *combinationPlayer) {
			c.sendAsEach([]spec.Principal{spec.OtherUser}, "listen", spec.Event{})
			c.readFinished()
		},
	},
	{
		doc: "then a refused request and the prompt recall", needs: Scenario{Templates: promptTemplates, Capability: "refusals"},
		apply: func(c *combinationPlayer) {
			c.sendRefused()
			c.ask("recall", "")
		},
	},
}
