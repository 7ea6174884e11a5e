package suites

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// A combinationPlayer plays the conversation of one combination.
type combinationPlayer struct {
	*sequencePlayer
	name  string        // name of the combination without its prefix; makes the results of word unique
	words int           // number of calls of word
	tool  string        // name of the client tool; "" means "paint"
	text  textGenerator // class of the texts in the main prompt
	json  jsonGenerator // class of the JSON objects in the main prompt

	precede func(c *combinationPlayer) // the field apply of the value of beforeDimension
	read    func(c *combinationPlayer) // reads the stream of the main run; nil: read it once, to its end
}

// word returns a word that occurs in no other prompt of the test run, such as "word-12-3".
func (c *combinationPlayer) word() string {
	c.words++
	return fmt.Sprintf("word-%s-%d", c.name, c.words)
}

// object returns a JSON object with one member, whose value is a result of
// [combinationPlayer.word].
func (c *combinationPlayer) object() string { return `{"city":` + jsonText(c.word()) + `}` }

// ask sends the test prompt (docs/prompts.md) with the given name and arguments, and reads the
// reply to its end. For example, the scenario "slow" and the args "8 80" select the prompt
// "conformance:slow 8 80".
func (c *combinationPlayer) ask(scenario, args string) {
	c.SendAndRead("prompt", c.PromptEvent(scenario, args))
}

// askMain sends the same test prompt as [combinationPlayer.ask], but as the main prompt. It reads
// the reply with c.read or, if c.read is nil, once and to its end.
func (c *combinationPlayer) askMain(scenario, args string) {
	if c.read == nil {
		c.ask(scenario, args)
	} else if c.StartRun("prompt", c.PromptEvent(scenario, args)) {
		c.read(c)
	}
}

// readFinished reads the stream of the last run once more, from the beginning. It sends nothing if
// the server did not accept the run.
func (c *combinationPlayer) readFinished() {
	if c.accepted { // otherwise a server may keep the stream open until a run with that id is started
		c.ReadStream("", 0)
	}
}

// askClientTool makes the agent call a client tool with args, a JSON text, and sends result as the
// tool result. It sends no result if the agent does not call the tool.
func (c *combinationPlayer) askClientTool(args, result string) {
	offer := c.PromptEvent("client-tool", args)
	offer.Name = cmp.Or(c.tool, "paint")
	c.SendAndRead("tool-offer", offer)
	if reply, ok := c.replyEvent("tool-result"); ok {
		reply.Name, reply.Text, reply.Description = offer.Name, result, offer.Text
		c.SendAndRead("tool-result", reply)
	}
}

// askInterrupt makes the agent interrupt the run with payload, a JSON text, and resumes the run
// with answer. It does not resume the run if the agent sends no interrupt.
func (c *combinationPlayer) askInterrupt(payload, answer string) {
	c.answerInterrupt(payload, "resume", answer)
}

// answerInterrupt is like [combinationPlayer.askInterrupt], but builds the request that resumes the
// run from the template with the given name.
func (c *combinationPlayer) answerInterrupt(payload, template, answer string) {
	c.ask("interrupt", payload)
	if reply, ok := c.replyEvent(template); ok && c.allowsReply(template, reply) {
		reply.Text = answer
		c.SendAndRead(template, reply)
	}
}

// askInOtherThread is like [combinationPlayer.ask], but sends the prompt in a new thread. After the
// call, the current thread is the same as before.
func (c *combinationPlayer) askInOtherThread(scenario, args string) {
	c.inOtherThread(func() { c.ask(scenario, args) })
}

// inOtherThread calls send, which sends requests in a new thread. After the call, the current
// thread is the same as before.
func (c *combinationPlayer) inOtherThread(send func()) {
	thread := c.Thread
	c.Thread = c.NewID()
	send()
	c.Thread = thread
}

// abandon starts a slow run and closes the connection after two events of its stream.
func (c *combinationPlayer) abandon() { c.startAndLeave(c.PromptEvent("slow", slowPromptArgs)) }

