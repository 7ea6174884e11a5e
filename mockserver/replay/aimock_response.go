package replay

import (
	"encoding/json"
	"strings"
)

// A ruleReply is what a rule answers.
type ruleReply struct {
	reply    []any      // steps
	status   orderedMap // or a refusal
	hasCalls bool
}

// responseMembers are the parts of a response.
type responseMembers struct {
	reasoning, content string
	hasContent         bool
	calls              []any
	blocks             []any // texts and calls; nil: there are none
	errorReply         orderedMap
}

// readResponse makes a reply, or a refusal, of one.
func (c *fixtureConverter) readResponse(raw json.RawMessage) (r ruleReply) {
	var s responseMembers
	var status, after *float64
	known := memberReaders{
		"content":    func(raw json.RawMessage) { s.content, s.hasContent = c.readContent(raw), true },
		"reasoning":  c.readText(&s.reasoning, "reasoning"),
		"toolCalls":  func(raw json.RawMessage) { s.calls = c.readCalls(raw) },
		"blocks":     func(raw json.RawMessage) { s.blocks = c.readBlocks(raw) },
		"error":      func(raw json.RawMessage) { s.errorReply = c.readError(raw) },
		"status":     c.readNumber(&status, "status", 100, 599),
		"retryAfter": c.readNumber(&after, "retryAfter", 0, 86400),
		"role":       func(raw json.RawMessage) { c.warnUnlessOneOf("role", raw, "assistant") },
		"finishReason": func(raw json.RawMessage) {
			c.warnUnlessOneOf("finishReason", raw, "stop", "tool_calls")
		},
	}
	c.ignoreMembers(known, "ids, times and counts are the server's", "id", "created", "model", "usage", "systemFingerprint", "provider", "nativeFinishReason")
	c.ignoreMembers(known, "no protocol here has it", "webSearches", "reasoningSignature", "redactedThinking", "fallthrough", "billableUnits")
	c.rejectMembers(known, "there is nothing like it here", "embedding", "image", "images", "audio", "transcription", "video", "json", "live", "format")
	c.readObject("response", raw, known)
	switch {
	case c.failed:
	case s.errorReply != nil:
		r.status = c.statusReply(s.errorReply, status, after)
	default:
		if status != nil || after != nil {
			c.warnf("status and retryAfter are left out: they belong to an error")
		}
		r.reply = c.replySteps(s)
		r.hasCalls = len(s.calls) > 0
	}
	return r
}

// warnUnlessOneOf names what is not as it would be anyway.
func (c *fixtureConverter) warnUnlessOneOf(name string, raw json.RawMessage, usual ...string) {
	for _, s := range usual {
		if string(raw) == `"`+s+`"` {
			return
		}
	}
	c.warnf("%s %.60s is left out: it cannot be set", name, raw)
}

// readContent is a text, or JSON that is said as one.
func (c *fixtureConverter) readContent(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text
	}
	if raw[0] == '{' || raw[0] == '[' {
		return compactJSON(raw)
	}
	c.errorf("content: %.60s is neither a text nor an object nor a list", raw)
	return ""
}

func compactJSON(raw json.RawMessage) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(raw) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readCall is a call that the client answers: who runs the tools is not the one who streams.
func (c *fixtureConverter) readCall(raw json.RawMessage, more memberReaders) any {
	var name, id string
	var arguments any = orderedMap{}
	known := memberReaders{
		"name": c.readText(&name, "toolCalls: name"),
		"id":   c.readText(&id, "toolCalls: id"), // the server chooses it; what names it names the tool
		"arguments": func(raw json.RawMessage) {
			arguments = c.readArguments(raw)
		},
	}
	for key, read := range more {
		known[key] = read
	}
	c.readObject("toolCalls", raw, known)
	if name == "" && !c.failed {
		c.errorf("toolCalls: a call has no name")
	}
	return orderedMap{{"client-tool", orderedMap{{"name", escapeTemplates(name)}, {"arguments", arguments}}}}
}

