package suites

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/streamassay/streamassay/spec"
)

// payloadScenarios are the scenarios in which servers store or repeat values of many kinds, and
// those in which a thread has many different turns. They send prompts only if the agent follows the
// test prompts (docs/prompts.md), because checks compare the replies with the prompts.
var payloadScenarios = []Scenario{
	{
		Name: "payloads", Doc: "texts of many kinds, each repeated by the reply, by recall and by the history",
		Capability: "text", Templates: promptTemplates, Run: runPayloads,
	}, {
		Name: "payloads-apart", Doc: "texts of many kinds after reasoning and in errors",
		Capability: "text", Templates: promptTemplates, Run: runPayloadsApart,
	}, {
		Name: "payloads-tools", Doc: "JSON objects and texts of many kinds as arguments and results of tools",
		Capability: "text", Templates: promptTemplates, Run: runPayloadsOfTools,
	}, {
		Name: "payloads-interrupts", Doc: "JSON objects of many kinds in interrupts, answered with texts of many kinds",
		Capability: "interrupt", Templates: needsInterrupt.Templates, Kinds: needsInterrupt.Kinds, Run: runPayloadsOfInterrupts,
	}, {
		Name: "payloads-after", Doc: "long texts and tool arguments of many kinds, after each kind of turn",
		Capability: "text", Templates: promptTemplates, Run: runPayloadsAfterTurns,
	}, {
		Name: "memory", Doc: "recall after each kind of turn, in one thread",
		Capability: "recall", Templates: promptTemplates, Run: runMemory,
	}, {
		Name: "twice", Doc: "each kind of turn twice in one thread and on one connection, with other values",
		Capability: "text", Templates: promptTemplates, Run: runTwice,
	},
}

// newPayloadPlayer returns a player for conversation t. The argument name, which must be unique
// among the scenarios that use a player, becomes a part of the results of [combinationPlayer.word].
// The second result is false if the agent does not follow the test prompts (docs/prompts.md); the
// scenario must then send nothing.
func newPayloadPlayer(t *Conversation, name string) (*combinationPlayer, bool) {
	return &combinationPlayer{sequencePlayer: newSequencePlayer(t), name: name}, t.target.isScripted
}

// askIfSupported is like [combinationPlayer.ask], but sends nothing if the target lacks the
// capability with the name of the scenario.
func (c *combinationPlayer) askIfSupported(scenario, args string) {
	if !c.target.lacksCapability(scenario) {
		c.ask(scenario, args)
	}
}

// maxQuotedEnd is the size, in bytes, below which the payloads scenario sends the event at the end
// of a run as the text of a prompt.
const maxQuotedEnd = 4096

// runPayloads plays the payloads scenario on reused connections. It sends texts of many kinds, one
// of which is the event that ended the previous run, and asks for the previous message after each.
// Then it requests the history, and sends each of the [rarePrompts] in a new thread. Finally, it
// sends long texts with their bodies in chunks, unless the server refuses such requests.
func runPayloads(t *Conversation) {
	c, ok := newPayloadPlayer(t, "payload")
	if !ok {
		return
	}
	t.noteNewThread()
	c.keepAlive()
	samples := slices.Concat(edgeSamples, joinedSamples(), parsedSamples(), longSamples, []textGenerator{emojiSample})
	for _, s := range samples {
		if !c.target.fitsInPrompt(s) {
			continue
		}
		c.ask("text", s.make(c.word()))
		c.askIfSupported("recall", "")
	}
	if end := string(c.LastEvent(spec.RunEnd).Raw); end != "" && len(end) < maxQuotedEnd && utf8.ValidString(end) {
		c.ask("text", end)
		c.askIfSupported("recall", "")
	}
	// In these prompts, the special text is at the beginning, without the name of a test prompt
	// before it.
	for _, s := range slices.Concat(edgeSamples, parsedSamples()) {
		c.SendAndRead("prompt", spec.Event{Text: s.make(c.word())})
		c.askIfSupported("recall", "")
	}
	c.completeHistory()
	for _, prompt := range rarePrompts {
		if c.Thread = c.NewID(); c.askIfPossible(prompt.text) && prompt.isRecalled {
			c.askIfSupported("recall", "")
		}
	}
	if c.Thread = c.NewID(); c.acceptsForm(inChunks) {
		for _, s := range slices.Concat(longSamples[:1], joinedSamples()) {
			c.ask("text", s.make(c.word()))
			c.askIfSupported("recall", "")
		}
		c.askIfPossible("conformance:text " + longText(c.word(), rareLength))
		c.completeHistory()
	}
}

