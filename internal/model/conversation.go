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

// A chatMessage is one message of the conversation that is sent to the model.
type chatMessage struct {
	role, text                string
	images                    []string     // URLs, of a user
	calls                     []state.Call // of an assistant
	call                      string       // id of the call that a tool message answers
	name                      string       // of the tool
	reasoningField, reasoning string       // an assistant's reasoning, and the member for it
}

// conversation returns the messages to send to the model for this turn: system messages, the
// earlier messages of the conversation unless the request itself repeats them, and those of the
// request. It returns an error if the earlier messages cannot be read.
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
	known := callsByID(before)
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

// imageURLs returns the URLs of the images in a user message, except those with a scheme that the
// model's server can neither fetch nor decode.
func imageURLs(user spec.Event) (all []string) {
	for _, part := range user.Parts {
		scheme, _, _ := strings.Cut(part.Text, ":")
		if part.Kind == spec.InputImage && slices.Contains([]string{"http", "https", "data"}, strings.ToLower(scheme)) {
			all = append(all, part.Text)
		}
	}
	return all
}

// earlierMessages returns the stored messages of the conversation before this request. It returns
// an error if they cannot be read.
func (r *modelRun) earlierMessages() (messages []chatMessage, err error) {
	if r.turn.EarlierMessages == nil {
		return nil, nil
	}
	earlier, err := r.turn.EarlierMessages(r.ctx)
	if err != nil {
		return nil, cmp.Or(r.ctx.Err(), error(errHistory))
	}
	for _, m := range earlier {
		messages = append(messages, chatMessage{role: m.Role, text: m.Text, calls: m.Calls, call: m.Call, name: m.Name})
	}
	return messages, nil
}

func callsByID(messages []chatMessage) map[string]state.Call {
	known := map[string]state.Call{}
	for _, w := range messages {
		for _, c := range w.calls {
			known[c.ID] = c
		}
	}
	return known
}

// describeClientTools returns the text of a system message that lists the client's tools. It is for
// dialects in which a client cannot return results: the model may know of the tools there, but must
// not call them. It returns "" if the client declares no tools or can return results.
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

// A conversationBuilder puts messages into the order that servers of models require: each tool
// call is followed immediately by its result, and each result belongs to a call.
type conversationBuilder struct {
	messages      []chatMessage
	knownCalls    map[string]state.Call // calls of earlier messages, by id
	openCalls     []string              // ids of the last assistant message's calls without a result
	lastAssistant int                   // index of that message, or -1
}

// normalize returns messages in the order that servers of models require: each tool call is
// followed immediately by its result. Stopped runs, and histories that are incomplete or partly
// repeated, violate that order. known holds the tool calls of earlier messages, by id.
func normalize(messages []chatMessage, known map[string]state.Call) []chatMessage {
	t := &conversationBuilder{knownCalls: known, lastAssistant: -1}
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

// closeCalls adds a result to each tool call that has none yet. The text of that result states that
// there is none.
func (t *conversationBuilder) closeCalls() {
	for _, id := range t.openCalls {
		t.messages = append(t.messages, chatMessage{role: roleTool, call: id, text: "error: there is no result"})
	}
	t.openCalls, t.lastAssistant = nil, -1
}

// addAssistant adds a message of the assistant. If the previous message is also of the assistant
// and has no tool calls, it appends to that message instead. It leaves out an empty message.
func (t *conversationBuilder) addAssistant(w chatMessage) {
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

// addResult adds the tool result w. If its call is not open but known from an earlier message,
// addResult inserts the call before the result. If the call is unknown or has a result already, it
// adds the result as a message of the user.
func (t *conversationBuilder) addResult(w chatMessage) {
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

// hasResult reports whether the conversation contains a result of the tool call with this id.
func (t *conversationBuilder) hasResult(call string) bool {
	return slices.ContainsFunc(t.messages, func(w chatMessage) bool { return w.role == roleTool && w.call == call })
}
