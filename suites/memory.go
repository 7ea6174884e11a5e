package suites

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// runMemory plays the memory scenario. In one thread, it sends prompts for turns of various kinds,
// such as a tool call or a failed run. After each turn, it asks for the previous message.
func runMemory(t *Conversation) {
	c, ok := newPayloadPlayer(t, "memory")
	if !ok {
		return
	}
	unusual := textGenerator{make: func(w string) string { return "\n" + w + " é 🙂\nof two lines\n" }}
	c.ask("text", c.word())
	c.ask("text", c.word())
	c.ask("recall", "")
	c.ask("recall", "") // the prompt recall itself
	for _, turn := range []struct{ scenario, args string }{
		{"reasoning", c.word()}, {"messages", ""}, {"empty", ""}, {"contents", ""}, {"many", "20"}, {"large", "5000"},
		{"tool", c.object()}, {"tools", ""}, {"error", unusual.make(c.word())}, {"error-mid", unusual.make(c.word())}, {"text", c.word()},
	} {
		c.askIfSupported(turn.scenario, turn.args)
		c.ask("recall", "")
	}
	if c.target.supports(needsCancel) {
		c.cancel()
		c.ask("recall", "")
		c.ask("text", c.word())
		c.ask("recall", "")
	}
	c.SendAndRead("prompt", spec.Event{Text: "no prompt, but " + c.word()})
	c.ask("recall", "")
	if c.target.supports(needsClientTool) {
		c.askClientTool(c.object(), longText(c.word(), 300))
		c.ask("recall", "")
	}
	if c.target.supports(needsInterrupt) {
		c.askInterrupt(c.object(), c.word())
		c.ask("recall", "")
	}
	c.ask("text", unusual.make(c.word()))
	if !c.target.lacksCapability("refusals") {
		c.sendRefused()
		c.ask("recall", "")
		for _, r := range c.invalidMembers() {
			c.ask("text", unusual.make(c.word()))
			c.Send(r)
			c.ask("recall", "")
		}
		c.askIfSupported("error", c.word())
		c.ask("recall", "")
	}
	c.askAfterMessage("recall", "")
	c.askAfterMessage("text", c.word())
	c.ask("recall", "")
}

// askAfterMessage sends a request with two new messages of the user and reads the reply. The second
// message is the test prompt of the scenario with the arguments args. askAfterMessage sends nothing
// if the dialect's document does not allow such a request. It also sends nothing if the requests
// repeat the history, because the server may then read only the last message.
func (c *combinationPlayer) askAfterMessage(scenario, args string) {
	run, e := c.Run, c.PromptEvent(scenario, args)
	c.Run = c.NewID()
	r := c.BuildRequest("prompt", e)
	if c.dialect.RepeatsHistory(r) {
		c.Run = run
		return
	}
	var body map[string]any
	count := len(c.dialect.ParseRequest(r).PartsOf(spec.InputUser))
	earlier := strings.NewReplacer(jsonText(e.Text), jsonText("a message that precedes "+c.word()), c.Run, c.NewID())
	if json.Unmarshal(r.Body, &body) != nil || !prependMessage(body, e.Text, earlier) {
		c.Run = run
		return
	}
	r.Body, _ = json.Marshal(body)
	if user := c.dialect.ParseRequest(r); len(user.Violations) > 0 || len(user.PartsOf(spec.InputUser)) != count+1 {
		c.Run = run
		return
	}
	if c.accepted = c.Send(r); c.accepted && !c.respondsWithStream("prompt") {
		c.ReadStream("", 0)
	}
}

// prependMessage inserts a modified copy of a message directly before that message. The argument
// body is a decoded JSON object; one of its members is the array of messages. The message to copy
// is the last one whose JSON encoding contains text, encoded as a JSON string with its quotation
// marks, exactly once. To modify the copy, prependMessage applies replacer to the JSON encoding. It
// returns false if there is no such message or the modified encoding is not valid JSON.
func prependMessage(body map[string]any, text string, replacer *strings.Replacer) bool {
	for name, member := range body {
		messages, _ := member.([]any)
		for i, m := range slices.Backward(messages) {
			source, _ := json.Marshal(m)
			if _, isObject := m.(map[string]any); !isObject || strings.Count(string(source), jsonText(text)) != 1 {
				continue
			}
			var before any
			if json.Unmarshal([]byte(replacer.Replace(string(source))), &before) != nil {
				return false
			}
			body[name] = append(append(append([]any{}, messages[:i]...), before), messages[i:]...)
			return true
		}
	}
	return false
}

// runTwice plays the twice scenario. In one thread and on reused connections, it sends the same
// series of test prompts twice. Most arguments of the prompts differ between the two series; one
// text and one tool argument are the same. Finally, it requests the history.
func runTwice(t *Conversation) {
	c, ok := newPayloadPlayer(t, "twice")
	if !ok {
		return
	}
	t.noteNewThread()
	c.keepAlive()
	c.useNames()
	same, sameObject := "\n "+c.word()+" \n", c.object()
	for i := range 2 {
		c.ask("text", same)
		c.askIfSupported("tool", sameObject)
		c.ask("text", strings.ToUpper(same)) // not the same, although a cache may ignore case
		for _, scenario := range []string{"text", "reasoning"} {
			c.askIfSupported(scenario, c.word())
		}
		for _, scenario := range []string{"messages", "empty", "contents", "tools"} {
			c.askIfSupported(scenario, "")
		}
		c.askForState()
		if slices.Contains(c.dialect.Kinds(), spec.StepStart) {
			c.askIfSupported("steps", "")
		}
		c.askIfSupported("tool", c.object())
		c.askIfSupported("error", c.word())
		c.ask("text", c.word())
		if c.target.supports(needsClientTool) {
			c.tool = []string{"paint", "sketch-it_2"}[i]
			c.askClientTool(c.object(), c.word())
		}
		c.askIfSupported("error-mid", c.word())
		c.askForState()
		c.askIfSupported("slow", "6 100")
		if c.target.supports(needsInterrupt) {
			c.askInterrupt(c.object(), c.word())
		}
		c.askIfSupported("many", fmt.Sprint(3+i))
	}
	c.completeHistory()
}

// askForState sends a request with a state, and with a prompt that makes the agent add a member to
// it whose name needs escapes in a JSON Pointer (RFC 6901). It sends nothing if the target does not
// support the prompt.
func (c *combinationPlayer) askForState() {
	if c.canSend("state") {
		e := c.PromptEvent("state", `[{"op":"add","path":"/a~1b~0c","value":`+jsonText(c.word())+`}]`)
		e.State = c.object()
		c.SendAndRead("state", e)
	}
}