// acceptsForm makes the conversation send all further requests in a form that HTTP allows, but that
// a server need not support. If the server refuses a prompt in this form, acceptsForm removes the
// exchange from the recording, leaves the form of further requests as it was, and returns false.
func (c *combinationPlayer) acceptsForm(form func(spec.Request) spec.Request) bool {
	n, before := c.exchangeCount(), c.form
	c.form = form
	if c.ask("text", c.word()); c.hasFollowedLastRequest() {
		return true
	}
	c.forget(n)
	c.form = before
	return false
}

// rarePrompts are prompts that some frameworks or databases cannot store or answer, and that a
// server may therefore refuse, but not with status 5xx: texts of white space only, a text with NUL,
// and a text of more than 65,536 characters.
var rarePrompts = []struct {
	text       string
	isRecalled bool // a server that accepts the prompt must be able to repeat it
}{
	{"conformance:text \t \n", true},
	{"conformance:text a\x00b", false},
	{" ", true},
	{"conformance:text " + longText("long", rareLength), true},
}

// askIfPossible sends a prompt with the given text, reads the reply, and reports whether the run
// was accepted and did not fail. It sends nothing if the dialect's document does not allow the
// request. If the server refuses the request or the run fails, askIfPossible calls
// [Conversation.forgetRefused] for the exchanges.
func (c *combinationPlayer) askIfPossible(text string) bool {
	e := spec.Event{Text: text}
	if !c.isValid("prompt", e) {
		return false
	}
	return c.forgetIfFailed(func() { c.SendAndRead("prompt", e) })
}

// rareLength is the length, in bytes, of the longest texts that the payload scenarios send. It is
// greater than 65,536, a common limit of buffers and database fields.
const rareLength = 1<<16 + 64

// tryInNewThread sets c.Thread to a new id and calls [Conversation.forgetIfFailed] with send, which
// sends requests in that thread.
func (c *combinationPlayer) tryInNewThread(send func()) {
	c.Thread = c.NewID()
	c.forgetIfFailed(send)
}

// edgeSamples are classes of texts that an incorrect server may change: by removing white space at
// the beginning and end, by using a different encoding, by parsing a text as a line of an event
// stream, or by dropping a delta that equals the one before.
var edgeSamples = []textGenerator{
	{"a text between spaces", func(w string) string { return " \n" + w + "\t " }},
	{"a text between line feeds", func(w string) string { return "\n " + w + " \n" }},
	{"a text between unusual white space", func(w string) string { return "\ufeff" + w + "\u3000" }},
	{"a text in Latin-1", func(w string) string { return "déjà " + w + " naïf" }},
	{"a text that begins like a line of an event stream", func(w string) string { return "data: " + w }},
	{"a text that repeats one word", func(string) string { return "ha ha ha ha " }},
}

// longSamples are classes of texts that are longer than common sizes of database fields or buffers.
// Those of the last two classes consist mostly of characters that have several code units in UTF-8,
// and one of them also in UTF-16, so that the end of a buffer may split a character.
var longSamples = []textGenerator{
	{"a text of 4,097 bytes between white space", func(w string) string { return "\n" + longText(w, 4095) + " " }},
	{"a text of a letter and 4,900 emoji", func(w string) string { return w[len(w)-1:] + strings.Repeat("🚀", 4900) }},
	{"a text of 65,536 bytes of three-byte characters", func(w string) string { return w + strings.Repeat("世", 65536/3) }},
}

// emojiSample is a class with a single text. It consists of characters that have several code units
// in UTF-8 and in UTF-16, so that a server that splits the text may split a character.
var emojiSample = textGenerator{"a text of emoji only", func(string) string { return "🙂🙂🙂" }}

// yesSample is a class with the single text "YES", an answer to an interrupt. An incorrect server
// may convert the answer to lower case in order to compare it with "yes", and store the result.
var yesSample = textGenerator{"a word in capital letters", func(string) string { return "YES" }}

// isParsed reports whether an incorrect server may treat text as something other than text. The
// result is true for valid JSON, a number or a date, a test prompt, and a text of at most one byte.
func isParsed(text string) bool {
	return len(text) < 2 || json.Valid([]byte(text)) || strings.Trim(text, "0123456789-") == "" ||
		strings.HasPrefix(text, "conformance:")
}

