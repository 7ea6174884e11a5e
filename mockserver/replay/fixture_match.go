package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// A match is when a rule holds.
type match struct {
	when object
	once bool
}

// matching are the members of a match.
type matching struct {
	user, call, result, offers, context, endpoint string
	hasUser, hasResult                            bool
	toolResult                                    *bool
	turn, sequence                                *float64
}

// match makes conditions of a match.
func (c *converter) match(raw json.RawMessage) (m match) {
	var is matching
	known := fields{
		"userMessage":        func(raw json.RawMessage) { is.hasUser = true; c.text(&is.user, "userMessage")(raw) },
		"toolCallId":         c.text(&is.call, "toolCallId"),
		"toolResultContains": func(raw json.RawMessage) { is.hasResult = true; c.text(&is.result, "toolResultContains")(raw) },
		"toolName":           c.text(&is.offers, "toolName"),
		"context":            c.text(&is.context, "context"),
		"endpoint":           c.text(&is.endpoint, "endpoint"),
		"turnIndex":          c.number(&is.turn, "turnIndex", 0, 1e6),
		"sequenceIndex":      c.number(&is.sequence, "sequenceIndex", 0, 1e6),
		"hasToolResult": func(raw json.RawMessage) {
			if json.Unmarshal(raw, &is.toolResult) != nil || is.toolResult == nil {
				c.fail("hasToolResult: %.60s is neither true nor false", raw)
			}
		},
	}
	c.lost(known, "the rule matches whatever it is: requests of these protocols do not say it", "model", "responseFormat")
	c.lost(known, "the rule matches whatever it is: rules cannot ask for messages of the system", "systemMessage")
	c.impossible(known, "there are no embeddings here", "inputText")
	c.impossible(known, "a function cannot be converted", "predicate")
	c.each("match", raw, known)
	if is.endpoint != "" && is.endpoint != "chat" {
		c.fail("endpoint: the fixture is left out: there is nothing like %q here", is.endpoint)
	}
	if c.failed {
		return m
	}
	m.when = c.when(is)
	m.once = is.sequence != nil && c.next(raw, int(*is.sequence))
	return m
}

// when are the conditions of a rule, those that say whose turn it is first.
func (c *converter) when(is matching) (when object) {
	result := c.result(is)
	tool := len(result) > 0 || is.toolResult != nil && *is.toolResult
	switch {
	case len(result) > 0 && is.toolResult != nil && !*is.toolResult:
		c.fail("toolCallId or toolResultContains, and hasToolResult false: it can never match")
	case len(result) > 0:
		when.set("tool-result", result)
	case tool:
		when.set("last", "tool")
	case is.toolResult != nil:
		when.set("last", "user")
	case is.hasUser && !c.told:
		c.told = true
		c.warn("userMessage without hasToolResult also matched when a tool's result came; the rule, and those like it, match when the user has spoken: add a rule with tool-result where that was meant")
	}
	if is.hasUser {
		if is.user != "" {
			when.set("text", object{{"contains", is.user}})
		} else if !tool && is.toolResult == nil {
			when.set("last", "user")
		}
	}
	if is.turn != nil {
		if tool {
			c.warn("turnIndex is left out: it counts the assistant's messages, and the rule is for a tool's result")
		} else {
			c.warn("turnIndex %v is turn %v: the user's messages are counted from 1, not the assistant's from 0", *is.turn, *is.turn+1)
			when.set("turn", int(*is.turn)+1)
		}
	}
	if is.offers != "" {
		when.set("offers", is.offers)
	}
	if is.context != "" {
		when.set("header", object{{"X-AIMock-Context", is.context}})
	}
	return when
}

// result is what a tool's result must be. The ids of calls are chosen by the mock, so the
// tool is named instead.
func (c *converter) result(is matching) (o object) {
	if is.call != "" {
		if tool := c.tools[is.call]; tool != "" {
			o.set("name", tool)
		} else {
			c.warn("toolCallId %q is of no call in the file: the ids of calls are the server's, so the rule may never match; name the tool instead", is.call)
			o.set("call", is.call)
		}
	}
	if is.hasResult {
		o.set("text", object{{"contains", is.result}})
	}
	return o
}

// next says whether a fixture is the next one of those that match alike: rules are played
// in their order, each once.
func (c *converter) next(raw json.RawMessage, index int) bool {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(raw, &all) // it was read before
	delete(all, "sequenceIndex")
	var key bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key.WriteString(name + " ")
		_ = json.Compact(&key, all[name])
	}
	if want := c.sequence[key.String()]; index != want {
		c.fail("sequenceIndex %d: the fixture is left out: of those that match alike the next one here is %d; put them in order, from 0", index, want)
		return false
	}
	c.sequence[key.String()]++
	return true
}
