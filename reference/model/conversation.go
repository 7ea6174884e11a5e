package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
)

// The roles of what is said.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// Words are what somebody says in a conversation.
type chatMessage struct {
	role, text                string
	images                    []string     // a user's, their addresses
	calls                     []state.Call // an assistant's
	call                      string       // which one a tool answers
	name                      string       // of the tool
	reasoningField, reasoning string       // an assistant's reasoning, and the member that it came in
}

// conversation is what the model is asked to go on with.
func (r *run) conversation() ([]chatMessage, error) {
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
	system = slices.DeleteFunc(append(system, r.describeClientTools()), func(s string) bool { return strings.TrimSpace(s) == "" })
	if len(system) > 0 {
		messages = slices.Insert(messages, 0, chatMessage{role: roleSystem, text: strings.Join(system, "\n\n")})
	}
	return messages, nil
}

// imageURLs are those of a user's message that a server can be told of.
func imageURLs(user spec.Event) (all []string) {
	for _, part := range user.Parts {
		scheme, _, _ := strings.Cut(part.Text, ":")
		if part.Kind == spec.InputImage && slices.Contains([]string{"http", "https", "data"}, strings.ToLower(scheme)) {
			all = append(all, part.Text)
		}
	}
	return all
}

// earlierMessages is what was said before the request.
func (r *run) earlierMessages() (messages []chatMessage, err error) {
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

func callsByID(said []chatMessage) map[string]state.Call {
	known := map[string]state.Call{}
	for _, w := range said {
		for _, c := range w.calls {
			known[c.ID] = c
		}
	}
	return known
}

// describeClientTools tells the model of tools that the user has, where nobody could answer a call
// of one.
func (r *run) describeClientTools() string {
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

// A conversationBuilder is a conversation in the order that models' servers insist on: a call has a
// result, at once; a result has a call.
type conversationBuilder struct {
	messages      []chatMessage
	knownCalls    map[string]state.Call // that are remembered
	openCalls     []string              // calls without a result yet, of the last assistant's words
	lastAssistant int                   // where those words are
}

// normalize brings a conversation into that order. Runs that were stopped, and histories
// that are not kept for ever or repeated by half, leave it in another. known are
// calls that are remembered.
func normalize(said []chatMessage, known map[string]state.Call) []chatMessage {
	t := &conversationBuilder{knownCalls: known, lastAssistant: -1}
	for _, w := range said {
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

// closeCalls answers the calls that nobody else has.
func (t *conversationBuilder) closeCalls() {
	for _, id := range t.openCalls {
		t.messages = append(t.messages, chatMessage{role: roleTool, call: id, text: "error: there is no result"})
	}
	t.openCalls, t.lastAssistant = nil, -1
}

// addAssistant takes what an assistant said. What it said in one go is one message.
func (t *conversationBuilder) addAssistant(w chatMessage) {
	t.closeCalls()
	if w.text == "" && len(w.calls) == 0 {
		return
	}
	w.calls = slices.Clone(w.calls)
	for i, c := range w.calls {
		if whole, ok := t.knownCalls[c.ID]; ok {
			w.calls[i] = whole
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

// addResult takes what a tool gave. A call that is only remembered is put before it;
// without one, the result is told by the user.
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

// hasResult says that a call has a result.
func (t *conversationBuilder) hasResult(call string) bool {
	return slices.ContainsFunc(t.messages, func(w chatMessage) bool { return w.role == roleTool && w.call == call })
}
