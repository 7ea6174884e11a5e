package replay

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// An aimockResponse holds the decoded members of the response object of an aimock fixture (see
// [ConvertFixtures]). Tool calls, blocks and the error are already converted to members of a
// script.
type aimockResponse struct {
	reasoning, content string       // "" if absent
	hasContent         bool         // the member content is present
	calls              []any        // steps for the tool calls; nil if the response has no toolCalls
	blocks             []any        // steps for texts and tool calls; nil if the response has no blocks
	errorReply         scriptObject // members of an error status; nil if the response has no error
}

// readResponse converts raw, the response object of a fixture, for a script. If the object has the
// member error, the result refusal is an error status and reply is nil. Otherwise, reply holds the
// steps of the reply and refusal is nil. If raw cannot be converted, readResponse records an error
// in c, and the results must not be used.
func (c *fixtureConverter) readResponse(raw json.RawMessage) (reply []any, refusal scriptObject) {
	var s aimockResponse
	var status *int
	var after *float64
	known := memberDecoders{
		"content":    func(raw json.RawMessage) { s.content, s.hasContent = c.readContent(raw), true },
		"reasoning":  c.readText(&s.reasoning, "reasoning"),
		"toolCalls":  func(raw json.RawMessage) { s.calls = c.readCalls(raw) },
		"blocks":     func(raw json.RawMessage) { s.blocks = c.readBlocks(raw) },
		"error":      func(raw json.RawMessage) { s.errorReply = c.readError(raw) },
		"status":     readNumber(c, &status, "status", 100, 599),
		"retryAfter": readNumber(c, &after, "retryAfter", 0, 86400),
		"role":       func(raw json.RawMessage) { c.warnUnlessOneOf("role", raw, "assistant") },
		"finishReason": func(raw json.RawMessage) {
			c.warnUnlessOneOf("finishReason", raw, "stop", "tool_calls")
		},
	}
	c.ignoreMembers(known, "the server sets ids, times and counts",
		"id", "created", "model", "usage", "systemFingerprint", "provider", "nativeFinishReason")
	c.ignoreMembers(known, "no dialect has an equivalent",
		"webSearches", "reasoningSignature", "redactedThinking", "fallthrough", "billableUnits")
	c.rejectMembers(known, "no dialect has an equivalent",
		"embedding", "image", "images", "audio", "transcription", "video", "json", "live", "format")
	c.readObject("response", raw, known)
	switch {
	case c.failed:
		return nil, nil
	case s.errorReply != nil:
		return nil, c.statusReply(s.errorReply, status, after)
	case status != nil || after != nil:
		c.warnf("status and retryAfter are ignored: the response has no error")
	}
	return c.replySteps(s), nil
}

// warnUnlessOneOf records a warning unless raw, the value of the member with the given name, is one
// of the strings allowed. Scripts cannot set the member, so any other value would have no effect.
func (c *fixtureConverter) warnUnlessOneOf(name string, raw json.RawMessage, allowed ...string) {
	var text string
	if json.Unmarshal(raw, &text) != nil || !slices.Contains(allowed, text) {
		c.warnf("%s %.60s is ignored: scripts cannot set it", name, raw)
	}
}

// readContent returns raw, the content of a response, as a string. An object or a list becomes
// compact JSON. If raw is neither a string nor an object nor a list, readContent records an error
// and returns "".
func (c *fixtureConverter) readContent(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text
	}
	if raw[0] == '{' || raw[0] == '[' {
		return compactJSON(raw)
	}
	c.errorf("content must be a string, an object or a list, got %.60s", raw)
	return ""
}

// readCall converts raw, a tool call of a fixture, to a client-tool step of a script: a call of a
// tool that the client runs, as with aimock. The parameter more, which may be nil, holds functions
// for members other than name, id and arguments. If raw is not a valid call, readCall records an
// error, and the result must not be used.
func (c *fixtureConverter) readCall(raw json.RawMessage, more memberDecoders) any {
	var name, id string
	var arguments any = scriptObject{}
	known := memberDecoders{
		"name":      c.readText(&name, "toolCalls: name"),
		"id":        c.readText(&id, "toolCalls: id"), // learnToolNames has recorded it
		"arguments": func(raw json.RawMessage) { arguments = c.readArguments(raw) },
	}
	maps.Copy(known, more)
	c.readObject("toolCalls", raw, known)
	if name == "" && !c.failed {
		c.errorf("toolCalls: every call needs a name")
	}
	return scriptObject{{"client-tool", scriptObject{{"name", escapeTemplates(name)}, {"arguments", arguments}}}}
}

