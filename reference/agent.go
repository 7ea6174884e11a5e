package reference

import (
	"context"
	"iter"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
)

// A Turn is the input of an agent: a decoded request, and access to the earlier messages of its
// conversation.
type Turn struct {
	// Event is the request. Parts contains its messages, tool results and interrupt replies. Thread
	// and Run are never empty. Run is unique within the conversation, so an agent can use it as a
	// prefix of message ids and call ids.
	spec.Event

	ClientTools []string // names of the tools that the request declares and the client runs; nil if there are none
	OnlyClient  bool     // the agent must not run tools itself, because the dialect has no events for their results

	// EarlierMessages returns the latest messages of the conversation before this request,
	// at most 400, oldest first, or an error if the store fails. A nil function means that there
	// are none.
	EarlierMessages func(ctx context.Context) ([]Message, error)
}

// A Message is a stored message of a conversation. Its Role is "user", "assistant" or "tool".
type Message = state.Message

// previousUserText returns the text of the latest user message before the prompt of this request.
// It looks first in the request, because clients may repeat the history in it, and then among the
// stored messages that users see (see state.Message.Hidden). If there is no such user message,
// found is false. The error is any error from EarlierMessages.
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
// events are the same for all dialects; the server encodes those that its dialect can
// express. The following list names the kinds of events; the parentheses contain the fields
// of [spec.Event] that an agent must set:
//
//   - run.start comes first, run.end or run.error (Text) last. If an agent stops without
//     run.end or run.error, the server treats its run as successful.
//   - message.start (Message), message.delta (Message, Text) and message.end (Message)
//     make up a message; reasoning.start, reasoning.delta and reasoning.end make up a
//     section of reasoning in the same way. Messages may overlap if their ids differ.
//   - content.end (Message, Type, Text) is a content part other than text: for an
//     image, Text is its URL.
//   - tool.start (Message, Call, Name), tool.delta (Call, Text) and tool.end (Call) make
//     up a tool call; the Text of a tool.delta is a piece of the arguments as JSON.
//     tool.result (Message, Call, Name, Text) is the result of the call. Dialects that put
//     calls and results into messages use Message.
//   - interrupt (ID, Text) asks the client for input; Text is its payload as JSON.
//   - An event without a kind announces a pause: the server flushes the preceding events. If
//     [Config].Inline is set, an agent must yield such an event before it waits.
//   - "?" (Raw) is a frame in its encoded form. The server sends it unchanged.
//
// An agent must return soon after its context is done; the server then emits the event
// that ends the run. The server may run several turns concurrently, each in its own
// goroutine.
type Agent func(ctx context.Context, t Turn) iter.Seq[spec.Event]
