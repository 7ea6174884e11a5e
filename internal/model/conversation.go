package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
)

// The roles of messages in a conversation with the model.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// A chatMessage is one message of the conversation that is sent to the model. Its role determines
// which of the other fields are set.
type chatMessage struct {
	role, text                string
	images                    []string     // URLs of the images in a user message
	calls                     []state.Call // tool calls of an assistant message
	call                      string       // id of the tool call, in a tool message
	name                      string       // name of the tool, in a tool message
	reasoningField, reasoning string       // name of the JSON member, and reasoning, in an assistant message
}

// conversation returns the messages to send to the model for this turn: the system messages, the
// earlier messages of the conversation and the messages of the request. It leaves out the earlier
// messages if the request repeats them. It returns an error if the earlier messages cannot be read.
func (r *modelRun) conversation() ([]chatMessage, error) {
	system := []string{r.SystemPrompt}
	var now []chatMessage
	users, repeats := 0, false
	for _, part := range r.turn.Parts {
		w := chatMessage{text: part.Text}
		switch part.Kind {
		case spec.InputSystem:
			system = append(system, part.Text)
			continue
		case spec.InputUser:
			w.role, w.images = roleUser, imageURLs(part)
			users++
		case spec.InputResume:
			w.role = roleUser
		case spec.InputAssistant:
			w.role, repeats = roleAssistant, true
			if part.Call != "" && part.Name != "" {
				w.calls = []state.Call{{ID: part.Call, Name: part.Name, Arguments: "{}"}}
			}
		case spec.InputToolResult:
			w.role, w.call, w.name = roleTool, part.Call, part.Name
		default:
			continue
		}
		now = append(now, w)
	}
	before, err := r.earlierMessages()
	if err != nil {
		return nil, err
	}
	known := map[string]state.Call{} // calls of the earlier messages, by id
	for _, w := range before {
		for _, c := range w.calls {
			known[c.ID] = c
		}
	}
	if repeats || users > 1 {
		before = nil
	}
	messages := normalize(append(before, now...), known)
	isEmpty := func(s string) bool { return strings.TrimSpace(s) == "" }
	system = slices.DeleteFunc(append(system, r.describeClientTools()), isEmpty)
	if len(system) > 0 {
		messages = slices.Insert(messages, 0, chatMessage{role: roleSystem, text: strings.Join(system, "\n\n")})
	}
	return messages, nil
}

// imageURLs returns the URLs of the images in user, a message of the user. It omits URLs whose
// scheme is not http, https or data, because the model's server cannot fetch them.
func imageURLs(user spec.Event) (all []string) {
	for _, part := range user.Parts {
		scheme, _, _ := strings.Cut(part.Text, ":")
		if part.Kind == spec.InputImage && slices.Contains([]string{"http", "https", "data"}, strings.ToLower(scheme)) {
			all = append(all, part.Text)
		}
	}
	return all
}

// earlierMessages returns the stored messages that precede this request in the conversation. It
// returns an error if they cannot be read.
func (r *modelRun) earlierMessages() (messages []chatMessage, err error) {
	if r.turn.EarlierMessages == nil {
		return nil, nil
	}
	earlier, err := r.turn.EarlierMessages(r.ctx)
	if err != nil {
		return nil, cmp.Or(r.ctx.Err(), error(errHistory))
	}
	for _, m := range earlier {
		messages = append(messages, chatMessage{role: m.Role, text: m.Text, calls: m.Calls, call: m.ToolCall, name: m.Name})
	}
	return messages, nil
}

