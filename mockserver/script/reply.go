package script

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/mockserver/pace"
	"github.com/streamassay/streamassay/reference"
	"github.com/streamassay/streamassay/spec"
)

// A bar is a step as it is played: with its templates filled in.
type bar struct {
	word       string
	text, code string
	calls      []made
	inner      []bar
	wait       time.Duration
}

// made is a call as it is played.
type made struct {
	name, arguments, result string
	answered                bool
}

// score are the steps as they are played; ok is false where that depends on the request.
func (a *action) score() (all []bar, ok bool) {
	for _, s := range a.steps {
		if s.templated() {
			return nil, false
		}
	}
	v := viewOf(&probe{f: &Facts{Ask: &spec.Event{}}, st: NewState()})
	all, _, err := bars(a.steps, v)
	return all, err == nil
}

func (s *step) templated() bool {
	if s.text.tmpl != nil || s.code.tmpl != nil || s.data.templated() {
		return true
	}
	for _, c := range s.calls {
		if c.name.tmpl != nil || c.arguments.templated() || c.result != nil && c.result.templated() {
			return true
		}
	}
	for i := range s.inner {
		if s.inner[i].templated() {
			return true
		}
	}
	return false
}

func (v *value) templated() bool { return v.texts != nil || v.text.tmpl != nil }

// bars fill in steps for a request. At an error, at is the step that has it.
func bars(steps []step, v *view) (all []bar, at *step, err error) {
	for i := range steps {
		b, err := steps[i].bar(v)
		if err != nil {
			return nil, &steps[i], err
		}
		all = append(all, b)
	}
	return all, nil, nil
}

func (s *step) bar(v *view) (b bar, err error) {
	b.word, b.wait = s.word, s.wait
	if b.text, err = s.text.say(v); err != nil {
		return b, err
	}
	if b.code, err = s.code.say(v); err != nil {
		return b, err
	}
	if s.data.at != nil {
		if b.text, err = s.data.json(v); err != nil {
			return b, err
		}
		if s.word == "raw" {
			b.text = "data: " + b.text
		}
	}
	if s.word == "raw" {
		b.text = strings.TrimRight(b.text, "\r\n") + "\n\n"
	}
	for i := range s.calls {
		c, err := s.calls[i].made(v)
		if err != nil {
			return b, err
		}
		b.calls = append(b.calls, c)
	}
	b.inner, _, err = bars(s.inner, v)
	return b, err
}

func (c *call) made(v *view) (m made, err error) {
	if m.name, err = c.name.say(v); err != nil {
		return m, err
	}
	if m.arguments, err = c.arguments.say(v); err != nil || c.result == nil {
		return m, err
	}
	m.answered = true
	m.result, err = c.result.say(v)
	return m, err
}

// reply is what a rule answers with, for a request that it matched.
func (r *Rule) reply(p *probe) Reply {
	a := &r.does
	to := Reply{Pace: a.pace, Faults: a.faults}
	switch {
	case a.status != nil:
		to.Refuse = a.status.refusal(r, p)
	case a.plays:
		score := a.said
		if score == nil && len(a.steps) > 0 {
			var at *step
			var err error
			if score, at, err = bars(a.steps, viewOf(p)); err != nil {
				to.Refuse = broke(r, at.at, at.word, err)
				return to
			}
		}
		st := p.st
		to.cut = func(chunk pace.Chunk) func(context.Context, reference.Turn) iter.Seq[Beat] {
			return func(ctx context.Context, t reference.Turn) iter.Seq[Beat] {
				return func(yield func(Beat) bool) {
					play(score, &player{ctx: ctx, run: t.Run, chunk: chunk, st: st, yield: yield})
				}
			}
		}
		to = to.At(a.pace)
	}
	return to
}

// broke refuses a request whose reply cannot be made: whoever wrote the script has to see it.
func broke(r *Rule, at *node, what string, err error) *fault.Refusal {
	return &fault.Refusal{
		Status: http.StatusInternalServerError,
		Text:   fmt.Sprintf("%s:%d: %s: %s: %v", r.File, at.line, r.title(), what, err),
	}
}

