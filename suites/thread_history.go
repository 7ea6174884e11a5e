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

// Limits, in bytes, on the earlier messages that a request repeats. They exist because servers
// limit the size of requests.
const (
	maxRepeated     = 48 << 10 // size of all repeated turns; see latestTurns
	maxRepeatedText = 16 << 10 // size of a repeated text of the assistant; longer texts are cut
)

// A historyTurn contains the messages that one request added to its thread, and those of the
// response.
type historyTurn struct {
	messages  dialect.MessageHistory
	hasPrompt bool // the request contains a message of the user, not only a tool result or interrupt reply
	size      int  // total size of the messages, in bytes
}

// history returns the earlier messages that the next request in the given thread must repeat,
// oldest first. It returns nil if requests of the dialect do not repeat messages.
func (t *Conversation) history(thread string) (h dialect.MessageHistory) {
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

// remember adds the messages in the request and the response of x to t.turns, so that later
// requests can repeat them. It omits those of the response if the run failed or was not read to its
// end, because the last message may then be incomplete. It does nothing if the server did not
// accept the request, if the request is invalid or has no thread id, or if requests to that
// operation do not repeat the history. The caller must hold t.mu.
func (t *Conversation) remember(x spec.Exchange) {
	if x.Response.Status/100 != 2 || !t.dialect.RepeatsHistory(x.Request) {
		return
	}
	request := t.dialect.ParseRequest(x.Request)
	if request.Thread == "" || !request.Valid() {
		return
	}
	var earlier dialect.MessageHistory
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

// latestTurns returns the last turns, which the next request repeats. It omits older turns if the
// total size would exceed [maxRepeated], but always keeps the last turn with a prompt and all later
// turns. The result begins with a turn that has a prompt or with the first one in turns. It is a
// subslice of turns.
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

// totalLen returns the total size, in bytes, of all messages in h.
func totalLen(h dialect.MessageHistory) (n int) {
	for _, message := range h {
		n += len(message)
	}
	return n
}

// answerMessages returns the messages with which a later request repeats the response of an
// exchange: those of the assistant with their tool calls, and the tool results. The argument events
// contains the events of the exchange. answerMessages returns nil if the run did not end or failed,
// or if the arguments of a tool call are longer than [maxRepeatedText].
func answerMessages(events iter.Seq[spec.Event]) (messages []spec.Event) {
	b := messageAssembler{byID: map[string]*partialMessage{}, calls: map[string]*eventBuilder{}}
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

// An eventBuilder is a message or a tool call that is assembled from the events of a stream.
type eventBuilder struct {
	spec.Event                 // all fields except Text
	text       strings.Builder // the Text
}

// add appends delta to the text, unless the text is already longer than [maxRepeatedText].
func (p *eventBuilder) add(delta string) {
	if p.text.Len() <= maxRepeatedText {
		p.text.WriteString(delta)
	}
}

// event returns the assembled event. It cuts the text to at most [maxRepeatedText] bytes.
func (p *eventBuilder) event() spec.Event {
	e := p.Event
	if e.Text = p.text.String(); len(e.Text) > maxRepeatedText {
		e.Text = strings.ToValidUTF8(e.Text[:maxRepeatedText], "")
	}
	return e
}

// A partialMessage is a message that is assembled from the events of a stream.
type partialMessage struct {
	eventBuilder
	calls []*eventBuilder // the tool calls in the message
}

// newAnswerMessage returns a message with the fields of e, except that the text is empty.
func newAnswerMessage(e spec.Event) *partialMessage {
	return &partialMessage{eventBuilder: eventBuilder{Event: e}}
}

// A messageAssembler assembles messages from the events of one stream.
type messageAssembler struct {
	request  spec.Event                 // the request for the stream
	messages []*partialMessage          // messages of the assistant and tool results, in the order of the stream
	byID     map[string]*partialMessage // messages of the assistant, by id
	calls    map[string]*eventBuilder   // tool calls, by id
	ended    bool                       // the run has ended successfully
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
			b.calls[e.Call] = &eventBuilder{Event: spec.Event{Kind: spec.ToolCall, Call: e.Call, Name: e.Name}}
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

// addSnapshot adds messages of a snapshot of the conversation. It adds the tool results that the
// stream has not sent as events. If the stream has sent no text of the assistant as events, it also
// adds the messages of the assistant that are neither in the request nor known already. It ignores
// messages whose content is a list of parts; see [isContentInParts].
func (b *messageAssembler) addSnapshot(messages []spec.Event) {
	hasText := slices.ContainsFunc(b.messages, func(m *partialMessage) bool { return m.text.Len() > 0 })
	for _, message := range messages {
		isKnown := func(m spec.Event) bool { return m.Message == message.Message }
		isAnswered := func(m *partialMessage) bool { return m.Kind == spec.InputToolResult && m.Call == message.Call }
		switch {
		case isContentInParts(message):
		case message.Kind == spec.HistoryTool && b.calls[message.Call] != nil && !slices.ContainsFunc(b.messages, isAnswered):
			b.observe(spec.Event{Kind: spec.ToolResult, Message: message.Message, Call: message.Call, Text: message.Text})
		case message.Kind == spec.HistoryAssistant && !hasText && message.Text != "" &&
			b.byID[message.Message] == nil && !slices.ContainsFunc(b.request.Parts, isKnown):
			b.assistant(message.Message).add(message.Text)
		}
	}
}

// isContentInParts reports whether the content of message, a message of a snapshot, is a list of
// parts rather than a text. The field Text contains either the text or the list as JSON. A JSON
// list is a list of parts if each item has a type; [1,2], for example, is a text. An empty list is
// a list of parts only in a message of the assistant.
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

// assistant returns the message of the assistant with the given id. If there is none, it adds an
// empty message with that id.
func (b *messageAssembler) assistant(id string) *partialMessage {
	m := b.byID[id]
	if m == nil {
		m = newAnswerMessage(spec.Event{Kind: spec.InputAssistant, Message: id})
		b.byID[id], b.messages = m, append(b.messages, m)
	}
	return m
}