// refusedForms contains the names of the invalid requests that sendRefused sends; see
// [dialect.Dialect.InvalidRequestByName]. Each dialect describes the refusal of at least one of
// them.
var refusedForms = []string{"body ends too early to be JSON", "header Content-Type is text/plain", "method is PUT"}

// sendRefused sends a prompt that the server must refuse. The invalid form of the prompt is one of
// the [refusedForms] for which the dialect describes the refusal. sendRefused does not change the
// current run.
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

// invalidMembers returns prompts for the current thread, each with one invalid member in the body,
// but with a valid text. There is one prompt for each class of status codes (such as 4xx) with
// which the dialect's document requires such prompts to be refused, in ascending order. Before
// these, there is one for which the document states no status code, if any. If the invalid member
// of some prompts is at the top level of the body, and thus outside the message, one of those
// prompts comes first. invalidMembers does not send the requests and does not change the current
// run. If it cannot build a prompt, it ends the conversation and returns nil.
func (c *combinationPlayer) invalidMembers() (all []spec.Request) {
	e := c.PromptEvent("text", c.word())
	e.Thread, e.Run = c.Thread, c.NewID()
	r, err := c.dialect.BuildRequest("prompt", e) // without earlier messages, which could make it large
	if err != nil {
		c.fail(err)
		return nil
	}
	byClass, atTop := map[string][]spec.Request{}, []spec.Request(nil)
	for _, m := range c.dialect.InvalidRequests(r) {
		if !strings.HasPrefix(m.Name, "body /") {
			continue
		}
		got := c.dialect.ParseRequest(m.Request)
		if prompt, _ := got.Prompt(); prompt != e.Text || got.Thread != c.Thread {
			continue
		}
		class := "" // the document states no status code
		if status := got.Violations[0].Refusals[0].Status; len(status) > 0 {
			class = status[0][:1]
		}
		byClass[class] = append(byClass[class], m.Request)
		if place, _, _ := strings.Cut(m.Name, " is "); strings.Count(place, "/") == 1 {
			atTop = append(atTop, m.Request)
		}
	}
	if len(atTop) > 0 {
		all = append(all, atTop[c.words%len(atTop)])
	}
	for _, class := range slices.Sorted(maps.Keys(byClass)) {
		all = append(all, byClass[class][c.words%len(byClass[class])])
	}
	return all
}

// cancel starts a slow run, reads its stream, and cancels the run after three events.
func (c *combinationPlayer) cancel() {
	if c.StartRun("prompt", c.PromptEvent("slow", "60 50")) {
		c.cancelDuringStream(3)
	}
}

// asks returns a dimension value with the description doc. Its apply function calls args, and then
// calls [combinationPlayer.ask] with the scenario and the result of args. The value needs the
// capability with the name of the scenario.
func asks(doc, scenario string, args func(c *combinationPlayer) string) dimensionValue {
	return dimensionValue{doc: doc, needs: Scenario{Templates: promptTemplates, Capability: scenario},
		apply: func(c *combinationPlayer) { c.ask(scenario, args(c)) }}
}

// asksMain is like [asks], but the apply function calls [combinationPlayer.askMain].
func asksMain(doc, scenario string, args func(c *combinationPlayer) string) dimensionValue {
	return dimensionValue{doc: doc, needs: Scenario{Templates: promptTemplates, Capability: scenario},
		apply: func(c *combinationPlayer) { c.askMain(scenario, args(c)) }}
}

// asksWithText is like [asksMain], but the test prompt has the result of [sampleText] as its
// argument, and the description contains TEXT.
func asksWithText(scenario string) dimensionValue {
	v := asksMain("the prompt "+scenario+" with TEXT", scenario, sampleText)
	v.takesText = true
	return v
}

// fixed returns a function that always returns args, for use with [asks] and [asksMain].
func fixed(args string) func(*combinationPlayer) string {
	return func(*combinationPlayer) string { return args }
}

// sampleText returns a text of the class c.text. Each call returns a different text, unless the
// class contains only one.
func sampleText(c *combinationPlayer) string { return c.text.make(c.word()) }

// sampleJSON returns a JSON object of the class c.json, such as one with null members or deep
// nesting. Each call returns a different object, unless the class contains only one.
func sampleJSON(c *combinationPlayer) string { return c.json.make(c.word()) }

