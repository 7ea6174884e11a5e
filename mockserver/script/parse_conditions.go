package script

import (
	"github.com/streamassay/streamassay/reference"
)

// runOperation is the operation that starts a run. A rule that names no operation applies to it.
const runOperation = "run"

// parseConditions returns the conditions of a rule, which are the members of n, the value of its
// key "when". Errors are added to the problems of the file.
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

// inferLast sets the condition "last", which is the required kind of the last input of a request,
// if the rule leaves it out. A condition on a tool result or on the answer to an interrupt implies
// that this is the last input. A condition on the user's text or turn implies that the user spoke
// last; otherwise the rule would also match the next request, which brings a tool result.
// Conditions that exclude each other are recorded as errors. n is the value of the key "when".
func (r *scriptParser) inferLast(n *yamlNode, c *conditions) {
	if c.toolResult != nil && c.resume != nil {
		r.errorf(n, "tool-result and resume exclude each other: remove one")
	}
	need := ""
	switch {
	case c.toolResult != nil:
		need = lastTool
	case c.resume != nil:
		need = lastResume
	}
	if need != "" && c.hasLast && c.lastInput != need {
		r.errorf(n.get("last"), "last is %s, but the other conditions of the rule need %s", c.lastInput, need)
	}
	switch {
	case c.hasLast:
	case need != "":
		c.lastInput = need
	case c.text != nil || c.turn != nil:
		c.lastInput = lastUser
	}
}

// parseOperations returns the operations to which a rule applies. n is the name of one operation or
// a non-empty list of names. Unknown names and an empty list are recorded as errors.
func (r *scriptParser) parseOperations(n *yamlNode) (all []string) {
	if n.kind != listNode {
		return []string{r.parseEnum(n, "operation", operationNames())}
	}
	if len(n.items) == 0 {
		r.errorf(n, "operation must not be an empty list: leave it out or add an operation")
	}
	for _, item := range n.items {
		all = append(all, r.parseEnum(item, "operation", operationNames()))
	}
	return all
}

// operationNames returns the names of all operations to which a rule can apply.
func operationNames() (all []string) {
	for _, operation := range reference.OperationKinds {
		if operation != "" {
			all = append(all, operation)
		}
	}
	return all
}

// parseToolResult returns the condition on the result of a tool that the client ran. n is an object
// with conditions on the name of the tool, the id of the call and the text of the result. Errors
// are added to the problems of the file.
func (r *scriptParser) parseToolResult(n *yamlNode) *toolResultMatcher {
	var t toolResultMatcher
	r.parseObject(n, "tool-result", memberParsers{
		"name": func(n *yamlNode) { t.name = r.parseTextMatcher(n, "tool-result: name") },
		"call": func(n *yamlNode) { t.call = r.parseTextMatcher(n, "tool-result: call") },
		"text": func(n *yamlNode) { t.text = r.parseTextMatcher(n, "tool-result: text") },
	})
	return &t
}

// parseHeaders returns the conditions on header fields in n, an object that maps the names of
// fields to conditions on their values. If n is not an object, parseHeaders records an error and
// returns nil.
func (r *scriptParser) parseHeaders(n *yamlNode) (all []headerMatcher) {
	if n.kind != objectNode {
		r.errorf(n, "header must be an object of header names and conditions, got %s", n.describe())
		return nil
	}
	for _, m := range n.members {
		all = append(all, headerMatcher{m.key, r.parseTextMatcher(m.value, "header "+truncate(m.key, 40))})
	}
	return all
}

// parseBody returns the conditions on the request body in n, an object that maps JSON pointers to
// expected values. If an expected value is an object, parseBody parses it as a condition; any other
// value must be equal to the value at the pointer. Members whose key is not a JSON pointer are
// recorded as errors and left out.
func (r *scriptParser) parseBody(n *yamlNode) (all []bodyMatcher) {
	if n.kind != objectNode {
		r.errorf(n, "body must be an object of JSON pointers and expected values, got %s", n.describe())
		return nil
	}
	for _, m := range n.members {
		what := "body " + truncate(m.key, 60)
		if !isJSONPointer(m.key) {
			r.errorf(m.keyNode, "%s is not a JSON pointer (e.g. /messages/0/role)", quoteTruncated(m.key))
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

// parseJSONMatcher parses n, an object of conditions on a JSON value, into want. It accepts the
// keys of a condition on text, but the value of equals may be any JSON value. The parameter what
// names the condition in messages.
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

// parseJSON returns a pointer to the value of n as decoded JSON. If JSON cannot represent the
// value, it records an error and returns nil.
func (r *scriptParser) parseJSON(n *yamlNode) *any {
	text, err := encodeJSON(n.decode())
	if err != nil {
		r.errorf(n, "invalid value: %v", err)
		return nil
	}
	v := decodeJSON([]byte(text))
	return &v
}

// parseScenarioSteps returns the entries of n, an object that maps the name of each scenario to the
// name of one of its steps. If n is not an object, it records an error and returns nil. The
// parameter what names the object in messages.
func (r *scriptParser) parseScenarioSteps(n *yamlNode, what string) (all []scenarioStep) {
	if n.kind != objectNode {
		r.errorf(n, "%s must be an object of scenarios and their steps, got %s", what, n.describe())
		return nil
	}
	for _, m := range n.members {
		all = append(all, scenarioStep{m.key, r.parseName(m.value, what+" "+truncate(m.key, 40))})
	}
	return all
}
