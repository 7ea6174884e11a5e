package script

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/internal/pace"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
)

// A renderedStep is a step of a reply in which each template has been replaced by its result.
type renderedStep struct {
	name     string // the kind of step
	text     string // the text of the step, the payload of an interrupt, or a whole raw frame
	code     string // the code of an error
	calls    []renderedCall
	children []renderedStep // the parts of a message
	wait     time.Duration
}

// A renderedCall is a tool call in which each template has been replaced by its result.
type renderedCall struct {
	name, arguments, result string
	hasResult               bool // the server runs the tool; if false, the client does
}

// renderSteps executes the templates of the steps with the data in v and returns the rendered
// steps. If a template fails, v.err is the error, and at points to the element of steps that
// contains the template. Otherwise, at is nil.
func renderSteps(steps []step, v *templateData) (all []renderedStep, at *step) {
	for i := range steps {
		b := steps[i].render(v)
		if v.err != nil {
			return nil, &steps[i]
		}
		all = append(all, b)
	}
	return all, nil
}

// render executes the templates of the step with the data in v and returns the rendered step. If a
// template fails, render sets v.err and executes no further templates.
func (s *step) render(v *templateData) renderedStep {
	b := renderedStep{name: s.name, wait: s.wait, text: v.render(s.text), code: v.render(s.code)}
	if s.data != nil && v.err == nil {
		b.text, v.err = s.data.renderJSON(v)
		if s.name == "raw" {
			b.text = "data: " + b.text
		}
	}
	if s.name == "raw" {
		b.text = strings.TrimRight(b.text, "\r\n") + "\n\n"
	}
	for _, c := range s.calls {
		m := renderedCall{name: v.render(c.name), arguments: v.render(c.arguments), hasResult: c.result != nil}
		if m.hasResult {
			m.result = v.render(c.result)
		}
		b.calls = append(b.calls, m)
	}
	b.children, _ = renderSteps(s.children, v)
	return b
}

// renderReply returns the reply of the rule to the request in p. Templates in the reply use the
// capture groups and the tool result that [Rule.match] stored in p. If a template fails, the reply
// is a refusal with status 500. If the rule has neither steps nor a status, the reply has neither
// an agent nor a refusal.
func (r *Rule) renderReply(p *matchContext) Reply {
	reply := Reply{Pace: r.Pace.Pace, Faults: r.Faults}
	switch {
	case r.Status != nil:
		reply.Refusal = r.Status.renderRefusal(r, p)
	case r.Reply != nil:
		v := newTemplateData(p)
		steps, at := renderSteps(r.Reply, v)
		if at != nil {
			reply.Refusal = renderFailure(r, positionOf(at.node).line, at.name, v.err)
			return reply
		}
		st := p.state
		reply.Agent = func(chunk pace.ChunkSize, pause func(time.Duration)) reference.Agent {
			return reference.NewAgent(func(_ context.Context, _ reference.Turn, e *reference.EventEmitter) {
				(&replyPlayer{e, chunk, pause, st}).playSteps(steps)
			})
		}
	}
	return reply
}

// renderFailure returns a refusal with status 500 for a template of rule r that failed with err.
// The argument key is the key in the rule, such as "text" or "status", whose value contains the
// template, and line is the line of that value in the rule's file. The message of the refusal
// contains line, key and the text of err.
func renderFailure(r *Rule, line int, key string, err error) *fault.CannedResponse {
	return &fault.CannedResponse{
		Status:  http.StatusInternalServerError,
		Message: fmt.Sprintf("%s:%d: %s: %s: %v", r.File, line, r.displayName(), key, err),
	}
}

// renderRefusal executes the templates of s, the error status of rule r, for the request in p, and
// returns the resulting response. If a template fails, the response has status 500.
func (s *statusReply) renderRefusal(r *Rule, p *matchContext) *fault.CannedResponse {
	v := newTemplateData(p)
	text, code := v.render(s.Text), v.render(s.Problem)
	if v.err != nil {
		return renderFailure(r, r.Line, "status", v.err)
	}
	return &fault.CannedResponse{Status: s.Code, Code: code, Message: text, RetryAfter: time.Duration(s.RetryAfter)}
}

