package script

import (
	"github.com/streamassay/streamassay/reference"
)

// runOperation is the operation that is meant where none is named.
const runOperation = "run"

// parseConditions read the when of a rule.
func (r *scriptParser) parseConditions(n *yamlNode) conditions {
	var c conditions
	r.parseObject(n, "when", memberParsers{
		"operation": func(n *yamlNode) { c.operations = r.parseOperations(n) },
		"text":      func(n *yamlNode) { c.text = r.parseTextMatcher(n, "text") },
		"turn":      func(n *yamlNode) { c.turn = r.parseRange(n, "turn") },
		"last": func(n *yamlNode) {
			c.lastInput = r.parseEnum(n, "last", []string{lastUser, lastTool, lastResume})
			c.hasLast = true
		},
		"resume":      func(n *yamlNode) { c.resume = r.parseTextMatcher(n, "resume") },
		"tool-result": func(n *yamlNode) { c.toolResult = r.parseToolResult(n) },
		"offers":      func(n *yamlNode) { c.offers = r.parseNames(n, "offers") },
		"thread":      func(n *yamlNode) { c.thread = r.parseTextMatcher(n, "thread") },
		"run":         func(n *yamlNode) { c.run = r.parseTextMatcher(n, "run") },
		"header":      func(n *yamlNode) { c.headers = r.parseHeaders(n) },
		"body":        func(n *yamlNode) { c.body = r.parseBody(n) },
		"state":       func(n *yamlNode) { c.scenarioSteps = r.parseScenarioSteps(n, "state") },
	})
	r.inferLast(n, &c)
	return c
}

// inferLast fills in what a rule means that does not say what is to be answered: who names the
// text of the user means a request in which the user has spoken, and not the one that
// brings a tool's result afterwards.
func (r *scriptParser) inferLast(n *yamlNode, c *conditions) {
	if c.toolResult != nil && c.resume != nil {
		r.errorf(n, "tool-result and resume cannot both be answered: leave one out")
	}
	need := ""
	switch {
	case c.toolResult != nil:
		need = lastTool
	case c.resume != nil:
		need = lastResume
	}
	if need != "" && c.hasLast && c.lastInput != need {
		r.errorf(n.get("last"), "last is %s, where the rule asks for what is only there if it is %s", c.lastInput, need)
	}
	switch {
	case c.hasLast:
	case need != "":
		c.lastInput = need
	case c.text != nil || c.turn != nil:
		c.lastInput = lastUser
	}
}

// parseOperations read what a request asks for.
func (r *scriptParser) parseOperations(n *yamlNode) (all []string) {
	if n.kind != listNode {
		return []string{r.parseEnum(n, "operation", operationNames())}
	}
	if len(n.items) == 0 {
		r.errorf(n, "operation is an empty list: leave it out, or name one")
	}
	for _, item := range n.items {
		all = append(all, r.parseEnum(item, "operation", operationNames()))
	}
	return all
}

// operationNames are the operations that a rule can be for.
func operationNames() (all []string) {
	for _, operation := range reference.OperationKinds {
		if operation != "" {
			all = append(all, operation)
		}
	}
	return all
}

func (r *scriptParser) parseToolResult(n *yamlNode) *toolResultMatcher {
	var t toolResultMatcher
	r.parseObject(n, "tool-result", memberParsers{
		"name": func(n *yamlNode) { t.name = r.parseTextMatcher(n, "tool-result: name") },
		"call": func(n *yamlNode) { t.call = r.parseTextMatcher(n, "tool-result: call") },
		"text": func(n *yamlNode) { t.text = r.parseTextMatcher(n, "tool-result: text") },
	})
	return &t
}

func (r *scriptParser) parseHeaders(n *yamlNode) (all []headerMatcher) {
	if n.kind != objectNode {
		r.errorf(n, "header is an object of names and what they must be; this is %s", n.describe())
		return nil
	}
	for _, m := range n.members {
		all = append(all, headerMatcher{m.key, r.parseTextMatcher(m.value, "header "+truncate(m.key, 40))})
	}
	return all
}

// parseBody reads what must stand at places of the body: an object that has only the words of a
// matcher is one, anything else is the value itself.
func (r *scriptParser) parseBody(n *yamlNode) (all []bodyMatcher) {
	if n.kind != objectNode {
		r.errorf(n, "body is an object of JSON pointers and what must stand there; this is %s", n.describe())
		return nil
	}
	for _, m := range n.members {
		what := "body " + truncate(m.key, 60)
		if !isJSONPointer(m.key) {
			r.errorf(m.keyNode, "%s is no JSON pointer, such as /messages/0/role", quoteTruncated(m.key))
			continue
		}
		want := bodyMatcher{pointer: m.key}
		if m.value.kind == objectNode {
			r.parseJSONMatcher(m.value, what, &want)
		} else {
			want.value = r.parseJSON(m.value)
		}
		all = append(all, want)
	}
	return all
}

// parseJSONMatcher reads a matcher of a JSON value; its equals may be any value.
func (r *scriptParser) parseJSONMatcher(n *yamlNode, what string, want *bodyMatcher) {
	rest := *n
	rest.members = nil
	for _, m := range n.members {
		if m.key == "equals" {
			want.value = r.parseJSON(m.value)
			continue
		}
		rest.members = append(rest.members, m)
	}
	if len(rest.members) > 0 || want.value == nil {
		want.matcher = r.parseTextMatcher(&rest, what)
	}
}

// parseJSON is a node as it would stand in a body.
func (r *scriptParser) parseJSON(n *yamlNode) *any {
	text, err := encodeJSON(n.decode())
	if err != nil {
		r.errorf(n, "this is no JSON: %v", err)
		return nil
	}
	v := decodeJSON([]byte(text))
	return &v
}

// parseScenarioSteps read steps of scenarios.
func (r *scriptParser) parseScenarioSteps(n *yamlNode, what string) (all []scenarioStep) {
	if n.kind != objectNode {
		r.errorf(n, "%s is an object of scenarios and their steps; this is %s", what, n.describe())
		return nil
	}
	for _, m := range n.members {
		all = append(all, scenarioStep{m.key, r.parseName(m.value, what+" "+truncate(m.key, 40))})
	}
	return all
}
