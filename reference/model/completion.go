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

// An completion is what the model says once it is asked, told while it comes. Nothing
// is said between the start of a call and the end of all calls: what the model says
// there is told after them.
type completion struct {
	*run
	subject        string // what is under way: "message", "reasoning" or nothing
	messageID      string // of the message under way; "" is that nothing is told of it yet
	heldSpace      string // what it begins with, as long as that is but space
	text           strings.Builder
	reasoning      strings.Builder
	reasoningField string // the member that thoughts come in
	calls          []*toolCall
	callsByIndex   map[int64]*toolCall // by the index that the server gives, the latest
	deferred       []textPiece
	finishReason   string // why the model stopped
}

type textPiece struct{ subject, text string }

// A toolCall is one of the model's. It is told from when it has a name.
type toolCall struct {
	state.Call
	serverID  string // the server's id
	arguments strings.Builder
}

// requestCompletion asks the model, and tells its answer.
func (r *run) requestCompletion(messages []chatMessage) (*completion, error) {
	w := r.openUpstream()
	defer w.stop()
	frames, err := w.request(r.completionParams(messages))
	if err != nil {
		return nil, err
	}
	a := &completion{run: r, callsByIndex: map[int64]*toolCall{}}
	for frames.Next() {
		data := frames.Event().Data
		if strings.HasPrefix(string(data[:min(len(data), len(doneMarker))]), doneMarker) {
			return a, a.finish()
		}
		if err := a.addChunk(data); err != nil {
			return nil, err
		}
		if r.stopped {
			return nil, errClientLeft
		}
		if a.finishReason != "" {
			w.shortenTimeout()
		}
	}
	if err := w.classify(frames.Err(), errTruncated); a.finishReason == "" || r.ctx.Err() != nil {
		return nil, err
	}
	return a, a.finish()
}

const doneMarker = "[DONE]"

// addChunk takes a frame.
func (a *completion) addChunk(data []byte) error {
	if why, status, isError := parseErrorBody(data); isError {
		if status >= 400 && status < 600 {
			return statusError(status, a.sanitize(why))
		}
		return (&runError{codeFailed, "the model's server failed"}).withDetail(a.sanitize(why))
	}
	var chunk openai.ChatCompletionChunk
	if json.Unmarshal(data, &chunk) != nil {
		return errMalformed
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // it was not asked for
		}
		if err := a.addDelta(choice.Delta); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			a.finishReason = choice.FinishReason
		}
	}
	return nil
}

func (a *completion) addDelta(d openai.ChatCompletionChunkChoiceDelta) error {
	for _, member := range []string{"reasoning_content", "reasoning"} { // some servers say it twice
		text := jsonString(json.RawMessage(d.JSON.ExtraFields[member].Raw()))
		if text != "" {
			a.reasoningField = member
			a.reasoning.WriteString(text)
			a.emitText("reasoning", text)
			break
		}
	}
	for _, text := range []string{d.Content, d.Refusal} {
		a.text.WriteString(text)
		a.emitText("message", text)
	}
	for _, c := range d.ToolCalls {
		if err := a.addCall(c); err != nil {
			return err
		}
	}
	return nil
}

// maxHeldSpace is how much space is kept back at the beginning of a message, in bytes:
// models say a few before they call a tool, and mean nothing.
const maxHeldSpace = 256

// emitText tells a piece of a message.
func (a *completion) emitText(thing, text string) {
	switch {
	case text == "":
		return
	case len(a.callsByIndex) > 0:
		a.deferred = append(a.deferred, textPiece{thing, text})
		return
	case a.subject != thing:
		a.endMessage()
		a.subject = thing
	}
	if a.messageID == "" {
		text = a.heldSpace + text
		if a.heldSpace = ""; strings.TrimSpace(text) == "" && len(text) <= maxHeldSpace {
			a.heldSpace = text
			return
		}
		a.messageID = a.newMessageID()
		a.emit(spec.Event{Kind: spec.Kind(thing + ".start"), Message: a.messageID})
	}
	a.emit(spec.Event{Kind: spec.Kind(thing + ".delta"), Message: a.messageID, Text: text})
}

// endMessage ends the message under way.
func (a *completion) endMessage() {
	if a.messageID != "" {
		a.emit(spec.Event{Kind: spec.Kind(a.subject + ".end"), Message: a.messageID})
	}
	a.subject, a.messageID, a.heldSpace = "", "", ""
}

// addCall takes a piece of a call.
func (a *completion) addCall(d openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	c := a.callsByIndex[d.Index]
	if c == nil || c.startsAnother(d) {
		if len(a.calls) == maxCalls {
			return &runError{codeTooLong, "the model calls too many tools"}
		}
		a.endMessage()
		c = &toolCall{}
		a.callsByIndex[d.Index] = c
		a.calls = append(a.calls, c)
	}
	if c.serverID == "" {
		c.serverID = d.ID
	}
	piece := d.Function.Arguments
	c.arguments.WriteString(piece)
	if c.Name == "" {
		if d.Function.Name == "" {
			return nil
		}
		a.run.callCount++
		c.Name, c.ID = d.Function.Name, a.turn.Run+"-c"+strconv.Itoa(a.run.callCount)
		a.emit(spec.Event{Kind: spec.ToolStart, Message: a.newMessageID(), Call: c.ID, Name: c.Name})
		piece = c.arguments.String()
	}
	if piece != "" {
		a.emit(spec.Event{Kind: spec.ToolDelta, Call: c.ID, Text: piece})
	}
	return nil
}

// startsAnother says that a piece begins another call: some servers give all calls the
// same index.
func (c *toolCall) startsAnother(d openai.ChatCompletionChunkChoiceDeltaToolCall) bool {
	if d.ID != "" && c.serverID != "" {
		return d.ID != c.serverID
	}
	return c.Name != "" && d.Function.Name != "" && d.Function.Arguments != "" && json.Valid([]byte(c.arguments.String()))
}

// finish ends what is under way, and says whether the answer is one.
func (a *completion) finish() error {
	if slices.Contains([]string{"content_filter", "error", "function_call"}, a.finishReason) {
		return a.finishError()
	}
	a.endMessage()
	for _, c := range a.calls {
		if c.Name == "" {
			return errMalformed
		}
		if c.Arguments = c.arguments.String(); strings.TrimSpace(c.Arguments) == "" {
			c.Arguments = "{}"
			a.emit(spec.Event{Kind: spec.ToolDelta, Call: c.ID, Text: c.Arguments})
		}
		a.emit(spec.Event{Kind: spec.ToolEnd, Call: c.ID})
		a.serverIDs[c.ID] = c.serverID
	}
	clear(a.callsByIndex)
	for _, p := range a.deferred {
		a.emitText(p.subject, p.text)
	}
	a.endMessage()
	return nil
}

// finishError is what reasons mean that are no good ends. function_call is how tools
// were called before there were tools; nobody has asked for it.
func (a *completion) finishError() error {
	switch a.finishReason {
	case "content_filter":
		return errFiltered
	case "error":
		return &runError{codeFailed, "the model's server failed"}
	}
	return errMalformed
}

// asMessage is the answer as the model is reminded of it.
func (a *completion) asMessage() chatMessage {
	w := chatMessage{role: roleAssistant, text: a.text.String()}
	if a.reasoningField != "" {
		w.reasoningField, w.reasoning = a.reasoningField, a.reasoning.String()
	}
	for _, c := range a.calls {
		w.calls = append(w.calls, c.Call)
	}
	return w
}
