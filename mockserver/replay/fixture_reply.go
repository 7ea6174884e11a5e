package replay

import (
	"encoding/json"
	"strings"
)

// A response is what a rule answers.
type response struct {
	reply  []any  // steps
	status object // or a refusal
	calls  bool
}

// saying are the parts of a response.
type saying struct {
	reasoning, content string
	hasContent         bool
	calls              []any
	blocks             []any // texts and calls; nil: there are none
	refusal            object
}

// response makes a reply, or a refusal, of one.
func (c *converter) response(raw json.RawMessage) (r response) {
	var s saying
	var status, after *float64
	known := fields{
		"content":    func(raw json.RawMessage) { s.content, s.hasContent = c.content(raw), true },
		"reasoning":  c.text(&s.reasoning, "reasoning"),
		"toolCalls":  func(raw json.RawMessage) { s.calls = c.calls(raw) },
		"blocks":     func(raw json.RawMessage) { s.blocks = c.blocks(raw) },
		"error":      func(raw json.RawMessage) { s.refusal = c.refusal(raw) },
		"status":     c.number(&status, "status", 100, 599),
		"retryAfter": c.number(&after, "retryAfter", 0, 86400),
		"role":       func(raw json.RawMessage) { c.only("role", raw, "assistant") },
		"finishReason": func(raw json.RawMessage) {
			c.only("finishReason", raw, "stop", "tool_calls")
		},
	}
	c.lost(known, "ids, times and counts are the server's", "id", "created", "model", "usage", "systemFingerprint", "provider", "nativeFinishReason")
	c.lost(known, "no protocol here has it", "webSearches", "reasoningSignature", "redactedThinking", "fallthrough", "billableUnits")
	c.impossible(known, "there is nothing like it here", "embedding", "image", "images", "audio", "transcription", "video", "json", "live", "format")
	c.each("response", raw, known)
	switch {
	case c.failed:
	case s.refusal != nil:
		r.status = c.refused(s.refusal, status, after)
	default:
		if status != nil || after != nil {
			c.warn("status and retryAfter are left out: they belong to an error")
		}
		r.reply = c.steps(s)
		r.calls = len(s.calls) > 0
	}
	return r
}

// only names what is not as it would be anyway.
func (c *converter) only(name string, raw json.RawMessage, usual ...string) {
	for _, s := range usual {
		if string(raw) == `"`+s+`"` {
			return
		}
	}
	c.warn("%s %.60s is left out: it cannot be set", name, raw)
}

// content is a text, or JSON that is said as one.
func (c *converter) content(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return text
	}
	if raw[0] == '{' || raw[0] == '[' {
		return compacted(raw)
	}
	c.fail("content: %.60s is neither a text nor an object nor a list", raw)
	return ""
}

func compacted(raw json.RawMessage) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(raw) != nil {
		return string(raw)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// call is a call that the client answers: who runs the tools is not the one who streams.
func (c *converter) call(raw json.RawMessage, more fields) any {
	var name, id string
	var arguments any = object{}
	known := fields{
		"name": c.text(&name, "toolCalls: name"),
		"id":   c.text(&id, "toolCalls: id"), // the server chooses it; what names it names the tool
		"arguments": func(raw json.RawMessage) {
			arguments = c.arguments(raw)
		},
	}
	for key, read := range more {
		known[key] = read
	}
	c.each("toolCalls", raw, known)
	if name == "" && !c.failed {
		c.fail("toolCalls: a call has no name")
	}
	return object{{"client-tool", object{{"name", literal(name)}, {"arguments", arguments}}}}
}

// arguments are an object, or the text of one.
func (c *converter) arguments(raw json.RawMessage) any {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = compacted(raw)
	}
	v, ok := ordered([]byte(text))
	switch v.(type) {
	case object, []any:
		if ok {
			return literal(v)
		}
	}
	if !json.Valid([]byte(text)) {
		c.warn("toolCalls: the arguments %.60q are not JSON; they are sent as they are", text)
	}
	return literal(text)
}

func (c *converter) calls(raw json.RawMessage) (all []any) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		c.fail("toolCalls: it is a list of calls")
		return nil
	}
	for _, one := range list {
		all = append(all, c.call(one, nil))
	}
	return all
}

func (c *converter) blocks(raw json.RawMessage) (all []any) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		c.fail("blocks: it is a list of texts and calls, not an empty one")
		return nil
	}
	for _, one := range list {
		var kind struct{ Type, Text string }
		_ = json.Unmarshal(one, &kind)
		switch kind.Type {
		case "text":
			all = append(all, object{{"text", literal(kind.Text)}})
		case "toolCall":
			all = append(all, c.call(one, fields{"type": func(json.RawMessage) {}}))
		default:
			c.fail("blocks: %.60s is neither a text nor a toolCall", one)
		}
	}
	return all
}

// steps are what a reply says: reasoning, texts, then the calls that hand over to the
// client.
func (c *converter) steps(s saying) (all []any) {
	all = []any{}
	if s.reasoning != "" {
		all = append(all, object{{"reasoning", literal(s.reasoning)}})
	}
	if s.blocks == nil {
		if s.content != "" {
			all = append(all, object{{"text", literal(s.content)}})
		}
		if !s.hasContent && s.calls == nil {
			c.fail("response: it has neither content nor toolCalls nor blocks nor error")
		}
		return append(all, s.calls...)
	}
	if s.hasContent || s.calls != nil {
		c.warn("content and toolCalls are left out: blocks say the same, in order")
	}
	var calls []any
	moved := false
	for _, b := range s.blocks {
		if b.(object)[0].key == "text" {
			moved = moved || len(calls) > 0
			all = append(all, b)
			continue
		}
		calls = append(calls, b)
	}
	if moved {
		c.warn("blocks: texts after a call come before it: a call that the client answers hands over to the client")
	}
	return append(all, calls...)
}

// refusal is an error, without its status.
func (c *converter) refusal(raw json.RawMessage) object {
	var text, code string
	known := fields{"message": c.text(&text, "error: message"), "code": func(raw json.RawMessage) {
		if string(raw) != "null" {
			c.text(&code, "error: code")(raw)
		}
	}}
	c.lost(known, "problems of these protocols do not have it", "type", "param", "metadata")
	c.each("error", raw, known)
	o := object{}
	if text != "" {
		o.set("text", literal(text))
	}
	if code != "" {
		o.set("problem", literal(code))
	}
	return o
}

// refused is a refusal with its status.
func (c *converter) refused(refusal object, status, after *float64) object {
	code := 500
	if status != nil {
		code = int(*status)
	}
	if code < 400 {
		c.fail("status %d: the fixture is left out: an error has one from 400 to 599", code)
	}
	o := append(object{{"code", code}}, refusal...)
	switch {
	case after != nil:
		o.set("retry-after", milliseconds(*after*1000))
	case code == 429:
		o.set("retry-after", "1s") // as there
	}
	return o
}
