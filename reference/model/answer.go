package model

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/streamassay/streamassay/reference/state"
	"github.com/streamassay/streamassay/spec"
)

// An answer is what the model says once it is asked, told while it comes. Nothing
// is said between the start of a call and the end of all calls: what the model says
// there is told after them.
type answer struct {
	*run
	thing    string // what is under way: "message", "reasoning" or nothing
	id       string // of the message under way; "" is that nothing is told of it yet
	blank    string // what it begins with, as long as that is but space
	text     strings.Builder
	thought  strings.Builder
	thinking string // the member that thoughts come in
	calls    []*call
	at       map[int64]*call // by the index that the server gives, the latest
	late     []piece
	reason   string // why the model stopped
}

type piece struct{ thing, text string }

// A call is one of the model's. It is told from when it has a name.
type call struct {
	state.Call
	theirs string // the server's id
	text   strings.Builder
}

// ask asks the model, and tells its answer.
func (r *run) ask(said []words) (*answer, error) {
	w := r.dial()
	defer w.hangUp()
	frames, err := w.ask(r.params(said))
	if err != nil {
		return nil, err
	}
	a := &answer{run: r, at: map[int64]*call{}}
	for frames.Next() {
		data := frames.Event().Data
		if strings.HasPrefix(string(data[:min(len(data), len(done))]), done) {
			return a, a.end()
		}
		if err := a.hear(data); err != nil {
			return nil, err
		}
		if r.over {
			return nil, errLeft
		}
		if a.reason != "" {
			w.ending()
		}
	}
	if err := w.fault(frames.Err(), errCut); a.reason == "" || r.ctx.Err() != nil {
		return nil, err
	}
	return a, a.end()
}

const done = "[DONE]"

// hear takes a frame.
func (a *answer) hear(data []byte) error {
	if why, status, is := complained(data); is {
		if status >= 400 && status < 600 {
			return refusal(status, a.line(why))
		}
		return (&fault{codeFailed, "the model's server failed"}).because(a.line(why))
	}
	var chunk openai.ChatCompletionChunk
	if json.Unmarshal(data, &chunk) != nil {
		return errGarbage
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // it was not asked for
		}
		if err := a.delta(choice.Delta); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
	}
	return nil
}

func (a *answer) delta(d openai.ChatCompletionChunkChoiceDelta) error {
	for _, member := range []string{"reasoning_content", "reasoning"} { // some servers say it twice
		thought := text(json.RawMessage(d.JSON.ExtraFields[member].Raw()))
		if thought != "" {
			a.thinking = member
			a.thought.WriteString(thought)
			a.speak("reasoning", thought)
			break
		}
	}
	for _, words := range []string{d.Content, d.Refusal} {
		a.text.WriteString(words)
		a.speak("message", words)
	}
	for _, c := range d.ToolCalls {
		if err := a.call(c); err != nil {
			return err
		}
	}
	return nil
}

// mostBlank is how much space is kept back at the beginning of a message, in bytes:
// models say a few before they call a tool, and mean nothing.
const mostBlank = 256

// speak tells a piece of a message.
func (a *answer) speak(thing, text string) {
	switch {
	case text == "":
		return
	case len(a.at) > 0:
		a.late = append(a.late, piece{thing, text})
		return
	case a.thing != thing:
		a.close()
		a.thing = thing
	}
	if a.id == "" {
		text = a.blank + text
		if a.blank = ""; strings.TrimSpace(text) == "" && len(text) <= mostBlank {
			a.blank = text
			return
		}
		a.id = a.message()
		a.say(spec.Event{Kind: spec.Kind(thing + ".start"), Message: a.id})
	}
	a.say(spec.Event{Kind: spec.Kind(thing + ".delta"), Message: a.id, Text: text})
}

// close ends the message under way.
func (a *answer) close() {
	if a.id != "" {
		a.say(spec.Event{Kind: spec.Kind(a.thing + ".end"), Message: a.id})
	}
	a.thing, a.id, a.blank = "", "", ""
}

// call takes a piece of a call.
func (a *answer) call(d openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	c := a.at[d.Index]
	if c == nil || c.another(d) {
		if len(a.calls) == mostCalls {
			return &fault{codeTooLong, "the model calls too many tools"}
		}
		a.close()
		c = &call{}
		a.at[d.Index] = c
		a.calls = append(a.calls, c)
	}
	if c.theirs == "" {
		c.theirs = d.ID
	}
	piece := d.Function.Arguments
	c.text.WriteString(piece)
	if c.Name == "" {
		if d.Function.Name == "" {
			return nil
		}
		a.run.calls++
		c.Name, c.ID = d.Function.Name, a.turn.Run+"-c"+strconv.Itoa(a.run.calls)
		a.say(spec.Event{Kind: spec.ToolStart, Message: a.message(), Call: c.ID, Name: c.Name})
		piece = c.text.String()
	}
	if piece != "" {
		a.say(spec.Event{Kind: spec.ToolDelta, Call: c.ID, Text: piece})
	}
	return nil
}

// another says that a piece begins another call: some servers give all calls the
// same index.
func (c *call) another(d openai.ChatCompletionChunkChoiceDeltaToolCall) bool {
	if d.ID != "" && c.theirs != "" {
		return d.ID != c.theirs
	}
	return c.Name != "" && d.Function.Name != "" && d.Function.Arguments != "" && json.Valid([]byte(c.text.String()))
}

// end ends what is under way, and says whether the answer is one.
func (a *answer) end() error {
	if slices.Contains([]string{"content_filter", "error", "function_call"}, a.reason) {
		return a.refused()
	}
	a.close()
	for _, c := range a.calls {
		if c.Name == "" {
			return errGarbage
		}
		if c.Arguments = c.text.String(); strings.TrimSpace(c.Arguments) == "" {
			c.Arguments = "{}"
			a.say(spec.Event{Kind: spec.ToolDelta, Call: c.ID, Text: c.Arguments})
		}
		a.say(spec.Event{Kind: spec.ToolEnd, Call: c.ID})
		a.theirs[c.ID] = c.theirs
	}
	clear(a.at)
	for _, p := range a.late {
		a.speak(p.thing, p.text)
	}
	a.close()
	return nil
}

// refused is what reasons mean that are no good ends. function_call is how tools
// were called before there were tools; nobody has asked for it.
func (a *answer) refused() error {
	switch a.reason {
	case "content_filter":
		return errFiltered
	case "error":
		return &fault{codeFailed, "the model's server failed"}
	}
	return errGarbage
}

// said is the answer as the model is reminded of it.
func (a *answer) said() words {
	w := words{role: roleAssistant, text: a.text.String()}
	if a.thinking != "" {
		w.thinking, w.thought = a.thinking, a.thought.String()
	}
	for _, c := range a.calls {
		w.calls = append(w.calls, c.Call)
	}
	return w
}