// parsedSamples returns the [textSamples] for whose texts isParsed returns true.
func parsedSamples() []textGenerator {
	return slices.DeleteFunc(slices.Clone(textSamples), func(s textGenerator) bool { return !isParsed(s.make("word")) })
}

// joinedSamples returns three classes of texts. Each text joins texts of several [textSamples] with
// line feeds. The first class has the ASCII samples without punctuation, the second the samples
// with non-ASCII characters, and the third all others. joinedSamples omits [parsedSamples], texts
// of at least 100 bytes, and texts that differ from plain text only in white space at the beginning
// or end.
func joinedSamples() []textGenerator {
	joined := make([][]textGenerator, 3)
	for _, s := range textSamples {
		text := s.make("word")
		if isParsed(text) || strings.TrimSpace(text) == "word" || len(text) >= 100 {
			continue
		}
		kind := 2
		if isBeyondASCII := func(r rune) bool { return r >= 0x80 }; strings.ContainsFunc(text, isBeyondASCII) {
			kind = 1
		} else if !strings.ContainsFunc(text, unicode.IsPunct) {
			kind = 0
		}
		joined[kind] = append(joined[kind], s)
	}
	var all []textGenerator
	for _, some := range joined {
		all = append(all, textGenerator{"several texts", func(word string) string {
			var texts []string
			for _, s := range some {
				texts = append(texts, s.make(word))
			}
			return strings.Join(texts, "\n")
		}})
	}
	return all
}

// runPayloadsApart plays the payloads-apart scenario. It sends prompts that ask for reasoning and
// for errors, with texts of many kinds.
func runPayloadsApart(t *Conversation) {
	c, ok := newPayloadPlayer(t, "apart")
	if !ok {
		return
	}
	reasons := slices.Contains(c.dialect.Kinds(), spec.ReasoningStart)
	for i, s := range slices.Concat(edgeSamples, joinedSamples(), parsedSamples()[:1], longSamples[:1], longSamples[:1]) {
		if reasons {
			c.askIfSupported("reasoning", s.make(c.word()))
		}
		c.askIfSupported([]string{"error", "error-mid"}[i%2], s.make(c.word()))
	}
}

// toolResults are results of client tools that an incorrect server may drop or interpret: empty
// texts, white space, valid JSON, sequences that are special in replacement strings, such as "$&",
// and error messages.
var toolResults = []string{
	"", " ", "{}", `""`, "null", `{ "a" : [ 1 , null ] }`, `"quoted"`, "1e3", `costs $& and $$5 \1`, "Error: no paint",
}

// toolNames are names of client tools, for which the protocols allow any text. Some names contain
// characters that an incorrect server may replace or treat as separators, and one is longer than 64
// characters.
var toolNames = []string{"paint", "sketch.it", "größe", strings.Repeat("measure-", 9)}

// objectSamples returns those of the [jsonSamples] whose objects contain an empty object, null or
// an empty member name, and one more sample. Each object of that sample has a member for each of
// the jsonSamples, so that the result covers the same cases with fewer samples.
func objectSamples() (all []jsonGenerator) {
	for i, s := range jsonSamples {
		if object := s.make("word"); strings.Contains(object, "{}") || strings.Contains(object, "null") || strings.Contains(object, `"":`) {
			all = append(all, jsonSamples[i])
		}
	}
	return append(all, jsonGenerator{"an object of many objects", func(word string) string {
		var members []string
		for i, s := range jsonSamples {
			members = append(members, fmt.Sprintf(`"part %d":%s`, i, s.make(word)))
		}
		return "{" + strings.Join(members, ",") + "}"
	}})
}

// runPayloadsOfTools plays the payloads-tools scenario. It asks for tool calls with many kinds of
// arguments, and sends many kinds of tool results. One of the arguments and one of the results are
// longer than 65,536 bytes. It requests the history of the first calls. Finally, it offers a client
// tool with the name of the server's own tool.
func runPayloadsOfTools(t *Conversation) {
	c, ok := newPayloadPlayer(t, "tool")
	if !ok {
		return
	}
	t.noteNewThread()
	objects := objectSamples()
	for _, s := range objects {
		c.askIfSupported("tool", s.make(c.word()))
	}
	c.completeHistory()
	if !c.target.lacksCapability("tool") {
		c.Thread = c.NewID()
		c.askIfPossible(c.target.promptText("tool", `{"text":`+jsonText(longText(c.word(), rareLength))+`}`))
		c.Thread = c.NewID()
	}
	if !c.target.supports(needsClientTool) {
		return
	}
	results := slices.Clone(toolResults)
	for _, s := range slices.Concat(edgeSamples, joinedSamples()) {
		results = append(results, s.make(c.word()))
	}
	results = append(results, longText(c.word(), 9001)) // longer than common buffers
	for i, result := range results {
		c.tool = toolNames[i%len(toolNames)]
		c.askClientTool(objects[i%len(objects)].make(c.word()), result)
	}
	c.tryInNewThread(func() { c.askClientTool(c.object(), longText(c.word(), rareLength)) })
	c.tool = "lookup" // as the server's own tool, which a server may refuse
	c.tryInNewThread(func() { c.askClientTool(c.object(), c.word()) })
}

