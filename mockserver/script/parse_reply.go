package script

import (
	"maps"
	"slices"
	"time"

	"github.com/streamassay/streamassay/internal/near"
	"github.com/streamassay/streamassay/spec"
)

// What a reply may have at most.
const (
	maxSteps     = 10_000
	maxToolCalls = 100
)

// A step is one thing that a reply does.
type step struct {
	node     *yamlNode
	name     string        // what the script calls it
	kind     spec.Kind     // what a dialect must have a word for to say it; "" is none
	text     textTemplate  // what is said; of an image, its address
	code     textTemplate  // of an error
	calls    []call        // all open at once
	data     valueTemplate // of an interrupt
	children []step        // of a message
	wait     time.Duration
}

// A call is one of a tool. A call without a result is left to the client.
type call struct {
	name      textTemplate
	arguments valueTemplate
	result    *valueTemplate
}

// parseSteps are the words of a reply.
func (r *scriptParser) parseSteps(n *yamlNode) (all []step) {
	if n.kind == scalarNode && n.value != nil { // one text is the commonest reply
		return []step{{node: n, name: "text", kind: spec.MessageDelta, text: r.parseTemplate(n, "reply")}}
	}
	r.parseList(n, "reply", func(i int, n *yamlNode) {
		if i == maxSteps {
			r.errorf(n, "a reply has %d steps at most", maxSteps)
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

// A stepDecoder reads what a step does.
type stepDecoder func(n *yamlNode, s *step)

// stepDecoders are the words of replies.
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

// parseStep reads one step: an object of one word.
func (r *scriptParser) parseStep(n *yamlNode, known map[string]stepDecoder) (s step, ok bool) {
	names := slices.Sorted(maps.Keys(known))
	if n.kind != objectNode || len(n.members) != 1 {
		r.errorf(n, "a step is an object of one of %s; this is %s", joinNames(names), n.describeMembers())
		return s, false
	}
	m := n.members[0]
	do := known[m.key]
	if do == nil {
		r.errorf(m.keyNode, "there is no step %s%s", quoteTruncated(m.key), near.Suggest(m.key, names))
		return s, false
	}
	s = step{node: m.keyNode, name: m.key}
	do(m.value, &s)
	return s, true
}

// describeMembers says what a node is; of an object, what it has.
func (n *yamlNode) describeMembers() string {
	if n.kind != objectNode || len(n.members) == 0 {
		return n.describe()
	}
	var names []string
	for _, m := range n.members[:min(len(n.members), 5)] {
		names = append(names, truncate(m.key, 20))
	}
	return "an object of " + joinNames(names)
}

// parseRaw reads a frame that is spelled already: its lines, or an object that is its data.
func (r *scriptParser) parseRaw(n *yamlNode, s *step) {
	s.kind = spec.Undecodable
	if n.kind == scalarNode {
		s.text = r.parseTemplate(n, "raw")
		return
	}
	s.data = r.parseValue(n)
}

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

// parseMessage reads what stands together in one message. An error in it leaves it open.
func (r *scriptParser) parseMessage(n *yamlNode, s *step) {
	s.kind = spec.MessageDelta
	all := r.stepDecoders()
	within := map[string]stepDecoder{"text": all["text"], "image": all["image"], "wait": all["wait"], "error": all["error"]}
	r.parseList(n, "message", func(i int, n *yamlNode) {
		if inner, ok := r.parseStep(n, within); ok && i < maxSteps {
			s.children = append(s.children, inner)
		}
	})
	if n.kind == listNode && len(n.items) == 0 {
		r.errorf(n, "message is empty: name what it says")
	}
	r.checkStepOrder(s.children)
}

// Whether a call has a result.
type resultMode int

const (
	resultRequired  resultMode = iota // the server runs the tool
	resultForbidden                   // the client does
)

func (r *scriptParser) parseTools(n *yamlNode, s *step) {
	s.kind = spec.ToolStart
	r.parseList(n, "tools", func(i int, n *yamlNode) {
		if i == maxToolCalls {
			r.errorf(n, "a step has %d calls at most", maxToolCalls)
		}
		if i < maxToolCalls {
			s.calls = append(s.calls, r.parseCall(n, "tools", resultRequired))
		}
	})
	if n.kind == listNode && len(n.items) == 0 {
		r.errorf(n, "tools is empty: name the calls")
	}
}

func (r *scriptParser) parseCall(n *yamlNode, what string, rule resultMode) (c call) {
	r.parseObject(n, what, memberParsers{
		"name":      func(n *yamlNode) { c.name = r.parseTemplate(n, what+": name") },
		"arguments": func(n *yamlNode) { c.arguments = r.parseValue(n) },
		"result": func(n *yamlNode) {
			if rule == resultForbidden {
				r.errorf(n, "client-tool has no result: its client brings it in the next request; write a rule with tool-result for that, or tool for a tool of the server")
			}
			v := r.parseValue(n)
			c.result = &v
		},
	})
	switch {
	case n.kind != objectNode:
	case n.get("name") == nil:
		r.errorf(n, "%s has no name", what)
	case c.name.text == "":
		r.errorf(n.get("name"), "%s: name is empty", what)
	}
	if rule == resultRequired && n.kind == objectNode && n.get("result") == nil {
		r.errorf(n, "%s %s has no result: say what it gives, or write client-tool for a tool of the client", what, quoteTruncated(c.name.text))
	}
	if c.arguments.node == nil {
		c.arguments = valueTemplate{node: n, empty: true}
	}
	return c
}

// checkStepOrder says which orders of steps are impossible.
func (r *scriptParser) checkStepOrder(all []step) {
	after := ""
	for _, s := range all {
		switch {
		case after == "error":
			r.errorf(s.node, "%s comes after error, which ends the run: put it before, or leave it out", s.name)
			return
		case after == "interrupt" && s.name != "raw" && s.name != "wait":
			r.errorf(s.node, "%s comes after interrupt, which hands over to the client: answer its resume with a rule of its own", s.name)
			return
		case after == "client-tool" && s.name != "raw" && s.name != "wait" && s.name != "client-tool":
			r.errorf(s.node, "%s comes after client-tool, whose result the server does not have yet: answer it with a rule that has tool-result", s.name)
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