// describeClientTools returns the text of a system message that lists the tools that the client
// declares. The text tells the model that these tools exist but cannot be called, because the
// client cannot return their results. The result is "" if the client declares no tools, or if the
// client can return results.
func (r *modelRun) describeClientTools() string {
	if len(r.turn.ClientTools) > 0 {
		return ""
	}
	var b strings.Builder
	for _, part := range r.turn.Parts {
		if part.Kind == spec.InputTool && part.Name != "" {
			b.WriteString("\n- " + part.Name)
			if part.Description != "" {
				b.WriteString(": " + part.Description)
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "The user's application has these tools. They cannot be called here:" + b.String()
}

// A chatMessagesBuilder puts messages into the order that model servers require; see normalize.
type chatMessagesBuilder struct {
	messages      []chatMessage
	knownCalls    map[string]state.Call // calls of earlier messages, by id
	openCalls     []string              // ids of the calls in the last assistant message that have no result yet
	lastAssistant int                   // index of the last assistant message if only tool results follow it; otherwise -1
}

// normalize returns messages in the order that model servers require: each tool call is followed
// immediately by its result, and each result belongs to a call. The messages of a stopped run may
// violate that order, and so may an incomplete or partly repeated history. The parameter known
// holds the tool calls of earlier messages, by id.
//
// If a call has no result, normalize adds a result that states this. If a result has no call,
// normalize adds the call from known. A result becomes a user message if its call is unknown, or if
// the call has a result already. An assistant message without tool calls is merged with an
// assistant message that follows it. normalize does not modify its arguments.
func normalize(messages []chatMessage, known map[string]state.Call) []chatMessage {
	t := &chatMessagesBuilder{knownCalls: known, lastAssistant: -1}
	for _, w := range messages {
		switch w.role {
		case roleTool:
			t.addResult(w)
		case roleAssistant:
			t.addAssistant(w)
		default:
			t.closeCalls()
			t.messages = append(t.messages, w)
		}
	}
	t.closeCalls()
	return t.messages
}

// closeCalls adds a result to each open tool call. The text of the result states that there is no
// result.
func (t *chatMessagesBuilder) closeCalls() {
	for _, id := range t.openCalls {
		t.messages = append(t.messages, chatMessage{role: roleTool, call: id, text: "error: there is no result"})
	}
	t.openCalls, t.lastAssistant = nil, -1
}

// addAssistant adds the assistant message w, unless it is empty. If the last message is an
// assistant message without tool calls, addAssistant adds the text and the calls of w to that
// message instead.
func (t *chatMessagesBuilder) addAssistant(w chatMessage) {
	t.closeCalls()
	if w.text == "" && len(w.calls) == 0 {
		return
	}
	w.calls = slices.Clone(w.calls)
	for i, c := range w.calls {
		if known, ok := t.knownCalls[c.ID]; ok { // with name and arguments
			w.calls[i] = known
		}
		t.openCalls = append(t.openCalls, c.ID)
	}
	if n := len(t.messages); n > 0 && t.messages[n-1].role == roleAssistant && len(t.messages[n-1].calls) == 0 {
		last := &t.messages[n-1]
		last.text = strings.Trim(last.text+"\n\n"+w.text, "\n")
		last.calls = w.calls
	} else {
		t.messages = append(t.messages, w)
	}
	t.lastAssistant = len(t.messages) - 1
}

// addResult adds w, the result of a tool call. If the call has no result yet and is in knownCalls
// but in no assistant message, addResult adds the call before w. If the call is unknown or already
// has a result, it adds a user message with the text of w instead of w.
func (t *chatMessagesBuilder) addResult(w chatMessage) {
	i := slices.Index(t.openCalls, w.call)
	c, remembered := t.knownCalls[w.call]
	switch {
	case i >= 0:
		t.openCalls = slices.Delete(t.openCalls, i, i+1)
	case !remembered || t.hasResult(w.call):
		t.closeCalls()
		w = chatMessage{role: roleUser, text: "A tool (" + cmp.Or(w.name, "unknown") + ") gave: " + w.text}
	case t.lastAssistant < 0:
		t.addAssistant(chatMessage{role: roleAssistant, calls: []state.Call{c}})
		t.openCalls = nil
	default:
		t.messages[t.lastAssistant].calls = append(t.messages[t.lastAssistant].calls, c)
	}
	t.messages = append(t.messages, w)
}

// hasResult reports whether the conversation contains a result of the tool call with the id call.
func (t *chatMessagesBuilder) hasResult(call string) bool {
	return slices.ContainsFunc(t.messages, func(w chatMessage) bool { return w.role == roleTool && w.call == call })
}
