package suites

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// Limits on what a request repeats, in bytes. They are needed because servers limit the size of
// requests.
const (
	maxRepeated     = 48 << 10 // all turns; the oldest are left out, but never the last prompt
	maxRepeatedText = 16 << 10 // one text of an answer; only the beginning of a longer text is repeated
)

// A historyTurn holds the messages that one request added to its thread, and those of the server's
// response.
type historyTurn struct {
	messages  dialect.History
	hasPrompt bool // the request has a message of the user, and is not just a reply to a call or an interrupt
	size      int  // total size of the messages, in bytes
}

// history returns the messages of a thread that the next request on that thread repeats, oldest
// first. The result is nil if requests of the dialect do not repeat messages.
func (t *Conversation) history(thread string) (h dialect.History) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.unread {
		t.remember(x)
	}
	t.unread = nil
	for _, turn := range t.turns[thread] {
		h = append(h, turn.messages...)
	}
	return h
}

// remember adds the messages of an accepted request and of its response to t.turns, as a client
// would. If the requests of the dialect do not repeat the history, it does nothing. It leaves out
// the response if the run failed or was not read to its end, because the last message or call may
// then be incomplete. The caller must hold t.mu.
func (t *Conversation) remember(x spec.Exchange) {
	if x.Response.Status != 200 || !t.dialect.RepeatsHistory(x.Request) {
		return
	}
	request := t.dialect.ParseRequest(x.Request)
	if request.Thread == "" || !request.Valid() {
		return
	}
	var earlier dialect.History
	for _, turn := range t.turns[request.Thread] {
		earlier = append(earlier, turn.messages...)
	}
	_, hasPrompt := request.Prompt()
	added := historyTurn{hasPrompt: hasPrompt}
	added.messages = slices.Clone(t.dialect.AppendRequest(earlier, x.Request)[len(earlier):])
	answer := answerMessages(t.dialect.Contents(spec.Trace{Exchanges: []spec.Exchange{x}}))
	added.messages = append(added.messages, t.dialect.EncodeMessages(x.Request, answer)...)
	added.size = totalLen(added.messages)
	if t.turns == nil {
		t.turns = map[string][]historyTurn{}
	}
	t.turns[request.Thread] = latestTurns(append(t.turns[request.Thread], added))
}

// latestTurns returns the latest turns whose total size is at most [maxRepeated]. It keeps the last
// turn that has a prompt, and all later turns, even if they are larger. The first turn of the
// result has a prompt, unless it is the first one in turns. The result shares its elements with
// turns.
func latestTurns(turns []historyTurn) []historyTurn {
	size, begin := 0, 0
	for i := len(turns) - 1; i >= 0; i-- {
		if size += turns[i].size; size > maxRepeated && begin > i {
			break
		}
		if turns[i].hasPrompt || i == 0 {
			begin = i
			if size > maxRepeated {
				break
			}
		}
	}
	return turns[begin:]
}

// totalLen returns the total number of bytes in all messages of h.
func totalLen(h dialect.History) (n int) {
	for _, message := range h {
		n += len(message)
	}
	return n
}

// answerMessages converts events, the contents of one exchange, to parts of a later request. The
// parts are the messages of the assistant with their texts and tool calls, and the tool results, in
// the order in which they began. The result is nil if the run did not end, or failed, or if the
// arguments of a tool call are too long to be repeated.
func answerMessages(events iter.Seq[spec.Event]) (messages []spec.Event) {
	b := messageAssembler{byID: map[string]*messageDraft{}, calls: map[string]*eventDraft{}}
	for e := range events {
		b.observe(e)
	}
	if !b.ended {
		return nil
	}
	for _, m := range b.messages {
		e := m.event()
		for _, call := range m.calls {
			if call.text.Len() > maxRepeatedText {
				return nil // the beginning of its arguments would not be JSON
			}
			e.Parts = append(e.Parts, call.event())
		}
		if e.Kind != spec.InputAssistant || e.Text != "" || len(e.Parts) > 0 {
			messages = append(messages, e)
		}
	}
	return messages
}

// An eventDraft is a message or a tool call that is being assembled from the events of a stream.
// The Text of the embedded event is not used.
type eventDraft struct {
	spec.Event
	text strings.Builder
}

// add appends delta to the text. If the text already exceeds [maxRepeatedText], it does nothing.
func (p *eventDraft) add(delta string) {
	if p.text.Len() <= maxRepeatedText {
		p.text.WriteString(delta)
	}
}