// runPayloadsAfterTurns plays the payloads-after scenario on reused connections. For each of the
// [beforeValues] that the target supports, it plays the turn several times in a new thread:
// directly before it asks for a long text, for a tool call and for two messages, and once more.
// After a pause, it asks in each of these threads for a text with other words and for the previous
// message, and requests the history. A buffer or a flag that is not reset after the turn may affect
// these replies. The pause gives the server time to notice that the client has left a stream.
func runPayloadsAfterTurns(t *Conversation) {
	c, ok := newPayloadPlayer(t, "after")
	if !ok {
		return
	}
	c.keepAlive()
	joined := joinedSamples()
	text := textGenerator{"several texts and a long one", func(word string) string {
		var texts []string
		for _, s := range joined {
			texts = append(texts, s.make(word))
		}
		return " \n" + strings.Join(append(texts, longText(word, 4500)+" "), "\n")
	}}
	if !c.target.fitsInPrompt(text) {
		return
	}
	objects := objectSamples()
	var threads []string
	for _, turn := range beforeValues {
		if turn.apply == nil || !c.target.supports(turn.needs) {
			continue
		}
		c.Thread = c.NewID()
		t.noteNewThread()
		turn.apply(c)
		c.ask("text", text.make(c.word()))
		c.askIfSupported("tool", objects[len(objects)-1].make(c.word()))
		turn.apply(c)
		c.askIfSupported("tool", c.object())
		turn.apply(c)
		c.askIfSupported("messages", "")
		turn.apply(c)
		threads = append(threads, c.Thread)
	}
	c.Sleep(silence)
	for _, thread := range threads {
		c.Thread = thread
		c.ask("text", text.make(c.word()))
		c.askIfSupported("recall", "")
	}
	c.completeHistories(threads)
}

// emptyPayloads are payloads of interrupts, as JSON text, that an incorrect server may treat as the
// absence of a payload.
var emptyPayloads = []string{"false", "0", `""`, "[]", "{}"}

// runPayloadsOfInterrupts plays the payloads-interrupts scenario on reused connections. It asks for
// interrupts with many kinds of payloads, and answers them with many kinds of texts, before and
// after a run that fails, and with other values for which the dialect has a template. One of the
// answers is longer than 65,536 bytes.
func runPayloadsOfInterrupts(t *Conversation) {
	c, ok := newPayloadPlayer(t, "interrupt")
	if !ok {
		return
	}
	c.keepAlive()
	objects := objectSamples()
	samples := slices.Concat(edgeSamples, joinedSamples(), parsedSamples(), longSamples[:1], []textGenerator{yesSample})
	for _, template := range []string{"resume", "resume-text"} {
		if !c.canSend(template) {
			continue
		}
		for i, s := range samples {
			if i == len(samples)/2 {
				c.askIfSupported("error", c.word())
			}
			c.answerInterrupt(objects[i%len(objects)].make(c.word()), template, s.make(c.word()))
		}
		c.answerInterrupt(c.object(), template, "")
		c.answerInterrupt(c.object(), template, edgeSamples[0].make(c.word()))
	}
	for _, template := range []string{"resume-cancelled", "resume-false", "resume-empty"} {
		if c.canSend(template) {
			c.answerInterrupt(c.object(), template, c.word())
		}
	}
	c.askInterrupt(`["`+c.word()+`",[1,null,{}]]`, c.word())
	c.askInterrupt(jsonText(c.word()+" e\u0301 \u00e9 \u212b"), c.word())
	for _, payload := range emptyPayloads {
		c.askInterrupt(payload, c.word())
	}
	c.tryInNewThread(func() { c.askInterrupt(c.object(), longText(c.word(), rareLength)) })
}

// jsonText returns text encoded as a JSON string.
func jsonText(text string) string {
	encoded, _ := json.Marshal(text)
	return string(encoded)
}
