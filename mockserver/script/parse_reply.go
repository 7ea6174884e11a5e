package script

import (
	"maps"
	"slices"
	"time"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/spec"
)

// The maximum numbers of steps in a reply, and of tool calls in one step.
const (
	maxSteps     = 10_000
	maxToolCalls = 100
)

// A step is one element of a scripted reply, such as a text, a tool call or a pause.
type step struct {
	node     *yamlNode
	name     string        // the kind of step, as the script names it
	kind     spec.Kind     // the kind of event that a dialect must support; "" if none
	text     textTemplate  // the text; for an image, its URL
	code     textTemplate  // the code of an error
	calls    []call        // tool calls, all open at once
	data     valueTemplate // the payload of an interrupt
	children []step        // the parts of a message
	wait     time.Duration
}

// A call is a tool call in a scripted reply. If result is nil, the client runs the tool and sends
// the result in its next request.
type call struct {
	name      textTemplate
	arguments valueTemplate
	result    *valueTemplate
}

// parseSteps returns the steps of a reply. n is a list of steps, or a text, which stands for a
// single text step. Invalid steps are recorded as errors and left out.
func (r *scriptParser) parseSteps(n *yamlNode) (all []step) {
	if n.kind == scalarNode && n.value != nil {
		return []step{{node: n, name: "text", kind: spec.MessageDelta, text: r.parseTemplate(n, "reply")}}
	}
	r.parseList(n, "reply", func(i int, n *yamlNode) {
		if i == maxSteps {
			r.errorf(n, "a reply has at most %d steps", maxSteps)
		}
		if i >= maxSteps {
			return
		}
		if s, ok := r.parseStep(n, r.stepDecoders()); ok {
			all = append(all, s)
		}
	})
	r.checkStepOrder(all)
	return all
}

// A stepDecoder parses n, the value of one kind of step, and stores the result in s.
type stepDecoder func(n *yamlNode, s *step)

// stepDecoders returns the decoder of each kind of step, keyed by the name that scripts use for
// that kind.
func (r *scriptParser) stepDecoders() map[string]stepDecoder {
	return map[string]stepDecoder{
		"text":      func(n *yamlNode, s *step) { s.kind, s.text = spec.MessageDelta, r.parseTemplate(n, "text") },
		"reasoning": func(n *yamlNode, s *step) { s.kind, s.text = spec.ReasoningStart, r.parseTemplate(n, "reasoning") },
		"image":     func(n *yamlNode, s *step) { s.kind, s.text = spec.ContentEnd, r.parseTemplate(n, "image") },
		"wait":      func(n *yamlNode, s *step) { s.wait = r.parseDuration(n, "wait") },
		"raw":       r.parseRaw,
		"error":     r.parseError,
		"interrupt": func(n *yamlNode, s *step) { s.kind, s.data = spec.Interrupt, r.parseValue(n) },
		"message":   r.parseMessage,
		"tool": func(n *yamlNode, s *step) {
			s.kind, s.calls = spec.ToolStart, []call{r.parseCall(n, "tool", resultRequired)}
		},
		"tools": r.parseTools,
		"client-tool": func(n *yamlNode, s *step) {
			s.kind, s.calls = spec.ToolStart, []call{r.parseCall(n, "client-tool", resultForbidden)}
		},
	}
}

// parseStep returns the step in n, an object whose only key names the kind of step. known holds the
// decoders of the permitted kinds. If n has another form or its key is not in known, parseStep
// records an error and ok is false.
func (r *scriptParser) parseStep(n *yamlNode, known map[string]stepDecoder) (s step, ok bool) {
	names := slices.Sorted(maps.Keys(known))
	if n.kind != objectNode || len(n.members) != 1 {
		r.errorf(n, "a step must be an object with exactly one of %s, got %s", joinNames(names), n.describeMembers())
		return s, false
	}
	m := n.members[0]
	do := known[m.key]
	if do == nil {
		r.errorf(m.keyNode, "unknown step %s%s", quoteTruncated(m.key), near.Suggest(m.key, names))
		return s, false
	}
	s = step{node: m.keyNode, name: m.key}
	do(m.value, &s)
	return s, true
}

// describeMembers returns a short description of a node for messages. Unlike describe, it names the
// first keys of an object.
func (n *yamlNode) describeMembers() string {
	if n.kind != objectNode || len(n.members) == 0 {
		return n.describe()
	}
	var names []string
	for _, m := range n.members[:min(len(n.members), 5)] {
		names = append(names, truncate(m.key, 20))
	}
	return "an object with " + joinNames(names)
}

// parseRaw parses a raw frame, which is sent as written, into s. n is the text of the frame's
// lines, or an object or list that becomes the data of the frame.
func (r *scriptParser) parseRaw(n *yamlNode, s *step) {
	s.kind = spec.Undecodable
	if n.kind == scalarNode {
		s.text = r.parseTemplate(n, "raw")
		return
	}
	s.data = r.parseValue(n)
}

