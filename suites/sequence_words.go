package suites

import (
	"cmp"
	"fmt"

	"github.com/streamassay/streamassay/spec"
)

// The words of an action depend on its number and its choice, so that no two actions of a sequence
// have the same. Shrinking replaces the choice with 0, which selects the plainest words.

// word returns a word that no other action of the sequence sends.
func (s action) word() string { return fmt.Sprintf("step-%d-%x", s.number, s.choice>>44) }

// text returns a text of one of the classes of [textSamples], or a plain one if prompts of the
// dialect cannot contain such a text.
func (a *sequencePlayer) text(s action) string {
	sample := textSamples[s.choice>>16%uint64(len(textSamples))]
	if !a.target.fitsInPrompt(sample) {
		sample = textSamples[0]
	}
	return sample.make(s.word())
}

// object returns a JSON object of one of the classes of [jsonSamples].
func (s action) object() string {
	return jsonSamples[s.choice>>24%uint64(len(jsonSamples))].make(s.word())
}

// clientTools lists the names of the tools that the client offers to the server in generated
// sequences.
var clientTools = []string{"paint", "sketch", "Paint", "paint_2"}

// toolResult returns the result of a client tool: one of [toolResults], or a text.
func (a *sequencePlayer) toolResult(s action) string {
	if i := s.choice >> 32 % 4; i == 3 {
		return toolResults[s.choice>>34%uint64(len(toolResults))]
	}
	return a.text(s)
}

// promptArguments returns the arguments with which action s sends the test prompt of a scenario: a
// text or a JSON object that depends on the action if the prompt takes one, and otherwise plain.
func (a *sequencePlayer) promptArguments(s action, scenario, plain string) string {
	switch scenario {
	case "text", "reasoning", "error", "error-mid":
		return a.text(s)
	case "tool":
		return s.object()
	}
	return plain
}

// elicitingAction returns the request of action s that makes the server do what the request of a
// reply template needs, with words of its own: the template, and the event with the values for its
// placeholders.
func (a *sequencePlayer) elicitingAction(s action, replyTemplate string) (template string, e spec.Event) {
	template, _ = a.elicitingRequest(replyTemplate)
	if replyTemplate == "resume" {
		return template, a.PromptEvent("interrupt", s.object())
	}
	e = a.PromptEvent("client-tool", s.object())
	e.Name = clientTools[s.choice>>12%uint64(len(clientTools))]
	return template, e
}

// replyAction returns the event with the values for the request of a reply template, which replies
// to what the server did for action s. The parameter offer is the event with the values for the
// request that made the server do it. ok is as for [Conversation.replyEvent].
func (a *sequencePlayer) replyAction(s action, replyTemplate string, offer spec.Event) (e spec.Event, ok bool) {
	e, ok = a.replyEvent(replyTemplate)
	if e.Text = a.text(s); replyTemplate != "resume" {
		e.Text, e.Name, e.Description = a.toolResult(s), cmp.Or(offer.Name, e.Name), offer.Text
	}
	return e, ok
}
