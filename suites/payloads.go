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

// payloadScenarios are the scenarios in which servers store or repeat values of many kinds, mostly
// from [textSamples] and [jsonSamples], and those in which a thread has many different turns. They
// send prompts only to scripted targets, because the replies of other agents could not be compared
// with the prompts.
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
		Name: "memory", Doc: "recall after each kind of turn, in one thread",
		Capability: "recall", Templates: promptTemplates, Run: runMemory,
	}, {
		Name: "twice", Doc: "each kind of turn twice in one thread and on one connection, with other values",
		Capability: "text", Templates: promptTemplates, Run: runTwice,
	},
}

// newPayloadPlayer returns a player for conversation t. The argument name becomes part of the words
// that make the player's texts unique. The second result is false if the target is not scripted, in
// which case the scenario must send nothing.
func newPayloadPlayer(t *Conversation, name string) (*combinationPlayer, bool) {
	return &combinationPlayer{sequencePlayer: newSequencePlayer(t), name: name}, t.target.isScripted
}

// askIfSupported sends the test prompt of a scenario with the arguments args. It sends nothing if
// the target lacks the capability with the name of the scenario.
func (c *combinationPlayer) askIfSupported(scenario, args string) {
	if !c.target.lacksCapability(scenario) {
		c.ask(scenario, args)
	}
}

// maxQuotedEnd is the size in bytes below which the last event of a run is sent as a text.
const maxQuotedEnd = 4096

// runPayloads plays the payloads scenario, on reused connections. It sends texts of many kinds,
// among them the event with which the server ended the run before, and asks the agent after each of
// them to repeat that text. Then it requests the history. Finally, it
// sends each of the [rarePrompts] in a new thread.
func runPayloads(t *Conversation) {
	c, ok := newPayloadPlayer(t, "payload")
	if !ok {
		return
	}
	c.keepAlive()
	samples := slices.Concat(edgeSamples, joinedSamples(), parsedSamples(), longSamples, []textSample{emojiSample})
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
	for _, s := range slices.Concat(edgeSamples, parsedSamples()) { // a prompt's name would hide their beginnings
		c.SendAndRead("prompt", spec.Event{Text: s.make(c.word())})
		c.askIfSupported("recall", "")
	}
	c.completeHistory()
	for _, prompt := range rarePrompts {
		if c.Thread = c.NewID(); c.askIfPossible(prompt.text) && prompt.isRecalled {
			c.askIfSupported("recall", "")
		}
	}
}

// rarePrompts are prompts that some frameworks or databases cannot store or answer, and that some
// servers may therefore refuse: texts of white space only, a text with NUL, and a text of more than
// 65,536 characters. If isRecalled is true, a server that answers the prompt must be able to repeat
// it.
var rarePrompts = []struct {
	text       string
	isRecalled bool
}{
	{"conformance:text \t \n", true},
	{"conformance:text a\x00b", false},
	{" ", true},
	{"conformance:text " + longText("long", rareLength), true},
}

// askIfPossible sends a prompt that has the given text, reads the reply and returns true. It
// returns false, and removes the exchanges from the recording, if the server refuses the request or
// the run fails. If the request is not valid according to the dialect's document, it sends nothing
// and returns false.
func (c *combinationPlayer) askIfPossible(text string) bool {
	e := spec.Event{Text: text}
	if !c.isValid("prompt", e) {
		return false
	}
	return c.forgetIfFailed(func() { c.SendAndRead("prompt", e) })
}

// rareLength is the length of some texts, in bytes. It is greater than 65,536, a common size of
// buffers and of database fields.
const rareLength = 1<<16 + 64

// tryInNewThread is like forgetIfFailed, but in a new thread.
func (c *combinationPlayer) tryInNewThread(send func()) {
	c.Thread = c.NewID()
	c.forgetIfFailed(send)
}

// edgeSamples are classes of texts that a careless server changes at their edges or in their
// encoding. The texts of the first three begin and end with white space or similar characters,
// which such a server drops. All characters of the fourth exist in Latin-1, which it may use as the
// encoding. The fifth begins with the name of a field of event streams.
var edgeSamples = []textSample{
	{"a text between spaces", func(w string) string { return " \n" + w + "\t " }},
	{"a text between line feeds", func(w string) string { return "\n " + w + " \n" }},
	{"a text between unusual white space", func(w string) string { return "\ufeff" + w + "\u3000" }},
	{"a text in Latin-1", func(w string) string { return "déjà " + w + " naïf" }},
	{"a text that begins like a line of an event stream", func(w string) string { return "data: " + w }},
}

// longSamples are classes of long texts. Texts of the first class are longer than common sizes of
// database fields. Those of the other two classes are longer than common buffer sizes, and consist
// mostly of characters of three bytes each, so that a buffer may end within a character. The texts
// of the second class have few enough characters, about 9,000, for common limits on the length.
var longSamples = []textSample{
	{"a text of 4,097 bytes", func(w string) string { return longText(w, 4097) }},
	{"a text of 9,000 three-byte characters", func(w string) string { return w + strings.Repeat("世", 9000) }},
	{"a text of 65,536 bytes of three-byte characters", func(w string) string { return w + strings.Repeat("世", 65536/3) }},
}