// readArguments returns raw, the arguments of a tool call, as a value for a script. The arguments
// are JSON, or a JSON string that contains JSON. An object or a list becomes a scriptObject or a
// []any if a script can represent it exactly. All other arguments become a string. readArguments
// records a warning if the arguments are not valid JSON.
func (c *fixtureConverter) readArguments(raw json.RawMessage) any {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = compactJSON(raw)
	}
	v, ok := decodeOrdered([]byte(text))
	switch v.(type) {
	case scriptObject, []any:
		if ok {
			return escapeTemplates(v)
		}
	}
	if !json.Valid([]byte(text)) {
		c.warnf("toolCalls: the arguments %.60q are not valid JSON; they are sent unchanged", text)
	}
	return escapeTemplates(text)
}

// readCalls converts raw, the toolCalls list of a response, to steps of a script, one for each
// call. If raw is not a list, it records an error and returns nil. If a call is invalid, it records
// an error, and the result must not be used.
func (c *fixtureConverter) readCalls(raw json.RawMessage) (all []any) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		c.errorf("toolCalls must be a list of calls")
		return nil
	}
	for _, one := range list {
		all = append(all, c.readCall(one, nil))
	}
	return all
}

// readBlocks converts raw, the blocks list of a response, to steps of a script, one for each block.
// A block is a text or a tool call. If raw is not a list or is empty, it records an error and
// returns nil. If a block is invalid, it records an error, and the result must not be used.
func (c *fixtureConverter) readBlocks(raw json.RawMessage) (all []any) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		c.errorf("blocks must be a non-empty list of texts and calls")
		return nil
	}
	for _, one := range list {
		var kind struct{ Type, Text string }
		_ = json.Unmarshal(one, &kind)
		switch kind.Type {
		case "text":
			all = append(all, scriptObject{{"text", escapeTemplates(kind.Text)}})
		case "toolCall":
			all = append(all, c.readCall(one, memberDecoders{"type": func(json.RawMessage) {}}))
		default:
			c.errorf("blocks: want a block of type text or toolCall, got %.60s", one)
		}
	}
	return all
}

// replySteps returns the steps of a reply for the response s: the reasoning, the texts and the tool
// calls. The tool calls come last, because a call of a client tool ends the run. It records a
// warning if this changes the order of the blocks of s or if it leaves out a part of s. If s has
// neither content nor tool calls nor blocks, it records an error.
func (c *fixtureConverter) replySteps(s aimockResponse) (all []any) {
	all = []any{}
	if s.reasoning != "" {
		all = append(all, scriptObject{{"reasoning", escapeTemplates(s.reasoning)}})
	}
	if s.blocks == nil {
		if s.content != "" {
			all = append(all, scriptObject{{"text", escapeTemplates(s.content)}})
		}
		if !s.hasContent && s.calls == nil {
			c.errorf("response needs content, toolCalls, blocks or error")
		}
		return append(all, s.calls...)
	}
	if s.hasContent || s.calls != nil {
		c.warnf("content and toolCalls are ignored: blocks take precedence")
	}
	var calls []any
	moved := false
	for _, b := range s.blocks {
		if b.(scriptObject)[0].key == "text" {
			moved = moved || len(calls) > 0
			all = append(all, b)
			continue
		}
		calls = append(calls, b)
	}
	if moved {
		c.warnf("blocks: texts after a call are moved before it: a call of a client tool ends the run")
	}
	return append(all, calls...)
}

// readError converts raw, the error object of a response, to the members of an error status in a
// script. The message becomes the member "text", and the code the member "problem". The result is
// never nil, but may be empty. If raw is invalid, readError records an error in c.
func (c *fixtureConverter) readError(raw json.RawMessage) scriptObject {
	var text, code string
	known := memberDecoders{"message": c.readText(&text, "error: message"), "code": func(raw json.RawMessage) {
		if string(raw) != "null" {
			c.readText(&code, "error: code")(raw)
		}
	}}
	c.ignoreMembers(known, "error responses of these dialects do not have it", "type", "param", "metadata")
	c.readObject("error", raw, known)
	o := scriptObject{}
	if text != "" {
		o.set("text", escapeTemplates(text))
	}
	if code != "" {
		o.set("problem", escapeTemplates(code))
	}
	return o
}

// statusReply returns the error status of a rule: the status code, the members in refusal, and
// retry-after. If status is nil, the code is 500. The parameter after is the value of retry-after
// in seconds; nil means 1s for code 429, and no retry-after for other codes. If the code is below
// 400, statusReply records an error.
func (c *fixtureConverter) statusReply(refusal scriptObject, status *int, after *float64) scriptObject {
	code := *cmp.Or(status, new(500))
	if code < 400 {
		c.errorf("status %d: the fixture is omitted: the status of an error must be from 400 to 599", code)
	}
	o := append(scriptObject{{"code", code}}, refusal...)
	switch {
	case after != nil:
		o.set("retry-after", milliseconds(*after*1000))
	case code == 429:
		o.set("retry-after", "1s") // aimock's default
	}
	return o
}
