package suites

import (
	"cmp"
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

// The words of an action depend on its number and its choice, so that each action of a sequence has
// different words. Shrinking replaces the choice with 0, which selects the plainest words.

// word returns a word that no other action of the sequence sends.
func (s action) word() string { return fmt.Sprintf("step-%d-%x", s.number, s.choice>>44) }

// text returns a text that action s sends. s.choice selects one of the classes in [textSamples]. If
// prompts of the dialect cannot contain a text of that class, the result is a plain text.
func (a *sequencePlayer) text(s action) string {
	sample := textSamples[s.choice>>16%uint64(len(textSamples))]
	if !a.target.fitsInPrompt(sample) {
		sample = textSamples[0]
	}
	return sample.make(s.word())
}

// object returns the JSON text of an object that action s sends. The object belongs to one of the
// classes in [jsonSamples], selected by s.choice.
func (s action) object() string {
	return jsonSamples[s.choice>>24%uint64(len(jsonSamples))].make(s.word())
}

// clientTools lists the names of the tools that the client offers in generated sequences.
var clientTools = []string{"paint", "sketch", "Paint", "paint_2"}

// toolResult returns the result that action s sends for a client tool: one of [toolResults] or a
// text, as selected by s.choice.
func (a *sequencePlayer) toolResult(s action) string {
	if i := s.choice >> 32 % 4; i == 3 {
		return toolResults[s.choice>>34%uint64(len(toolResults))]
	}
	return a.text(s)
}

// promptArguments returns the arguments with which action s sends the test prompt of a scenario. If
// the prompt takes a text or a JSON object, they are a text or an object that s determines.
// Otherwise, they are the given plain arguments.
func (a *sequencePlayer) promptArguments(s action, scenario, plain string) string {
	switch scenario {
	case "text", "reasoning", "error", "error-mid":
		return a.text(s)
	case "tool":
		return s.object()
	}
	return plain
}

// elicitingAction is like [Conversation.elicitingRequest], but the event has values that depend on
// action s: the payload and, for a client tool, its name, which is one of [clientTools].
func (a *sequencePlayer) elicitingAction(s action, replyTemplate string) (template string, e spec.Event) {
	template, _ = a.elicitingRequest(replyTemplate)
	if replyTemplate == "resume" {
		return template, a.PromptEvent("interrupt", s.object())
	}
	e = a.PromptEvent("client-tool", s.object())
	e.Name = clientTools[s.choice>>12%uint64(len(clientTools))]
	return template, e
}

// replyAction returns the event with the values for a request of the template replyTemplate, which
// replies to the tool call or interrupt that action s made the server send. The argument offer is
// the event with the values for the request of that action. ok is false if the response of the last
// exchange contains no such tool call, or not exactly one interrupt.
func (a *sequencePlayer) replyAction(s action, replyTemplate string, offer spec.Event) (e spec.Event, ok bool) {
	e, ok = a.replyEvent(replyTemplate)
	if e.Text = a.text(s); replyTemplate != "resume" {
		e.Text, e.Name, e.Description = a.toolResult(s), cmp.Or(offer.Name, e.Name), offer.Text
	}
	return e, ok
}
