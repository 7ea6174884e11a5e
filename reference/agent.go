package reference

import (
	"context"
	"iter"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
)

// A Turn is the input of an agent: one request as decoded from the wire, and access to
// the earlier messages of its conversation.
type Turn struct {
	// The request. Parts holds its messages, tool results and interrupt replies; Thread
	// and Run are never empty. Message and call ids that an agent derives from Run are
	// unique within the conversation.
	spec.Event

	ClientTools []string // names of the tools in the request that the client runs; nil if there are none
	OnlyClient  bool     // the agent must not run tools itself, because the dialect has no events for their results

	// EarlierMessages returns the latest messages of the conversation before this request,
	// at most 400, oldest first. A nil function means that there are none.
	EarlierMessages func(ctx context.Context) ([]Message, error)
}

// A Message is a stored message of a conversation. Its Role is "user", "assistant" or "tool".
type Message = state.Message

// previousUserText returns the text of the latest user message before the prompt of this request.
// It looks for one in the request first, because clients may repeat the history, and then in the
// stored conversation, where it ignores hidden messages. found is false if there is no such
// message. The error is any error from EarlierMessages.
func (t Turn) previousUserText(ctx context.Context) (text string, found bool, err error) {
	var users []string
	for _, part := range t.Parts {
		if part.Kind == spec.InputUser {
			users = append(users, part.Text)
		}
	}
	if _, hasPrompt := t.Prompt(); hasPrompt {
		users = users[:len(users)-1]
	}
	if n := len(users); n > 0 {
		return users[n-1], true, nil
	}
	if t.EarlierMessages == nil {
		return "", false, nil
	}
	earlier, err := t.EarlierMessages(ctx)
	for _, m := range earlier {
		if m.Role == roleUser && !m.Hidden {
			text, found = m.Text, true
		}
	}
	return text, found, err
}

// An Agent runs one turn and returns the sequence of events that the turn produces. The
// events are the same for all dialects; the server encodes them in its dialect, as far as
// the dialect can express them. In this list, parentheses contain the fields of
// [spec.Event] that an event of the kind needs:
//
//   - run.start comes first, run.end or run.error (Text) last. An agent that stops
//     without either is taken to have ended its run successfully.
//   - message.start (Message), message.delta (Message, Text) and message.end (Message)
//     make up a message; reasoning.start, reasoning.delta and reasoning.end make up a
//     section of reasoning in the same way. Messages may overlap if their ids differ.
//   - content.end (Message, Type, Text) is a content part other than text: for an
//     image, Text is its URL.
//   - tool.start (Message, Call, Name), tool.delta and tool.end (Call, Text) make up a
//     tool call; tool.result (Message, Call, Name, Text) is its result. Their Message
//     is used by dialects that put calls and results into messages.
//   - interrupt (ID, Text) asks the client for input; Text is its payload as JSON.
//   - An event without a kind announces a pause: everything sent so far is flushed. If
//     [Config].Inline is set, an agent must yield such an event before it waits.
//   - "?" (Raw) is a frame that is encoded already. It is sent unchanged.
//
// An agent must return soon after its context is done; the server then emits the event
// that ends the run. The server may run several turns at the same time, each in a single
// goroutine.
type Agent func(ctx context.Context, t Turn) iter.Seq[spec.Event]