// emojiSample is a class with a single text. A server that cuts the text in half, in UTF-8 or in
// UTF-16, splits a character.
var emojiSample = textSample{"a text of emoji only", func(string) string { return "🙂🙂🙂" }}

// yesSample is a class with a single text, "YES". It is sent as an answer to an interrupt. A
// careless server changes such an answer to lower case in order to compare it with "yes", and then
// keeps the changed text.
var yesSample = textSample{"a word in capital letters", func(string) string { return "YES" }}

// isParsed reports whether a careless server could take text for a value of another type or for a
// command, because text is valid JSON, digits, a date or a test prompt, or has at most one byte.
func isParsed(text string) bool {
	return len(text) < 2 || json.Valid([]byte(text)) || strings.Trim(text, "0123456789-") == "" ||
		strings.HasPrefix(text, "conformance:")
}

// parsedSamples returns those of the [textSamples] that a careless server could take for values of
// another type or for commands: texts that are JSON, digits, dates or test prompts, and a text of
// one character.
func parsedSamples() []textSample {
	return slices.DeleteFunc(slices.Clone(textSamples), func(s textSample) bool { return !isParsed(s.make("word")) })
}

// joinedSamples returns three classes of texts, one for each kind of special character: white
// space, characters beyond ASCII, and ASCII punctuation. A text of each class consists of the texts
// of all [textSamples] with that kind of character, joined with line feeds. joinedSamples leaves
// out texts of at least 100 bytes, those of [parsedSamples], and texts that differ from a plain
// text only by white space at the beginning or end.
func joinedSamples() []textSample {
	joined := make([][]textSample, 3)
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
	var all []textSample
	for _, some := range joined {
		all = append(all, textSample{"several texts", func(word string) string {
			var texts []string
			for _, s := range some {
				texts = append(texts, s.make(word))
			}
			return strings.Join(texts, "\n")
		}})
	}
	return all
}

// runPayloadsApart plays the payloads-apart scenario. It asks for reasoning and for errors with
// many kinds of texts.
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

// toolResults are results of client tools that a careless server drops or takes for JSON values,
// placeholders or failures: texts that are empty, consist of white space, are valid JSON, contain
// sequences that have a meaning in replacement strings, such as "$&", or report an error.
var toolResults = []string{
	"", " ", "{}", `""`, "null", `{ "a" : [ 1 , null ] }`, `"quoted"`, "1e3", `costs $& and $$5 \1`, "Error: no paint",
}

// toolNames are names of client tools. The documents allow any text. Some of them have characters
// that a careless server replaces or takes for separators, and one is longer than 64 characters.
var toolNames = []string{"paint", "sketch.it", "größe", strings.Repeat("measure-", 9)}

// objectSamples returns samples that cover the same cases as [jsonSamples] but are fewer: those
// whose objects contain an empty object, null or a member with an empty name, and one more, in whose
// object each member is an object of another of the jsonSamples.
func objectSamples() (all []jsonSample) {
	for i, s := range jsonSamples {
		if object := s.make("word"); strings.Contains(object, "{}") || strings.Contains(object, "null") || strings.Contains(object, `"":`) {
			all = append(all, jsonSamples[i])
		}
	}
	return append(all, jsonSample{"an object of many objects", func(word string) string {
		var members []string
		for i, s := range jsonSamples {
			members = append(members, fmt.Sprintf(`"part %d":%s`, i, s.make(word)))
		}
		return "{" + strings.Join(members, ",") + "}"
	}})
}

// runPayloadsOfTools plays the payloads-tools scenario. It asks for tool calls with many kinds of
// arguments, among them a JSON object of more than 65,536 bytes, and sends many kinds of tool
// results, among them a text of more than 65,536 bytes. Finally, it offers a client tool that has
// the name of the server's own tool.
func runPayloadsOfTools(t *Conversation) {
	c, ok := newPayloadPlayer(t, "tool")
	if !ok {
		return
	}
	objects := objectSamples()
	for _, s := range objects {
		c.askIfSupported("tool", s.make(c.word()))
	}
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

// emptyPayloads are payloads of interrupts, as JSON text, that a careless server takes for the
// absence of a payload.
var emptyPayloads = []string{"false", "0", `""`, "[]", "{}"}

// runPayloadsOfInterrupts plays the payloads-interrupts scenario. It asks for interrupts with many
// kinds of payloads, and answers them with many kinds of texts. If the dialect has a template for
// answers that consist of a text only, it sends each kind of text in that form, too. Finally, it
// answers with a text that is longer than 65,536 bytes.
func runPayloadsOfInterrupts(t *Conversation) {
	c, ok := newPayloadPlayer(t, "interrupt")
	if !ok {
		return
	}
	objects := objectSamples()
	samples := slices.Concat(edgeSamples, joinedSamples(), parsedSamples(), longSamples[:1], []textSample{yesSample})
	for _, template := range []string{"resume", "resume-text"} {
		if !c.canSend(template) {
			continue
		}
		for i, s := range samples {
			c.answerInterrupt(objects[i%len(objects)].make(c.word()), template, s.make(c.word()))
		}
	}
	c.askInterrupt(c.object(), "")
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