// parseError parses an error step, which fails the run, into s. n is the text of the error, or an
// object with text and code.
func (r *scriptParser) parseError(n *yamlNode, s *step) {
	s.kind = spec.RunError
	if n.kind != objectNode {
		s.text = r.parseTemplate(n, "error")
		return
	}
	r.parseObject(n, "error", memberParsers{
		"text": func(n *yamlNode) { s.text = r.parseTemplate(n, "error: text") },
		"code": func(n *yamlNode) { s.code = r.parseTemplate(n, "error: code") },
	})
}

// parseMessage parses a message step into s. n is a list of texts, images and pauses, which form
// one message. The list may end with an error, which fails the run while the message is still open.
func (r *scriptParser) parseMessage(n *yamlNode, s *step) {
	s.kind = spec.MessageDelta
	all := r.stepDecoders()
	within := map[string]stepDecoder{
		"text": all["text"], "image": all["image"], "wait": all["wait"], "error": all["error"],
	}
	r.parseList(n, "message", func(i int, n *yamlNode) {
		if inner, ok := r.parseStep(n, within); ok && i < maxSteps {
			s.children = append(s.children, inner)
		}
	})
	if n.kind == listNode && len(n.items) == 0 {
		r.errorf(n, "message must not be empty: add text or image")
	}
	r.checkStepOrder(s.children)
}

// A resultMode determines whether a tool call in a script must have a result or must not have one.
type resultMode int

const (
	resultRequired  resultMode = iota // the server runs the tool
	resultForbidden                   // the client runs the tool
)

// parseTools parses a step that makes several tool calls at the same time into s. n is a list of
// calls with their results.
func (r *scriptParser) parseTools(n *yamlNode, s *step) {
	s.kind = spec.ToolStart
	r.parseList(n, "tools", func(i int, n *yamlNode) {
		if i == maxToolCalls {
			r.errorf(n, "tools has at most %d calls", maxToolCalls)
		}
		if i < maxToolCalls {
			s.calls = append(s.calls, r.parseCall(n, "tools", resultRequired))
		}
	})
	if n.kind == listNode && len(n.items) == 0 {
		r.errorf(n, "tools must not be empty: add a call")
	}
}

// parseCall returns the tool call in n, an object with name, arguments and result. The parameter
// rule determines whether the result is required or forbidden. Errors are added to the problems of
// the file. The parameter what names the step in messages.
func (r *scriptParser) parseCall(n *yamlNode, what string, rule resultMode) (c call) {
	r.parseObject(n, what, memberParsers{
		"name":      func(n *yamlNode) { c.name = r.parseTemplate(n, what+": name") },
		"arguments": func(n *yamlNode) { c.arguments = r.parseValue(n) },
		"result": func(n *yamlNode) {
			if rule == resultForbidden {
				r.errorf(n, "client-tool takes no result, because the client sends it in its next request: "+
					"match that with tool-result in another rule, or write tool for a tool of the server")
			}
			v := r.parseValue(n)
			c.result = &v
		},
	})
	switch {
	case n.kind != objectNode:
	case n.get("name") == nil:
		r.errorf(n, "%s needs a name", what)
	case c.name.text == "":
		r.errorf(n.get("name"), "%s: name must not be empty", what)
	}
	if rule == resultRequired && n.kind == objectNode && n.get("result") == nil {
		r.errorf(n, "%s %s needs a result; for a tool that the client runs, write client-tool",
			what, quoteTruncated(c.name.text))
	}
	if c.arguments.node == nil {
		c.arguments = valueTemplate{node: n, empty: true}
	}
	return c
}

// checkStepOrder records an error for the first step that cannot follow the steps before it, such
// as a text after an error, which ends the run.
func (r *scriptParser) checkStepOrder(all []step) {
	after := ""
	for _, s := range all {
		switch {
		case after == "error":
			r.errorf(s.node, "%s cannot follow error, which ends the run: move it before the error or remove it", s.name)
			return
		case after == "interrupt" && s.name != "raw" && s.name != "wait":
			r.errorf(s.node, "%s cannot follow interrupt, which ends the run until the client resumes it: "+
				"reply to that in another rule with resume", s.name)
			return
		case after == "client-tool" && s.name != "raw" && s.name != "wait" && s.name != "client-tool":
			r.errorf(s.node, "%s cannot follow client-tool, which ends the run until the client sends the result: "+
				"reply to that in another rule with tool-result", s.name)
			return
		}
		if n := len(s.children); n > 0 && s.children[n-1].name == "error" {
			after = "error"
		}
		if s.name == "error" || s.name == "interrupt" || s.name == "client-tool" {
			after = s.name
		}
	}
}
