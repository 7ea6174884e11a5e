package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// A ruleMatch is when a rule holds.
type ruleMatch struct {
	conditions orderedMap
	once       bool
}

// matchMembers are the members of a match.
type matchMembers struct {
	user, toolCallID, resultText, toolName, context, endpoint string
	hasUser, hasResult                                        bool
	toolResult                                                *bool
	turn, sequence                                            *float64
}

// readMatch makes conditions of a match.
func (c *fixtureConverter) readMatch(raw json.RawMessage) (m ruleMatch) {
	var is matchMembers
	known := memberReaders{
		"userMessage":        func(raw json.RawMessage) { is.hasUser = true; c.readText(&is.user, "userMessage")(raw) },
		"toolCallId":         c.readText(&is.toolCallID, "toolCallId"),
		"toolResultContains": func(raw json.RawMessage) { is.hasResult = true; c.readText(&is.resultText, "toolResultContains")(raw) },
		"toolName":           c.readText(&is.toolName, "toolName"),
		"context":            c.readText(&is.context, "context"),
		"endpoint":           c.readText(&is.endpoint, "endpoint"),
		"turnIndex":          c.readNumber(&is.turn, "turnIndex", 0, 1e6),
		"sequenceIndex":      c.readNumber(&is.sequence, "sequenceIndex", 0, 1e6),
		"hasToolResult": func(raw json.RawMessage) {
			if json.Unmarshal(raw, &is.toolResult) != nil || is.toolResult == nil {
				c.errorf("hasToolResult: %.60s is neither true nor false", raw)
			}
		},
	}
	c.ignoreMembers(known, "the rule matches whatever it is: requests of these protocols do not say it", "model", "responseFormat")
	c.ignoreMembers(known, "the rule matches whatever it is: rules cannot ask for messages of the system", "systemMessage")
	c.rejectMembers(known, "there are no embeddings here", "inputText")
	c.rejectMembers(known, "a function cannot be converted", "predicate")
	c.readObject("match", raw, known)
	if is.endpoint != "" && is.endpoint != "chat" {
		c.errorf("endpoint: the fixture is left out: there is nothing like %q here", is.endpoint)
	}
	if c.failed {
		return m
	}
	m.conditions = c.conditions(is)
	m.once = is.sequence != nil && c.isNextInSequence(raw, int(*is.sequence))
	return m
}

// conditions are the conditions of a rule, those that say whose turn it is first.
func (c *fixtureConverter) conditions(is matchMembers) (conditions orderedMap) {
	result := c.toolResultCondition(is)
	tool := len(result) > 0 || is.toolResult != nil && *is.toolResult
	switch {
	case len(result) > 0 && is.toolResult != nil && !*is.toolResult:
		c.errorf("toolCallId or toolResultContains, and hasToolResult false: it can never match")
	case len(result) > 0:
		conditions.set("tool-result", result)
	case tool:
		conditions.set("last", "tool")
	case is.toolResult != nil:
		conditions.set("last", "user")
	case is.hasUser && !c.userMessageWarned:
		c.userMessageWarned = true
		c.warnf("userMessage without hasToolResult also matched when a tool's result came; the rule, and those like it, match when the user has spoken: add a rule with tool-result where that was meant")
	}
	if is.hasUser {
		if is.user != "" {
			conditions.set("text", orderedMap{{"contains", is.user}})
		} else if !tool && is.toolResult == nil {
			conditions.set("last", "user")
		}
	}
	if is.turn != nil {
		if tool {
			c.warnf("turnIndex is left out: it counts the assistant's messages, and the rule is for a tool's result")
		} else {
			c.warnf("turnIndex %v is turn %v: the user's messages are counted from 1, not the assistant's from 0", *is.turn, *is.turn+1)
			conditions.set("turn", int(*is.turn)+1)
		}
	}
	if is.toolName != "" {
		conditions.set("offers", is.toolName)
	}
	if is.context != "" {
		conditions.set("header", orderedMap{{"X-AIMock-Context", is.context}})
	}
	return conditions
}

// toolResultCondition is what a tool's result must be. The ids of calls are chosen by the mock, so the
// tool is named instead.
func (c *fixtureConverter) toolResultCondition(is matchMembers) (o orderedMap) {
	if is.toolCallID != "" {
		if tool := c.toolByCallID[is.toolCallID]; tool != "" {
			o.set("name", tool)
		} else {
			c.warnf("toolCallId %q is of no call in the file: the ids of calls are the server's, so the rule may never match; name the tool instead", is.toolCallID)
			o.set("call", is.toolCallID)
		}
	}
	if is.hasResult {
		o.set("text", orderedMap{{"contains", is.resultText}})
	}
	return o
}

// isNextInSequence says whether a fixture is the next one of those that match alike: rules are played
// in their order, each once.
func (c *fixtureConverter) isNextInSequence(raw json.RawMessage, index int) bool {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(raw, &all) // it was read before
	delete(all, "sequenceIndex")
	var key bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key.WriteString(name + " ")
		_ = json.Compact(&key, all[name])
	}
	if want := c.nextIndex[key.String()]; index != want {
		c.errorf("sequenceIndex %d: the fixture is left out: of those that match alike the next one here is %d; put them in order, from 0", index, want)
		return false
	}
	c.nextIndex[key.String()]++
	return true
}
