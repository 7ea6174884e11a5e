package rules

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var snapshotChecks = []*spec.Check{SnapshotAgrees}

// SnapshotAgrees judges whether each snapshot of the messages agrees with the request and with what
// was streamed before the snapshot.
var SnapshotAgrees = &spec.Check{
	ID: "messages.snapshot-agrees",
	Doc: `a snapshot of the messages agrees with the request and with what was streamed

The texts of users must be those of the request. The other texts, the tool calls and the tool results
must be those that were streamed and have ended. The messages of the request must be in the same
order and come before those of the run. Each tool result must belong to a call in the request, the
stream or the snapshot.

A snapshot may leave out messages or their content, have additional messages, and join the texts of
several messages. Not judged: messages that occur more than once in the request, messages that were
started more than once, and content in parts.`,
	Needs: []spec.Kind{spec.History, spec.MessageEnd},
	Watch: eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		output := streamedOutput{
			messages: map[string]*streamedText{}, reasoning: map[string]*streamedText{},
			calls: map[string]*streamedToolCall{}, results: map[string]string{},
		}
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.History && e.IsFrame():
				output.judge(p, request, e)
				output.judgeOrder(p, request, e)
			default:
				output.observe(e)
			}
		}
	}),
}

// A streamedOutput holds the texts, tool calls and tool results that a stream has sent so far.
type streamedOutput struct {
	texts     []*streamedText              // of messages and of reasoning, in order of their first events
	messages  map[string]*streamedText     // by message id
	reasoning map[string]*streamedText     // by the id of the section, which may be that of a message
	calls     map[string]*streamedToolCall // by call id
	results   map[string]string            // by call id; the result is "" if the call has several
}

// A streamedToolCall is a tool call as it was streamed. It is compared with the same call in a
// snapshot.
type streamedToolCall struct {
	name      string          // of the tool
	arguments strings.Builder // the joined deltas
	starts    int             // number of start events
	ended     bool            // whether the last event was the end
}

// A streamedText is the text of a message or of a section of reasoning, as it was streamed so far.
type streamedText struct {
	text   strings.Builder // the joined deltas
	starts int             // number of start events
	ended  bool            // whether the last event was the end of a message; always false for reasoning
}

// observe adds e, the next event of the stream. It ignores events that are not about a message,
// reasoning, a tool call or a tool result.
func (s *streamedOutput) observe(e spec.Event) {
	switch subject := e.Kind.Subject(); {
	case subject == "message" || subject == "reasoning":
		byID := s.messages
		if subject == "reasoning" {
			byID = s.reasoning
		}
		t := byID[e.Message]
		if t == nil {
			t = &streamedText{}
			s.texts, byID[e.Message] = append(s.texts, t), t
		}
		switch t.ended = e.Kind == spec.MessageEnd; e.Kind.Phase() {
		case spec.MessageStart.Phase():
			t.starts++
		case spec.MessageDelta.Phase():
			t.text.WriteString(e.Text)
		}
	case e.Kind == spec.ToolStart || e.Kind == spec.ToolDelta || e.Kind == spec.ToolEnd:
		c := s.calls[e.Call]
		if c == nil {
			c = &streamedToolCall{}
			s.calls[e.Call] = c
		}
		if c.ended = e.Kind == spec.ToolEnd; e.Kind == spec.ToolStart {
			c.name, c.starts = e.Name, c.starts+1
		}
		c.arguments.WriteString(e.Text)
	case e.Kind == spec.ToolResult:
		if _, again := s.results[e.Call]; again {
			e.Text = ""
		}
		s.results[e.Call] = e.Text
	}
}

