package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// requestBody returns the body of a request that sends messages, and the descriptions of the tools,
// to the model's server.
func (r *modelRun) requestBody(messages []chatMessage) requestBody {
	p := requestBody{Model: r.Model, Tools: r.toolDescriptions(), Stream: true}
	ids := &toolCallIDMap{serverIDs: r.serverIDs, assigned: map[string]string{}, taken: map[string]bool{}}
	for _, w := range messages {
		p.Messages = append(p.Messages, w.encode(ids))
	}
	return p
}

// A toolCallIDMap assigns ids to the tool calls in one request to the model's server. If the server
// made a call in this run, the call keeps the server's id, unless that id is taken. Other calls get
// short ids, because some servers accept only ids of nine letters and digits. The ids are unique
// only within one request.
type toolCallIDMap struct {
	serverIDs map[string]string // id in the dialect → id that the server gave the call
	assigned  map[string]string // id in the dialect → id that was last assigned to the call
	taken     map[string]bool   // ids that are assigned to a call
}

// assign chooses and returns an id for the tool call whose id in the dialect is call. It records
// the chosen id, so that the result of the call gets the same one.
func (n *toolCallIDMap) assign(call string) string {
	name := n.serverIDs[call]
	for i := len(n.taken) + 1; name == "" || n.taken[name]; i++ {
		name = fmt.Sprintf("call%05d", i)
	}
	n.assigned[call], n.taken[name] = name, true
	return name
}

// encode returns w as a message of the chat completions API. It assigns an id from ids to each tool
// call of w; a tool result gets the id that was assigned to its call. If the arguments of a call
// are not valid JSON, encode replaces them with an empty object.
func (w chatMessage) encode(ids *toolCallIDMap) requestMessage {
	m := requestMessage{Role: w.role, Content: w.text}
	switch {
	case w.role == roleTool:
		m.ToolCallID = ids.assigned[w.call]
	case len(w.images) > 0:
		m.Content = w.contentParts()
	case w.text == "" && len(w.calls) > 0:
		m.Content = nil
	}
	for _, c := range w.calls {
		arguments := c.Arguments
		if !json.Valid([]byte(arguments)) { // servers parse them and would fail
			arguments = "{}"
		}
		m.ToolCalls = append(m.ToolCalls, requestToolCall{
			ID: ids.assign(c.ID), Type: "function", Function: calledFunction{Name: c.Name, Arguments: arguments},
		})
	}
	if w.reasoningField == "reasoning" { // servers that send reasoning expect it back
		m.Reasoning = w.reasoning
	} else {
		m.ReasoningContent = w.reasoning
	}
	return m
}

// contentParts returns the content parts of a user message for a request to the model's server:
// first the text, unless it is empty, and then the images.
func (w chatMessage) contentParts() (parts []contentPart) {
	if w.text != "" {
		parts = append(parts, contentPart{Type: "text", Text: w.text})
	}
	for _, url := range w.images {
		parts = append(parts, contentPart{Type: "image_url", ImageURL: &imageURL{url}})
	}
	return parts
}

// toolDescriptions returns the descriptions of all tools that the model may call: those of the
// client and those that this server runs. If both have a tool of the same name, only the client's
// is included.
func (r *modelRun) toolDescriptions() (all []toolDescription) {
	seen := map[string]bool{}
	add := func(name, description string, schema []byte) {
		if !seen[name] {
			seen[name] = true
			f := describedFunction{Name: name, Description: description, Parameters: objectSchema(schema)}
			all = append(all, toolDescription{Type: "function", Function: f})
		}
	}
	for _, name := range r.turn.ClientTools {
		i := slices.IndexFunc(r.turn.Parts, func(p spec.Event) bool { return p.Kind == spec.InputTool && p.Name == name })
		if i < 0 {
			add(name, "", nil)
			continue
		}
		add(name, r.turn.Parts[i].Description, []byte(r.turn.Parts[i].Text))
	}
	for _, t := range r.Tools {
		add(t.Name, t.Description, t.Parameters)
	}
	return all
}

// objectSchema decodes the JSON Schema of the arguments of a tool and returns its members, with the
// type "object". The parameter schema may also be a JSON string that contains the schema. If the
// schema is invalid or has a different type, the result allows any object.
func objectSchema(schema []byte) map[string]json.RawMessage {
	schema = []byte(cmp.Or(jsonString(schema), string(schema)))
	var members map[string]json.RawMessage
	err := json.Unmarshal(schema, &members)
	if kind, ok := members["type"]; err != nil || members == nil || ok && jsonString(kind) != "object" {
		members = map[string]json.RawMessage{}
	}
	members["type"] = json.RawMessage(`"object"`)
	return members
}
