package reference

import (
	"context"
	"iter"

	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
)

// A Turn is what an agent is asked: a request as it was heard, and what the server
// remembers of the conversation.
type Turn struct {
	// The request. Parts holds its messages, results and answers; Thread and Run
	// are never empty. An agent that derives the ids of messages and calls from Run
	// has ids that no other run of the conversation has.
	spec.Event

	ClientTools []string // the tools that the client runs itself, if the dialect lets it answer

	// Earlier is what was said in the conversation before this request, oldest first:
	// the last few hundred messages of it. nil is that nothing was.
	EarlierMessages func(ctx context.Context) ([]state.Message, error)
}

// previousUserText is what the user said last before this request's prompt, if anything:
// clients may repeat the history, and else it is remembered.
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

// An Agent answers a turn. It speaks in neutral events, whatever the dialect has
// words for:
//
//   - run.start first; run.end or run.error (Text) last. An agent that just stops
//     is taken to have ended well.
//   - message.start, message.delta and message.end carry Message; reasoning.* alike.
//     A message ends before the next one begins, unless both are told apart by id.
//   - content.end (Message, Type, Text) is a content that is no text: an image's
//     Text is its address.
//   - tool.start (Message, Call, Name), tool.delta and tool.end (Call, Text) make a
//     call; tool.result (Message, Call, Name, Text) is what it gave. Their Message
//     is used where a dialect puts calls and results into messages.
//   - interrupt (ID, Text) carries its payload as JSON.
//   - an event without a kind says that nothing comes for a while: what was told is sent
//     now. Where [Config].Inline is set an agent has to say so before it waits.
//   - "?" (Raw) is a frame that is spelled already. It goes out as it is, whatever it says.
//
// It has to stop when its context is done: the server says why. It is run in a
// goroutine of its own, and never concurrently with itself for one turn.
type Agent func(ctx context.Context, t Turn) iter.Seq[spec.Event]