// judge judges whether e, a snapshot of the messages, agrees with request, the request for the
// stream, and with what was streamed so far. It compares messages with the same message id, and
// tool calls and tool results with the same call id. Ids that several messages or results have are
// skipped. Texts that begin with "[" are skipped, too, because they may be lists of content parts.
//
// Each tool result in e must belong to a call in the request, the stream or e.
func (s *streamedOutput) judge(p *spec.Pass, request, e spec.Event) {
	times := map[[2]string]int{} // how often a message or a result occurs
	for _, part := range slices.Concat(request.Parts, e.Parts) {
		if times[[2]string{"message", part.Message}]++; part.Call != "" && part.Kind != spec.ToolCall {
			times[[2]string{"result", part.Call}]++
		}
	}
	known, sent := map[string]bool{}, map[string]string{} // ids of calls, and texts of users by message id
	for _, part := range slices.Concat(request.Parts, e.Parts) {
		for _, call := range part.Parts {
			known[call.Call] = true
		}
	}
	for _, part := range request.Parts {
		if known[part.Call] = true; part.Kind == spec.InputUser {
			sent[part.Message] = part.Text
		}
	}
	for _, part := range e.Parts {
		s.judgeCalls(p, e, part)
		t, result, text := s.messages[part.Message], s.results[part.Call], sent[part.Message]
		if part.Kind == spec.HistoryTool && part.Call != "" {
			p.Judge(e, known[part.Call] || s.calls[part.Call] != nil || s.results[part.Call] != "",
				"result in the snapshot is of call %q, which neither the request, the run nor the snapshot has", part.Call)
		}
		switch {
		case part.Text == "" || strings.HasPrefix(part.Text, "["):
		case part.Kind == spec.HistoryUser && text != "" && !strings.HasPrefix(text, "[") &&
			times[[2]string{"message", part.Message}] == 2:
			p.Judge(e, part.Text == text, "message %q has the text %q in the snapshot; expected %q, as requested",
				part.Message, excerpt(part.Text), excerpt(text))
		case part.Kind == spec.HistoryAssistant && t != nil && t.isWhole() && times[[2]string{"message", part.Message}] == 1:
			p.Judge(e, s.agrees(part.Text, t), "message %q has the text %q in the snapshot; expected %q, as streamed",
				part.Message, excerpt(part.Text), excerpt(t.text.String()))
		case part.Kind == spec.HistoryTool && result != "" && !strings.HasPrefix(result, "[") &&
			times[[2]string{"result", part.Call}] == 1:
			p.Judge(e, sameValue(part.Text, result), "call %q has the result %q in the snapshot; expected %q, as streamed",
				part.Call, excerpt(part.Text), excerpt(result))
		}
	}
}

// An authorMessageKey identifies a message of a request or of a snapshot by its author, such as
// "user" or "tool", and its id. The id alone does not suffice because a tool call and its result
// may have the same id.
type authorMessageKey struct{ author, id string }

// judgeOrder judges the order of the messages in e, a snapshot of the messages. The messages of
// request, the request for the stream, must have the same order in e and come before the streamed
// messages. Each message must be in e only once. Messages that request contains more than once are
// not judged.
func (s *streamedOutput) judgeOrder(p *spec.Pass, request, e spec.Event) {
	keyOf := func(part spec.Event) authorMessageKey { return authorMessageKey{part.Kind.Phase(), part.Message} }
	rank := map[authorMessageKey]int{} // from 1
	isRepeated := map[authorMessageKey]bool{}
	for i, part := range request.Parts {
		key := keyOf(part)
		isRepeated[key] = rank[key] > 0
		rank[key] = i + 1
	}
	last, lastMessage, times := 0, "", map[authorMessageKey]int{}
	for _, part := range e.Parts {
		key := keyOf(part)
		if part.Message == "" || isRepeated[key] {
			continue
		}
		times[key]++
		p.Judge(e, times[key] == 1, "snapshot has the message %q twice; expected it once", part.Message)
		next := rank[key]
		if t := s.messages[part.Message]; next == 0 && t != nil && t.isWhole() {
			next = len(request.Parts) + 1
		}
		if next > 0 {
			p.Judge(e, next >= last,
				"snapshot has the message %q after the message %q; expected it before that message, as in the conversation",
				part.Message, lastMessage)
			last, lastMessage = next, part.Message
		}
	}
}

// judgeCalls judges whether the tool calls in message, a message of the snapshot e, equal those
// that were streamed. It ignores calls that were not streamed, did not end, or were started several
// times.
func (s *streamedOutput) judgeCalls(p *spec.Pass, e, message spec.Event) {
	for _, call := range message.Parts {
		c := s.calls[call.Call]
		if call.Kind != spec.ToolCall || c == nil || !c.ended || c.starts != 1 {
			continue
		}
		p.Judge(e, call.Name == c.name && sameValue(call.Text, c.arguments.String()),
			"call %q is %s(%s) in the snapshot; expected %s(%s), as streamed",
			call.Call, call.Name, excerpt(call.Text), c.name, excerpt(c.arguments.String()))
	}
}

// isWhole reports whether t is not empty, was started exactly once, and has ended.
func (t *streamedText) isWhole() bool { return t.ended && t.starts == 1 && t.text.Len() > 0 }

// agrees reports whether text, the text of a message in a snapshot, agrees with t, the same
// message as it was streamed. The text must contain that of t. Apart from this, it may contain
// only white space and the texts of other streamed messages.
func (s *streamedOutput) agrees(text string, t *streamedText) bool {
	rest, found := cutOut(text, t.text.String())
	for _, other := range s.texts {
		if other != t {
			rest, _ = cutOut(rest, other.text.String())
		}
	}
	return found && strings.TrimSpace(rest) == ""
}

// cutOut returns text without the first occurrence of part, and whether text contains part. It
// ignores white space at the start and the end of part.
func cutOut(text, part string) (rest string, found bool) {
	before, after, found := strings.Cut(text, strings.TrimSpace(part))
	return before + after, found
}
