package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// A matchMembers holds the decoded members of the match object of an aimock fixture, which states
// for which requests the fixture is used.
type matchMembers struct {
	user, toolCallID, resultText, toolName, context, endpoint string // "" if absent

	hasUser, hasResult bool     // the members userMessage and toolResultContains are present
	toolResult         *bool    // hasToolResult; nil if absent
	turn, sequence     *float64 // turnIndex and sequenceIndex; nil if absent
}

// readMatch converts raw, the match object of a fixture, to the conditions of a rule. If once is
// true, the rule must match only one request. If raw cannot be converted, readMatch records an
// error in c, and the results must not be used.
func (c *fixtureConverter) readMatch(raw json.RawMessage) (conditions orderedMap, once bool) {
	var is matchMembers
	known := memberDecoders{
		"userMessage": func(raw json.RawMessage) {
			is.hasUser = true
			c.readText(&is.user, "userMessage")(raw)
		},
		"toolCallId": c.readText(&is.toolCallID, "toolCallId"),
		"toolResultContains": func(raw json.RawMessage) {
			is.hasResult = true
			c.readText(&is.resultText, "toolResultContains")(raw)
		},
		"toolName":      c.readText(&is.toolName, "toolName"),
		"context":       c.readText(&is.context, "context"),
		"endpoint":      c.readText(&is.endpoint, "endpoint"),
		"turnIndex":     c.readNumber(&is.turn, "turnIndex", 0, 1e6),
		"sequenceIndex": c.readNumber(&is.sequence, "sequenceIndex", 0, 1e6),
		"hasToolResult": func(raw json.RawMessage) {
			if json.Unmarshal(raw, &is.toolResult) != nil || is.toolResult == nil {
				c.errorf("hasToolResult must be true or false, got %.60s", raw)
			}
		},
	}
	c.ignoreMembers(known, "the rule matches any value: requests of these dialects do not have it",
		"model", "responseFormat")
	c.ignoreMembers(known, "the rule matches any value: rules have no condition on system messages", "systemMessage")
	c.rejectMembers(known, "no dialect has embeddings", "inputText")
	c.rejectMembers(known, "a function cannot be converted", "predicate")
	c.readObject("match", raw, known)
	if is.endpoint != "" && is.endpoint != "chat" {
		c.errorf("endpoint: the fixture is omitted: no dialect has an equivalent of %q", is.endpoint)
	}
	if c.failed {
		return nil, false
	}
	return c.conditions(is), is.sequence != nil && c.isNextInSequence(raw, int(*is.sequence))
}

// conditions returns the conditions of a rule for the match object with the members is. If the
// members contradict each other, conditions records an error in c, and the result must not be used.
func (c *fixtureConverter) conditions(is matchMembers) (conditions orderedMap) {
	result := c.toolResultCondition(is)
	tool := len(result) > 0 || is.toolResult != nil && *is.toolResult
	switch {
	case len(result) > 0 && is.toolResult != nil && !*is.toolResult:
		c.errorf("the fixture never matches: toolCallId and toolResultContains contradict hasToolResult: false")
	case len(result) > 0:
		conditions.set("tool-result", result)
	case tool:
		conditions.set("last", "tool")
	case is.toolResult != nil:
		conditions.set("last", "user")
	case is.hasUser && !c.userMessageWarned:
		c.userMessageWarned = true
		c.warnf("userMessage without hasToolResult also matched requests with a tool result; " +
			"this rule, and others like it, match only if the user spoke last: add a rule with tool-result if needed")
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
			c.warnf("turnIndex is ignored: it counts assistant messages, and the rule is for a tool result")
		} else {
			c.warnf("turnIndex %v becomes turn %v: scripts count user messages from 1, not assistant messages from 0",
				*is.turn, *is.turn+1)
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

// toolResultCondition returns the condition on a tool result for the members toolCallId and
// toolResultContains in is, or nil if both are absent. If possible, the condition names the tool
// instead of the call, because the mock chooses the ids of calls.
func (c *fixtureConverter) toolResultCondition(is matchMembers) (o orderedMap) {
	if is.toolCallID != "" {
		if tool := c.toolByCallID[is.toolCallID]; tool != "" {
			o.set("name", tool)
		} else {
			c.warnf("toolCallId %q does not occur in the file's toolCalls: the server chooses call ids, "+
				"so the rule may never match; use the name of the tool instead", is.toolCallID)
			o.set("call", is.toolCallID)
		}
	}
	if is.hasResult {
		o.set("text", orderedMap{{"contains", is.resultText}})
	}
	return o
}

// isNextInSequence checks index, the sequenceIndex in the match object raw. Fixtures whose match
// objects differ only in the sequenceIndex form a sequence, in which the indexes must be 0, 1, 2
// and so on, because its fixtures become rules that match once each, in order. If index is the next
// one in its sequence, isNextInSequence counts the fixture and returns true. Otherwise it records
// an error and returns false.
func (c *fixtureConverter) isNextInSequence(raw json.RawMessage, index int) bool {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(raw, &all) // cannot fail: readMatch decoded it already
	delete(all, "sequenceIndex")
	var key bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(all)) {
		key.WriteString(name + " ")
		_ = json.Compact(&key, all[name])
	}
	if want := c.nextIndex[key.String()]; index != want {
		c.errorf("sequenceIndex %d: the fixture is omitted: want %d, the next index among fixtures with the same match; "+
			"put them in order, from 0", index, want)
		return false
	}
	c.nextIndex[key.String()]++
	return true
}