func (s *status) refusal(r *Rule, p *probe) *fault.Refusal {
	v := viewOf(p)
	text, err := s.text.say(v)
	if err == nil {
		var code string
		if code, err = s.problem.say(v); err == nil {
			return &fault.Refusal{Status: s.code, Code: code, Text: text, RetryAfter: s.after}
		}
	}
	return broke(r, &node{line: r.Line}, "status", err)
}

// A player plays one run. Once nobody listens, or the context is done, it says nothing
// more.
type player struct {
	ctx   context.Context
	run   string
	chunk pace.Chunk
	st    *State
	yield func(Beat) bool

	over                        bool
	wait                        time.Duration
	messages, calls, interrupts int
}

func (p *player) say(e spec.Event) {
	if p.over = p.over || p.ctx.Err() != nil; p.over {
		return
	}
	p.over = !p.yield(Beat{Event: e, Wait: p.wait})
	p.wait = 0
}

// id names a thing of this run as no other run of the conversation does.
func (p *player) id(thing string, n *int) string {
	*n++
	return p.run + "-" + thing + strconv.Itoa(*n)
}

func play(score []bar, p *player) {
	p.say(spec.Event{Kind: spec.RunStart})
	for i := range score {
		if p.over {
			return
		}
		p.bar(&score[i])
	}
	p.say(spec.Event{Kind: spec.RunEnd})
}

func (p *player) bar(b *bar) {
	switch b.word {
	case "wait":
		p.wait += b.wait
	case "error":
		p.fail(b)
	case "text", "image":
		p.message([]bar{*b})
	case "message":
		p.message(b.inner)
	case "reasoning":
		id := p.id("m", &p.messages)
		p.say(spec.Event{Kind: spec.ReasoningStart, Message: id})
		p.deltas(spec.ReasoningDelta, id, b.text)
		p.say(spec.Event{Kind: spec.ReasoningEnd, Message: id})
	case "tool", "tools", "client-tool":
		p.invoke(b.calls)
	case "interrupt":
		p.say(spec.Event{Kind: spec.Interrupt, ID: p.id("i", &p.interrupts), Text: compact(b.text)})
	case "raw":
		p.say(spec.Event{Kind: spec.Undecodable, Raw: []byte(b.text)})
	}
}

// fail is the last that is said.
func (p *player) fail(b *bar) {
	p.say(spec.Event{Kind: spec.RunError, Text: b.text, Code: b.code})
	p.over = true
}

// compact is JSON without the spaces of a person.
func compact(text string) string {
	var v json.RawMessage
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	data, err := asJSON(v)
	if err != nil {
		return text
	}
	return data
}

func (p *player) message(inner []bar) {
	id := p.id("m", &p.messages)
	p.say(spec.Event{Kind: spec.MessageStart, Message: id})
	for _, b := range inner {
		switch b.word {
		case "text":
			p.deltas(spec.MessageDelta, id, b.text)
		case "image":
			p.say(spec.Event{Kind: spec.ContentEnd, Message: id, Type: "image", Text: b.text})
		case "wait":
			p.wait += b.wait
		case "error":
			p.fail(&b)
		}
	}
	p.say(spec.Event{Kind: spec.MessageEnd, Message: id})
}

func (p *player) deltas(k spec.Kind, id, text string) {
	for _, piece := range pace.Cut(text, p.chunk) {
		if p.over {
			return
		}
		p.say(spec.Event{Kind: k, Message: id, Text: piece})
	}
}

// invoke makes calls, all open at once, and tells what they gave.
func (p *player) invoke(calls []made) {
	ids := make([]string, len(calls))
	for i, c := range calls {
		ids[i] = p.id("c", &p.calls)
		if !c.answered {
			p.st.called(ids[i], c.name)
		}
		p.say(spec.Event{Kind: spec.ToolStart, Message: p.id("m", &p.messages), Call: ids[i], Name: c.name})
	}
	for i, c := range calls {
		for _, piece := range pace.Cut(c.arguments, p.chunk) {
			p.say(spec.Event{Kind: spec.ToolDelta, Call: ids[i], Text: piece})
		}
		p.say(spec.Event{Kind: spec.ToolEnd, Call: ids[i]})
	}
	for i, c := range calls {
		if c.answered {
			p.say(spec.Event{Kind: spec.ToolResult, Message: p.id("m", &p.messages), Call: ids[i], Name: c.name, Text: c.result})
		}
	}
}
