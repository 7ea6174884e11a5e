package replay

import (
	"encoding/json"
	"regexp"
	"strings"
)

// An aimockMatch holds the decoded members of the match object of an aimock fixture (see
// [ConvertFixtures]). The match object states for which requests the fixture is used.
type aimockMatch struct {
	// The members userMessage, toolCallId, toolResultContains, toolName, context and endpoint; ""
	// if absent.
	user, toolCallID, resultText, toolName, context, endpoint string

	hasUser, hasResult bool  // the members userMessage and toolResultContains are present
	toolResult         *bool // hasToolResult; nil if absent
	turn, sequence     *int  // turnIndex and sequenceIndex; nil if absent
}

// readMatch converts raw, the match object of a fixture, to the conditions of a rule. If once is
// true, the fixture is part of a sequence, and the rule must match only one request. If raw cannot
// be converted, readMatch records an error in c, and the results must not be used.
func (c *fixtureConverter) readMatch(raw json.RawMessage) (conditions scriptObject, once bool) {
	var is aimockMatch
	known := memberDecoders{
		"userMessage":        c.readText(&is.user, "userMessage"),
		"toolCallId":         c.readText(&is.toolCallID, "toolCallId"),
		"toolResultContains": c.readText(&is.resultText, "toolResultContains"),
		"toolName":           c.readText(&is.toolName, "toolName"),
		"context":            c.readText(&is.context, "context"),
		"endpoint":           c.readText(&is.endpoint, "endpoint"),
		"turnIndex":          readNumber(c, &is.turn, "turnIndex", 0, 1_000_000),
		"sequenceIndex":      readNumber(c, &is.sequence, "sequenceIndex", 0, 1_000_000),
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
	members := c.readObject("match", raw, known)
	is.hasUser, is.hasResult = members["userMessage"] != nil, members["toolResultContains"] != nil
	if is.endpoint != "" && is.endpoint != "chat" {
		c.errorf("endpoint: the fixture is omitted: no dialect has an equivalent of %q", is.endpoint)
	}
	if c.failed {
		return nil, false
	}
	return c.conditions(is), is.sequence != nil && c.isNextInSequence(members, *is.sequence)
}

// conditions returns the conditions of a rule for a match object with the members m. If the members
// contradict each other, conditions records an error in c, and the result must not be used.
func (c *fixtureConverter) conditions(m aimockMatch) (conditions scriptObject) {
	result := c.toolResultCondition(m)
	tool := len(result) > 0 || m.toolResult != nil && *m.toolResult
	switch {
	case len(result) > 0 && m.toolResult != nil && !*m.toolResult:
		c.errorf("the fixture never matches: toolCallId and toolResultContains contradict hasToolResult: false")
	case len(result) > 0:
		conditions.set("tool-result", result)
	case tool:
		conditions.set("last", "tool")
	case m.toolResult != nil:
		conditions.set("last", "user")
	case m.hasUser && !c.userMessageWarned:
		c.userMessageWarned = true
		c.warnf("userMessage without hasToolResult also matched requests with a tool result; " +
			"this rule, and others like it, match only if the user spoke last: add a rule with tool-result if needed")
	}
	if m.hasUser {
		if m.user != "" {
			conditions.set("text", scriptObject{{"contains", m.user}})
		} else if !tool && m.toolResult == nil {
			conditions.set("last", "user")
		}
	}
	if m.turn != nil {
		if tool {
			c.warnf("turnIndex is ignored: it counts assistant messages, and the rule is for a tool result")
		} else {
			c.warnf("turnIndex %v becomes turn %v: scripts count user messages from 1, not assistant messages from 0",
				*m.turn, *m.turn+1)
			conditions.set("turn", *m.turn+1)
		}
	}
	if m.toolName != "" {
		conditions.set("offers", m.toolName)
	}
	if m.context != "" {
		conditions.set("header", scriptObject{{"X-AIMock-Context", m.context}})
	}
	return conditions
}

// toolResultCondition returns the condition on a tool result for m.toolCallID and m.resultText, or
// nil if the match object has neither. The mock chooses its own ids for tool calls. If the name of
// the called tool is known, the condition therefore requires the name instead of the id, or one of
// the names if the file has calls of several tools with the id.
func (c *fixtureConverter) toolResultCondition(m aimockMatch) (o scriptObject) {
	if m.toolCallID != "" {
		switch tools := c.toolsByCallID[m.toolCallID]; len(tools) {
		case 0:
			c.warnf("toolCallId %q does not occur in the file's toolCalls: the server chooses call ids, "+
				"so the rule may never match; use the name of the tool instead", m.toolCallID)
			o.set("call", m.toolCallID)
		case 1:
			o.set("name", tools[0])
		default:
			var patterns []string
			for _, tool := range tools {
				patterns = append(patterns, regexp.QuoteMeta(tool))
			}
			o.set("name", scriptObject{{"matches", "^(?:" + strings.Join(patterns, "|") + ")$"}})
		}
	}
	if m.hasResult {
		o.set("text", scriptObject{{"contains", m.resultText}})
	}
	return o
}

// isNextInSequence reports whether index, the sequenceIndex of a match object, is the next index of
// its sequence; otherwise it records an error. A sequence consists of the fixtures whose match
// objects are equal except for sequenceIndex. Their indexes must be 0, 1, 2 and so on in the order
// of the file, because the rules of a script are tried in that order.
//
// The argument members holds the members of the match object. isNextInSequence deletes
// sequenceIndex from it.
func (c *fixtureConverter) isNextInSequence(members map[string]json.RawMessage, index int) bool {
	delete(members, "sequenceIndex")
	key := compactJSON(members)
	if want := c.nextIndex[key]; index != want {
		c.errorf("sequenceIndex %d: the fixture is omitted: want %d, the next index among fixtures with the same match; "+
			"put them in order, from 0", index, want)
		return false
	}
	c.nextIndex[key]++
	return true
}