// readArguments are an object, or the text of one.
func (c *fixtureConverter) readArguments(raw json.RawMessage) any {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = compactJSON(raw)
	}
	v, ok := decodeOrdered([]byte(text))
	switch v.(type) {
	case orderedMap, []any:
		if ok {
			return escapeTemplates(v)
		}
	}
	if !json.Valid([]byte(text)) {
		c.warnf("toolCalls: the arguments %.60q are not JSON; they are sent as they are", text)
	}
	return escapeTemplates(text)
}

func (c *fixtureConverter) readCalls(raw json.RawMessage) (all []any) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		c.errorf("toolCalls: it is a list of calls")
		return nil
	}
	for _, one := range list {
		all = append(all, c.readCall(one, nil))
	}
	return all
}

func (c *fixtureConverter) readBlocks(raw json.RawMessage) (all []any) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		c.errorf("blocks: it is a list of texts and calls, not an empty one")
		return nil
	}
	for _, one := range list {
		var kind struct{ Type, Text string }
		_ = json.Unmarshal(one, &kind)
		switch kind.Type {
		case "text":
			all = append(all, orderedMap{{"text", escapeTemplates(kind.Text)}})
		case "toolCall":
			all = append(all, c.readCall(one, memberReaders{"type": func(json.RawMessage) {}}))
		default:
			c.errorf("blocks: %.60s is neither a text nor a toolCall", one)
		}
	}
	return all
}

// replySteps are what a reply says: reasoning, texts, then the calls that hand over to the
// client.
func (c *fixtureConverter) replySteps(s responseMembers) (all []any) {
	all = []any{}
	if s.reasoning != "" {
		all = append(all, orderedMap{{"reasoning", escapeTemplates(s.reasoning)}})
	}
	if s.blocks == nil {
		if s.content != "" {
			all = append(all, orderedMap{{"text", escapeTemplates(s.content)}})
		}
		if !s.hasContent && s.calls == nil {
			c.errorf("response: it has neither content nor toolCalls nor blocks nor error")
		}
		return append(all, s.calls...)
	}
	if s.hasContent || s.calls != nil {
		c.warnf("content and toolCalls are left out: blocks say the same, in order")
	}
	var calls []any
	moved := false
	for _, b := range s.blocks {
		if b.(orderedMap)[0].key == "text" {
			moved = moved || len(calls) > 0
			all = append(all, b)
			continue
		}
		calls = append(calls, b)
	}
	if moved {
		c.warnf("blocks: texts after a call come before it: a call that the client answers hands over to the client")
	}
	return append(all, calls...)
}

// readError is an error, without its status.
func (c *fixtureConverter) readError(raw json.RawMessage) orderedMap {
	var text, code string
	known := memberReaders{"message": c.readText(&text, "error: message"), "code": func(raw json.RawMessage) {
		if string(raw) != "null" {
			c.readText(&code, "error: code")(raw)
		}
	}}
	c.ignoreMembers(known, "problems of these protocols do not have it", "type", "param", "metadata")
	c.readObject("error", raw, known)
	o := orderedMap{}
	if text != "" {
		o.set("text", escapeTemplates(text))
	}
	if code != "" {
		o.set("problem", escapeTemplates(code))
	}
	return o
}

// statusReply is a refusal with its status.
func (c *fixtureConverter) statusReply(refusal orderedMap, status, after *float64) orderedMap {
	code := 500
	if status != nil {
		code = int(*status)
	}
	if code < 400 {
		c.errorf("status %d: the fixture is left out: an error has one from 400 to 599", code)
	}
	o := append(orderedMap{{"code", code}}, refusal...)
	switch {
	case after != nil:
		o.set("retry-after", milliseconds(*after*1000))
	case code == 429:
		o.set("retry-after", "1s") // as there
	}
	return o
}
