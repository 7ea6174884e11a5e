package script

import (
	"context"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/streamassay/streamassay/internal/yamltree"
	"github.com/streamassay/streamassay/spec"
)

// A step is one element of a scripted reply, such as a text, a tool call or a pause.
type step struct {
	node         ast.Node       // the node of the step in the script
	name         string         // the kind of step, as the script names it
	text         textTemplate   // the text; for an image, its URL
	code         textTemplate   // the code of an error
	calls        []toolCall     // the tool calls, all of which start before the first one ends
	data         *valueTemplate // the payload of an interrupt or the data of a raw frame
	children     stepList       // the parts of a message
	wait         time.Duration  // the length of the pause of a "wait" step
	hasTemplates bool           // the step, one of its calls or one of its parts contains a template
}

// A toolCall is a tool call in a scripted reply.
type toolCall struct {
	name      textTemplate   // name of the tool
	arguments *valueTemplate // nil means {}
	result    *valueTemplate // nil means that the client runs the tool and sends the result in its next request
}

// stepKinds maps each kind of step to the kind of event that a dialect needs to express the step.
// All dialects can express the steps "raw" and "wait".
var stepKinds = map[string]spec.Kind{
	"text": spec.MessageDelta, "reasoning": spec.ReasoningStart, "image": spec.ContentEnd, "message": spec.MessageDelta,
	"tool": spec.ToolStart, "tools": spec.ToolStart, "client-tool": spec.ToolStart,
	"interrupt": spec.Interrupt, "error": spec.RunError, "raw": spec.Undecodable, "wait": "",
}

// A stepList is a list of steps. In a script, a single step may replace a list of one step.
type stepList []step

// UnmarshalYAML implements the NodeUnmarshalerContext interface of goccy/go-yaml. The schema of
// scripts guarantees that n is a step or a list of steps. If a step is invalid, or cannot follow
// the steps before it, UnmarshalYAML adds an error to the problems of the decoder. The returned
// error is always nil.
func (all *stepList) UnmarshalYAML(ctx context.Context, n ast.Node) error {
	d := decoderOf(ctx)
	*all = stepList{}
	for _, item := range itemsOf(n) {
		*all = append(*all, d.decodeStep(item))
	}
	d.checkStepOrder(*all)
	return nil
}

// decodeStep returns the step in n, which is a text or an object whose only key names the kind of
// step. If the step is invalid, decodeStep adds an error to d.problems and returns what it could
// decode.
func (d *decoder) decodeStep(n ast.Node) (s step) {
	key, value := "text", n
	if all := yamltree.Fields(n); all != nil {
		key, value = scalarText(all[0].Key), all[0].Value
	}
	s.node, s.name = n, key
	before := len(d.templates)
	isObject, isList := value.Type() == ast.MappingType, value.Type() == ast.SequenceType
	switch {
	case key == "wait":
		d.decode(value, (*durationValue)(&s.wait))
	case key == "message":
		d.decode(value, &s.children)
	case key == "tools":
		for _, item := range itemsOf(value) {
			s.calls = append(s.calls, d.decodeCall(item))
		}
	case key == "tool", key == "client-tool":
		s.calls = []toolCall{d.decodeCall(value)}
	case key == "interrupt", key == "raw" && (isObject || isList):
		s.data = d.compileValue(value)
	case key == "error" && isObject:
		e := struct{ Text, Code textTemplate }{}
		d.decode(value, &e)
		s.text, s.code = e.Text, e.Code
	default:
		d.decode(value, &s.text)
	}
	s.hasTemplates = len(d.templates) > before
	return s
}

// decodeCall returns the tool call in n, an object with the members name, arguments and result. If
// the call is invalid, decodeCall adds an error to d.problems and returns what it could decode.
func (d *decoder) decodeCall(n ast.Node) (c toolCall) {
	for _, m := range yamltree.Fields(n) {
		switch scalarText(m.Key) {
		case "name":
			d.decode(m.Value, &c.name)
		case "arguments":
			c.arguments = d.compileValue(m.Value)
		case "result":
			c.result = d.compileValue(m.Value)
		}
	}
	return c
}

// checkStepOrder adds an error to d.problems for the first step in all that cannot follow the steps
// before it. For example, a text cannot follow an error, because an error ends the run.
func (d *decoder) checkStepOrder(all []step) {
	after := ""
	for _, s := range all {
		why := ""
		switch {
		case after == "error":
			why = "which ends the run: move it before the error or remove it"
		case s.name == "raw" || s.name == "wait":
		case after == "interrupt":
			why = "which ends the run until the client resumes it: reply to that in another rule with resume"
		case after == "client-tool" && s.name != "client-tool":
			why = "which ends the run until the client sends the result: reply to that in another rule with tool-result"
		}
		if why != "" {
			d.errorf(s.node, "%s cannot follow %s, %s", s.name, after, why)
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