// textValues returns the values of [textDimension], one for each of the [textSamples] that a prompt
// of the dialect may contain.
func (t *Target) textValues() (all []dimensionValue) {
	for _, s := range textSamples {
		if t.fitsInPrompt(s) {
			all = append(all, dimensionValue{doc: s.doc, apply: func(c *combinationPlayer) { c.text = s }})
		}
	}
	return all
}

// fitsInPrompt reports whether the dialect's document allows a prompt to contain a text of class s.
// Some documents limit the length of a prompt.
func (t *Target) fitsInPrompt(s textGenerator) bool {
	const id = "00000000-0000-4000-8000-000000000000"
	e := spec.Event{Thread: id, Run: id, Text: t.promptText("reasoning", s.make("word-0000-00"))}
	r, err := t.Dialect.BuildRequest("prompt", e)
	return err == nil && len(t.Dialect.ValidateRequest(r)) == 0
}

// jsonValues returns the values of [jsonDimension], one for each of the [jsonSamples].
func jsonValues() (all []dimensionValue) {
	for _, s := range jsonSamples {
		all = append(all, dimensionValue{doc: s.doc, apply: func(c *combinationPlayer) { c.json = s }})
	}
	return all
}

// formValues returns the values of [formDimension], one for each of the [requestForms].
func formValues() (all []dimensionValue) {
	for _, f := range requestForms {
		doc := f.doc
		if doc != "" {
			doc = "requests " + doc
		}
		all = append(all, dimensionValue{doc: doc, apply: func(c *combinationPlayer) { c.form = f.rewrite }})
	}
	return append(all,
		dimensionValue{doc: "requests with their bodies in chunks", apply: func(c *combinationPlayer) {
			c.inOtherThread(func() { c.acceptsForm(inChunks) })
		}},
		dimensionValue{doc: "with capital letters in the ids", apply: (*combinationPlayer).useNames},
	)
}

// useNames makes [Conversation.NewID] return ids that contain capital letters and are no UUIDs, and
// sets the current thread to such an id. It has no effect if the dialect's document does not allow
// such ids, or if the server refuses them.
func (c *combinationPlayer) useNames() {
	thread := c.Thread
	c.idPrefix = "Id-"
	c.Thread = c.NewID()
	if e := c.PromptEvent("text", c.word()); c.isValid("prompt", e) && c.startIfTaken("", e) {
		c.Thread = c.NewID()
		return
	}
	c.Thread, c.idPrefix = thread, ""
}

// connectionValues lists the values of [connectionDimension]: each request uses a new connection,
// or the requests reuse connections.
var connectionValues = []dimensionValue{
	{},
	{doc: "on a reused connection", apply: func(c *combinationPlayer) { c.keepAlive() }},
}

// Values for the field needs of a [dimensionValue].
var (
	needsListen     = Scenario{Templates: []string{"listen"}}
	needsCursor     = Scenario{Templates: []string{"listen"}, Kinds: cursorKinds, Capability: "resume"}
	needsCancel     = Scenario{Templates: []string{"prompt", "listen", "cancel"}, Capability: "cancel"}
	needsClientTool = Scenario{Templates: []string{"tool-offer", "tool-result"}, Capability: "client-tool"}
	needsHistory    = Scenario{
		Templates: []string{"prompt", "history"}, Kinds: []spec.Kind{spec.History}, Capability: "history",
	}
	needsInterrupt = Scenario{
		Templates: []string{"prompt", "resume"}, Kinds: []spec.Kind{spec.Interrupt}, Capability: "interrupt",
	}
)

// beforeValues lists the values of [beforeDimension], the turns before the main prompt. Most of
// them are in the same thread.
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
		doc: "after a cancelled run", needs: needsCancel,
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

// promptValues lists the values of [promptDimension], the main prompts, except those in
// [morePromptValues]. In the description of a prompt, TEXT and JSON stand for the descriptions of
// the values of [textDimension] and [jsonDimension].
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

// afterValues lists the values of [afterDimension], the actions after the main run, except those in
// [moreAfterValues].
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
