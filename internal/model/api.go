package model

import "encoding/json"

// A requestBody is the body of a request of the chat completions API.
type requestBody struct {
	Model    string            `json:"model"`
	Messages []requestMessage  `json:"messages"`
	Tools    []toolDescription `json:"tools,omitempty"`
	Stream   bool              `json:"stream"`
}

// A requestMessage is one message of a request. Its role determines which of the other fields are
// set.
type requestMessage struct {
	Role             string            `json:"role"`              // "system", "user", "assistant" or "tool"
	Content          any               `json:"content,omitempty"` // a string, or a []contentPart; nil: none
	ToolCalls        []requestToolCall `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"` // id of the call, in a tool message
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	Reasoning        string            `json:"reasoning,omitempty"` // for servers that call reasoning_content by this name
}

// A contentPart is a text or an image in a message. Type is "text" or "image_url".
type contentPart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

// An imageURL refers to an image by its URL, which may be a data URL.
type imageURL struct {
	URL string `json:"url"`
}

// A requestToolCall is a tool call in a message of the assistant. Type is always "function".
type requestToolCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function calledFunction `json:"function"`
}

// A calledFunction holds the name of a called tool and the arguments as JSON text.
type calledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// A toolDescription describes a tool to the model. Type is always "function".
type toolDescription struct {
	Type     string            `json:"type"`
	Function describedFunction `json:"function"`
}

// A describedFunction holds the name and the purpose of a tool, and the JSON Schema of its
// arguments.
type describedFunction struct {
	Name        string                     `json:"name"`
	Description string                     `json:"description,omitempty"`
	Parameters  map[string]json.RawMessage `json:"parameters"`
}

// A responseChunk is the JSON data of one event in a streamed response of the OpenAI chat
// completions API. FinishReason is set only in the last chunk of a choice. In the other chunks it
// is "", because servers set finish_reason to null or leave it out.
type responseChunk struct {
	Choices []struct {
		Index        int           `json:"index"`
		Delta        responseDelta `json:"delta"`
		FinishReason string        `json:"finish_reason"`
	} `json:"choices"`
}

// A responseDelta is the part of the response that one responseChunk adds. Some servers send
// reasoning in ReasoningContent, some in Reasoning, and some send the same text in both.
type responseDelta struct {
	Content          string      `json:"content"`
	Refusal          string      `json:"refusal"` // text with which the model refuses to answer
	ReasoningContent string      `json:"reasoning_content"`
	Reasoning        string      `json:"reasoning"` // used by some servers
	ToolCalls        []callDelta `json:"tool_calls"`
}

// A callDelta is a piece of a tool call. The pieces of one call have the same Index, which counts
// the tool calls of the response from 0. Some servers send the same Index for all calls; see
// streamedCall.startsAnother. The ID and Function.Name are usually set only in the first piece and
// "" in later ones. To get the arguments of the call, Function.Arguments of all its pieces are
// joined in the order in which they arrive.
type callDelta struct {
	Index    int64          `json:"index"`
	ID       string         `json:"id"`
	Function calledFunction `json:"function"`
}
