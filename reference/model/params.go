package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/streamassay/streamassay/spec"
)

// completionParams returns the request that sends messages and the descriptions of the tools to
// the model's server.
func (r *modelRun) completionParams(messages []chatMessage) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: r.Model, Tools: r.toolParams()}
	ids := &toolCallIDMap{serverIDs: r.serverIDs, assigned: map[string]string{}, taken: map[string]bool{}}
	for _, w := range messages {
		p.Messages = append(p.Messages, w.toParam(ids))
	}
	return p
}

// A toolCallIDMap assigns ids to the tool calls in one request to the model's server. A call that
// the server made in this run keeps the server's id. Other calls get short ids, because some
// servers accept at most nine letters and digits while the dialect's ids may be longer. Different
// requests may use the same ids for different calls.
type toolCallIDMap struct {
	serverIDs map[string]string // the server's ids, by those of the dialect
	assigned  map[string]string // latest assigned ids, by those of the dialect
	taken     map[string]bool
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

// toParam returns the message in the form of the OpenAI client library. It assigns ids to the tool
// calls of the message and records them in calls. A tool result gets the id that calls holds for
// its call.
func (w chatMessage) toParam(calls *toolCallIDMap) openai.ChatCompletionMessageParamUnion {
	switch w.role {
	case roleSystem:
		return openai.SystemMessage(w.text)
	case roleAssistant:
		return w.toAssistantParam(calls)
	case roleTool:
		return openai.ToolMessage(w.text, calls.assigned[w.call])
	}
	if len(w.images) == 0 {
		return openai.UserMessage(w.text)
	}
	var parts []openai.ChatCompletionContentPartUnionParam
	if w.text != "" {
		parts = append(parts, openai.TextContentPart(w.text))
	}
	for _, url := range w.images {
		parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: url}))
	}
	return openai.UserMessage(parts)
}

// toAssistantParam returns a message of the assistant in the form of the OpenAI client library. It
// assigns new ids to the tool calls of the message and records them in ids.
func (w chatMessage) toAssistantParam(ids *toolCallIDMap) openai.ChatCompletionMessageParamUnion {
	var m openai.ChatCompletionAssistantMessageParam
	if w.text != "" || len(w.calls) == 0 {
		m.Content.OfString = openai.String(w.text)
	}
	for _, c := range w.calls {
		arguments := c.Arguments
		if !json.Valid([]byte(arguments)) { // servers parse them and would fail
			arguments = "{}"
		}
		m.ToolCalls = append(m.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: ids.assign(c.ID),
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: c.Name, Arguments: arguments,
				},
			},
		})
	}
	if w.reasoning != "" { // servers that send reasoning expect it back
		m.SetExtraFields(map[string]any{w.reasoningField: w.reasoning})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &m}
}

// toolParams returns the descriptions of all tools that the model may call: those of the client
// and those that this server runs. If both have a tool of the same name, only that of the client
// is included.
func (r *modelRun) toolParams() (all []openai.ChatCompletionToolUnionParam) {
	seen := map[string]bool{}
	add := func(name, description string, schema []byte) {
		if seen[name] {
			return
		}
		seen[name] = true
		f := shared.FunctionDefinitionParam{Name: name, Parameters: objectSchema(schema)}
		if description != "" {
			f.Description = openai.String(description)
		}
		all = append(all, openai.ChatCompletionFunctionTool(f))
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

// objectSchema returns the JSON Schema of an object for the arguments of a tool. It accepts a
// schema that is encoded once more as a JSON string. If schema is invalid or is not that of an
// object, the result allows any object.
func objectSchema(schema []byte) shared.FunctionParameters {
	schema = []byte(cmp.Or(jsonString(schema), string(schema)))
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil {
		members = nil
	}
	if kind, ok := members["type"]; ok && jsonString(kind) != "object" {
		members = nil
	}
	all := shared.FunctionParameters{"type": "object"}
	for name, value := range members {
		all[name] = value
	}
	return all
}
