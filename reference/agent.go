package reference

import (
	"context"
	"iter"

	"github.com/streamassay/streamassay/spec"
)

// A Turn is what an agent is asked: a request as it was heard, and what the server
// remembers of the conversation.
type Turn struct {
	// The request. Parts holds its messages, results and answers; Thread and Run
	// are never empty. An agent that derives the ids of messages and calls from Run
	// has ids that no other run of the conversation has.
	spec.Event

	Before string   // what the user said before this, in the same conversation
	Asked  bool     // the user has said something before
	Offers []string // the tools that the client runs itself, if the dialect lets it answer
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
//
// It has to stop when its context is done: the server says why. It is run in a
// goroutine of its own, and never concurrently with itself for one turn.
type Agent func(ctx context.Context, t Turn) iter.Seq[spec.Event]
