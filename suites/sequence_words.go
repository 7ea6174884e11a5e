package suites

import (
	"cmp"
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

// The texts of an action depend on its number and its choice, so that they differ between the
// actions of a sequence. Shrinking replaces the choice with 0, which selects the simplest texts.

// word returns a word that no other action of the sequence sends, such as "step-2-1f".
func (s action) word() string { return fmt.Sprintf("step-%d-%x", s.number, s.choice>>44) }

// text returns a text for action s to send. s.choice selects one of the [textSamples]. If prompts
// of the dialect cannot contain such a text, text uses the first of the textSamples.
func (a *sequencePlayer) text(s action) string {
	sample := textSamples[s.choice>>16%uint64(len(textSamples))]
	if !a.target.fitsInPrompt(sample) {
		sample = textSamples[0]
	}
	return sample.make(s.word())
}

// object returns a JSON object for action s to send, as JSON text. s.choice selects one of the
// [jsonSamples].
func (s action) object() string {
	return jsonSamples[s.choice>>24%uint64(len(jsonSamples))].make(s.word())
}

// clientTools lists the names of the tools that the client offers in generated sequences of
// requests. Some are similar, to find servers that take one name for another.
var clientTools = []string{"paint", "sketch", "Paint", "paint_2"}

// toolResult returns a tool result for action s to send. s.choice selects one of the [toolResults]
// or the result of [sequencePlayer.text].
func (a *sequencePlayer) toolResult(s action) string {
	if i := s.choice >> 32 % 4; i == 3 {
		return toolResults[s.choice>>34%uint64(len(toolResults))]
	}
	return a.text(s)
}

// promptArguments returns the arguments of the test prompt (docs/prompts.md) with the name scenario
// that action s sends. If this prompt takes a text or a JSON object, s determines the arguments.
// Otherwise, promptArguments returns plain.
func (a *sequencePlayer) promptArguments(s action, scenario, plain string) string {
	switch scenario {
	case "text", "reasoning", "error", "error-mid":
		return a.text(s)
	case "tool":
		return s.object()
	}
	return plain
}

// elicitingAction is like [Conversation.elicitingRequest], but action s determines the name of the
// client tool and its arguments, or the payload of the interrupt.
func (a *sequencePlayer) elicitingAction(s action, replyTemplate string) (template string, e spec.Event) {
	template, _ = a.elicitingRequest(replyTemplate)
	if replyTemplate == "resume" {
		return template, a.PromptEvent("interrupt", s.object())
	}
	e = a.PromptEvent("client-tool", s.object())
	e.Name = clientTools[s.choice>>12%uint64(len(clientTools))]
	return template, e
}

// replyAction is like [Conversation.replyEvent], but action s determines the text of the reply. The
// argument offer is the event that elicitingAction returned for s.
func (a *sequencePlayer) replyAction(s action, replyTemplate string, offer spec.Event) (e spec.Event, ok bool) {
	e, ok = a.replyEvent(replyTemplate)
	if e.Text = a.text(s); replyTemplate != "resume" {
		e.Text, e.Name, e.Description = a.toolResult(s), cmp.Or(offer.Name, e.Name), offer.Text
	}
	return e, ok
}
