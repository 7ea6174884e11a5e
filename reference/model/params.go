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

// params are a request to the model's server.
func (r *run) params(said []words) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: r.Model, Tools: r.tools()}
	ids := &naming{theirs: r.theirs, names: map[string]string{}, taken: map[string]bool{}}
	for _, w := range said {
		p.Messages = append(p.Messages, w.param(ids))
	}
	return p
}

// A naming gives the calls of one request their ids. Those of the server's that are
// known are its own; others are short: some servers want no more than nine letters
// and digits, and ours can be long. Two runs may have the same ids.
type naming struct {
	theirs map[string]string // the server's, by ours
	names  map[string]string // those that were given last, by ours
	taken  map[string]bool
}

// fresh names a call.
func (n *naming) fresh(call string) string {
	name := n.theirs[call]
	for i := len(n.taken) + 1; name == "" || n.taken[name]; i++ {
		name = fmt.Sprintf("call%05d", i)
	}
	n.names[call], n.taken[name] = name, true
	return name
}

func (w words) param(ids *naming) openai.ChatCompletionMessageParamUnion {
	switch w.role {
	case roleSystem:
		return openai.SystemMessage(w.text)
	case roleAssistant:
		return w.assistant(ids)
	case roleTool:
		return openai.ToolMessage(w.text, ids.names[w.call])
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

func (w words) assistant(ids *naming) openai.ChatCompletionMessageParamUnion {
	var m openai.ChatCompletionAssistantMessageParam
	if w.text != "" || len(w.calls) == 0 {
		m.Content.OfString = openai.String(w.text)
	}
	for _, c := range w.calls {
		arguments := c.Arguments
		if !json.Valid([]byte(arguments)) { // servers take their own words apart, and fail
			arguments = "{}"
		}
		m.ToolCalls = append(m.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: ids.fresh(c.ID), Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: arguments},
			},
		})
	}
	if w.thought != "" { // servers that reason want to be reminded of it, and no others get here
		m.SetExtraFields(map[string]any{w.thinking: w.thought})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &m}
}

// tools are the client's that can be called, and the server's that they do not hide.
func (r *run) tools() (all []openai.ChatCompletionToolUnionParam) {
	told := map[string]bool{}
	add := func(name, about string, schema []byte) {
		if told[name] {
			return
		}
		told[name] = true
		f := shared.FunctionDefinitionParam{Name: name, Parameters: object(schema)}
		if about != "" {
			f.Description = openai.String(about)
		}
		all = append(all, openai.ChatCompletionFunctionTool(f))
	}
	for _, name := range r.turn.Offers {
		i := slices.IndexFunc(r.turn.Parts, func(p spec.Event) bool { return p.Kind == spec.InputTool && p.Name == name })
		if i < 0 {
			add(name, "", nil)
			continue
		}
		add(name, r.turn.Parts[i].Description, []byte(r.turn.Parts[i].Text))
	}
	for _, t := range r.Tools {
		add(t.Name, t.About, t.Parameters)
	}
	return all
}

// object is a schema of an object; what is none becomes one of any object. Schemas
// may come as text inside of JSON.
func object(schema []byte) shared.FunctionParameters {
	schema = []byte(cmp.Or(text(schema), string(schema)))
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil {
		members = nil
	}
	if kind, ok := members["type"]; ok && text(kind) != "object" {
		members = nil
	}
	all := shared.FunctionParameters{"type": "object"}
	for name, value := range members {
		all[name] = value
	}
	return all
}