// A replyPlayer emits the events of one scripted reply.
type replyPlayer struct {
	*reference.EventEmitter
	chunk pace.ChunkSize      // the size of the pieces into which texts are split
	pause func(time.Duration) // called for each "wait" step; must wait for the given time
	state *State              // stores the names of the tools that the client runs
}

func (p *replyPlayer) playSteps(steps []renderedStep) {
	for i := range steps {
		if p.Stopped() {
			return
		}
		p.playStep(&steps[i])
	}
}

func (p *replyPlayer) playStep(b *renderedStep) {
	switch b.name {
	case "wait":
		p.pause(b.wait)
	case "error":
		p.Fail(b.text, b.code)
	case "text", "image":
		p.playMessage([]renderedStep{*b})
	case "message":
		p.playMessage(b.children)
	case "reasoning":
		id := p.NewMessageID()
		p.Emit(spec.Event{Kind: spec.ReasoningStart, Message: id})
		p.emitDeltas(spec.ReasoningDelta, id, b.text)
		p.Emit(spec.Event{Kind: spec.ReasoningEnd, Message: id})
	case "tool", "tools", "client-tool":
		p.playToolCalls(b.calls)
	case "interrupt":
		id := p.NewInterruptID()
		p.Emit(spec.Event{Kind: spec.Interrupt, ID: id, Text: compactJSON(b.text)})
	case "raw":
		p.Emit(spec.Event{Kind: spec.Undecodable, Raw: []byte(b.text)})
	}
}

// compactJSON removes insignificant white space from text if it is JSON. It returns any other text
// unchanged.
func compactJSON(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

func (p *replyPlayer) playMessage(inner []renderedStep) {
	id := p.NewMessageID()
	p.Emit(spec.Event{Kind: spec.MessageStart, Message: id})
	for _, b := range inner {
		switch b.name {
		case "text":
			p.emitDeltas(spec.MessageDelta, id, b.text)
		case "image":
			p.Emit(spec.Event{Kind: spec.ContentEnd, Message: id, Type: "image", Text: b.text})
		case "wait":
			p.pause(b.wait)
		case "error":
			p.Fail(b.text, b.code)
		}
	}
	p.Emit(spec.Event{Kind: spec.MessageEnd, Message: id})
}

// emitDeltas splits text into the pieces that p.chunk specifies, and emits each piece as an event
// of kind k for the message with the given id. It returns early if the emitter has stopped.
func (p *replyPlayer) emitDeltas(k spec.Kind, id, text string) {
	for _, piece := range pace.Split(text, p.chunk) {
		if p.Stopped() {
			return
		}
		p.Emit(spec.Event{Kind: k, Message: id, Text: piece})
	}
}

// playToolCalls emits the events of tool calls that are open at the same time: first the starts of
// all calls, then the arguments and the end of each call, and finally the results of the calls that
// the server runs.
func (p *replyPlayer) playToolCalls(calls []renderedCall) {
	ids := make([]string, len(calls))
	for i, c := range calls {
		ids[i] = p.NewCallID()
		if !c.hasResult {
			p.state.recordCall(ids[i], c.name)
		}
		p.Emit(spec.Event{Kind: spec.ToolStart, Message: p.NewMessageID(), Call: ids[i], Name: c.name})
	}
	for i, c := range calls {
		for _, piece := range pace.Split(c.arguments, p.chunk) {
			p.Emit(spec.Event{Kind: spec.ToolDelta, Call: ids[i], Text: piece})
		}
		p.Emit(spec.Event{Kind: spec.ToolEnd, Call: ids[i]})
	}
	for i, c := range calls {
		if c.hasResult {
			id := p.NewMessageID()
			p.Emit(spec.Event{Kind: spec.ToolResult, Message: id, Call: ids[i], Name: c.name, Text: c.result})
		}
	}
}