// event returns the assembled event. Its text is cut to at most [maxRepeatedText] bytes.
func (p *eventDraft) event() spec.Event {
	e := p.Event
	if e.Text = p.text.String(); len(e.Text) > maxRepeatedText {
		e.Text = strings.ToValidUTF8(e.Text[:maxRepeatedText], "")
	}
	return e
}

// A messageDraft is a message that is being assembled, with the tool calls that belong to it.
type messageDraft struct {
	eventDraft
	calls []*eventDraft
}

// newAnswerMessage returns a message whose text is empty and whose other slots are those of e.
func newAnswerMessage(e spec.Event) *messageDraft {
	return &messageDraft{eventDraft: eventDraft{Event: e}}
}

// A messageAssembler assembles messages from the events of one stream.
type messageAssembler struct {
	request  spec.Event               // request for the stream
	messages []*messageDraft          // messages of the assistant, and tool results, in the order of the stream
	byID     map[string]*messageDraft // messages of the assistant by their ids
	calls    map[string]*eventDraft   // tool calls by their ids
	ended    bool                     // the run has ended without failing
}

// observe updates the messages with e, the next event of the stream.
func (b *messageAssembler) observe(e spec.Event) {
	switch e.Kind {
	case spec.HTTPRequest:
		b.request = e
	case spec.History:
		b.addSnapshot(e.Parts)
	case spec.MessageStart:
		if e.Role == "" || e.Role == "assistant" {
			b.assistant(e.Message)
		}
	case spec.MessageDelta:
		if m := b.byID[e.Message]; m != nil {
			m.add(e.Text)
		}
	case spec.ToolStart:
		if b.calls[e.Call] == nil {
			m := b.assistant(cmp.Or(e.ID, e.Call)) // its parent or, if it names none, a message of its own
			b.calls[e.Call] = &eventDraft{Event: spec.Event{Kind: spec.ToolCall, Call: e.Call, Name: e.Name}}
			m.calls = append(m.calls, b.calls[e.Call])
		}
	case spec.ToolDelta:
		if call := b.calls[e.Call]; call != nil {
			call.add(e.Text)
		}
	case spec.ToolResult:
		m := newAnswerMessage(spec.Event{Kind: spec.InputToolResult, Message: e.Message, Call: e.Call})
		m.add(e.Text)
		b.messages = append(b.messages, m)
	case spec.RunEnd:
		b.ended = true
	case spec.RunError:
		b.ended = false
	}
}

// addSnapshot adds what messages, a snapshot of the conversation, contains but the stream has not
// sent as separate events: the results of tool calls and, if no message of the stream has text, the
// texts of new messages. Messages whose content is a list of parts are ignored (see
// [isContentInParts]).
func (b *messageAssembler) addSnapshot(messages []spec.Event) {
	hasText := slices.ContainsFunc(b.messages, func(m *messageDraft) bool { return m.text.Len() > 0 })
	for _, told := range messages {
		isKnown := func(m spec.Event) bool { return m.Message == told.Message }
		isAnswered := func(m *messageDraft) bool { return m.Kind == spec.InputToolResult && m.Call == told.Call }
		switch {
		case isContentInParts(told):
		case told.Kind == spec.HistoryTool && b.calls[told.Call] != nil && !slices.ContainsFunc(b.messages, isAnswered):
			b.observe(spec.Event{Kind: spec.ToolResult, Message: told.Message, Call: told.Call, Text: told.Text})
		case told.Kind == spec.HistoryAssistant && !hasText && told.Text != "" &&
			b.byID[told.Message] == nil && !slices.ContainsFunc(b.request.Parts, isKnown):
			b.assistant(told.Message).add(told.Text)
		}
	}
}

// isContentInParts reports whether the content of message, a message of a snapshot, is a list of
// parts. The field message.Text is then that list as JSON. A list whose items have no type, such as
// [1,2], is plain text. An empty list counts as a list of parts in a message of the assistant, but
// as plain text in a tool result.
func isContentInParts(message spec.Event) bool {
	if !strings.HasPrefix(message.Text, "[") {
		return false
	}
	var parts []struct{ Type string }
	if json.Unmarshal([]byte(message.Text), &parts) != nil {
		return false
	}
	hasNoType := func(part struct{ Type string }) bool { return part.Type == "" }
	return !slices.ContainsFunc(parts, hasNoType) && (len(parts) > 0 || message.Kind == spec.HistoryAssistant)
}

// assistant returns the assistant's message with the given id. If there is no such message, it adds
// an empty one.
func (b *messageAssembler) assistant(id string) *messageDraft {
	m := b.byID[id]
	if m == nil {
		m = newAnswerMessage(spec.Event{Kind: spec.InputAssistant, Message: id})
		b.byID[id], b.messages = m, append(b.messages, m)
	}
	return m
}
