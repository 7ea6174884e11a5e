package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/streamassay/streamassay/internal/state"
	"github.com/streamassay/streamassay/spec"
)

// A completionAssembler assembles one response of the model from its stream, and emits the events
// of the response as they arrive. Text that arrives after the first tool call has started is held
// back: it is emitted when all calls have ended.
type completionAssembler struct {
	*modelRun
	subject        string                  // kind of the open message: "message", "reasoning" or ""
	messageID      string                  // id of the open message; "" until its first event is emitted
	heldSpace      string                  // white space at the beginning of the message, held back by emitText
	text           strings.Builder         // text of the response so far
	reasoning      strings.Builder         // reasoning of the response so far
	reasoningField string                  // name of the JSON member with the reasoning; "" if there was none
	calls          []*streamedCall         // tool calls, in the order in which they began
	callsByIndex   map[int64]*streamedCall // the latest call with each value of callDelta.Index
	deferred       []textDelta             // text to be emitted after the calls
	finishReason   string                  // finish_reason of the response, or ""
}

// A textDelta is a delta of a message or of reasoning. Its subject is "message" or "reasoning".
type textDelta struct{ subject, text string }

// A streamedCall is a tool call that is being received. Its start event is emitted as soon as its
// name is known.
type streamedCall struct {
	state.Call
	serverID  string // id that the model's server gave the call
	arguments strings.Builder
}

// requestCompletion sends messages to the model, emits the events of the response as they arrive,
// and returns the complete response. The error is a runError if the request fails or the response
// is invalid, errClientLeft if the events are no longer consumed, or the error of the run's
// context.
func (r *modelRun) requestCompletion(messages []chatMessage) (*completionAssembler, error) {
	w := r.openUpstream()
	defer w.stop()
	if err := w.request(r.requestBody(messages)); err != nil {
		return nil, err
	}
	a := &completionAssembler{modelRun: r, callsByIndex: map[int64]*streamedCall{}}
	for data := range w.frames() {
		if bytes.HasPrefix(data, []byte(doneMarker)) {
			return a, a.finish()
		}
		if err := a.addChunk(data); err != nil {
			return nil, err
		}
		if r.Stopped() {
			return nil, errClientLeft
		}
		if a.finishReason != "" {
			w.idleTimeout = min(w.idleTimeout, trailingTimeout) // the model's output is complete
		}
	}
	if err := w.classify(w.readErr, errTruncated); a.finishReason == "" || r.ctx.Err() != nil {
		return nil, err
	}
	return a, a.finish()
}

// doneMarker is the data of the event that ends the stream of the model's server.
const doneMarker = "[DONE]"

// addChunk adds data, the data of one event in the model's stream, to the response. It returns an
// error if data is malformed or describes an error of the server, or if the response has more than
// maxCalls tool calls.
func (a *completionAssembler) addChunk(data []byte) error {
	if detail, status, isError := parseErrorBody(data); isError {
		if status >= 400 && status < 600 {
			return a.statusError(status, a.sanitize(detail))
		}
		return errFailed.withDetail(a.sanitize(detail))
	}
	var chunk responseChunk
	err := json.Unmarshal(data, &chunk)
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); err != nil && (!ok || mismatch.Field == "") {
		return errMalformed // a member of another type is ignored
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // only one choice was requested
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

// addDelta adds the reasoning, the text and the pieces of tool calls in d to the response. It
// returns an error if the response has more than maxCalls tool calls.
func (a *completionAssembler) addDelta(d responseDelta) error {
	if text := cmp.Or(d.ReasoningContent, d.Reasoning); text != "" { // some servers send both, with the same text
		a.reasoningField = "reasoning_content"
		if d.ReasoningContent == "" {
			a.reasoningField = "reasoning"
		}
		a.reasoning.WriteString(text)
		a.emitText("reasoning", text)
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

// maxHeldSpace is the maximum size, in bytes, of the white space at the beginning of a message that
// emitText holds back. Models often send a little white space before a tool call, which must not
// become a message.
const maxHeldSpace = 256

// emitText emits text as a delta of a message or of reasoning. The parameter subject is "message"
// or "reasoning". If the open message is not of that subject, emitText first ends it; if none is
// open, it starts one.
//
// It holds back white space at the beginning of a message until other text follows, and text that
// arrives during tool calls until the calls have ended.
func (a *completionAssembler) emitText(subject, text string) {
	switch {
	case text == "":
		return
	case len(a.callsByIndex) > 0:
		a.deferred = append(a.deferred, textDelta{subject, text})
		return
	case a.subject != subject:
		a.endMessage()
		a.subject = subject
	}
	if a.messageID == "" {
		text = a.heldSpace + text
		if a.heldSpace = ""; strings.TrimSpace(text) == "" && len(text) <= maxHeldSpace {
			a.heldSpace = text
			return
		}
		a.messageID = a.NewMessageID()
		a.Emit(spec.Event{Kind: spec.Kind(subject + ".start"), Message: a.messageID})
	}
	a.Emit(spec.Event{Kind: spec.Kind(subject + ".delta"), Message: a.messageID, Text: text})
}

// endMessage emits the end of the open message or reasoning, if any. It discards the white space
// that emitText holds back.
func (a *completionAssembler) endMessage() {
	if a.messageID != "" {
		a.Emit(spec.Event{Kind: spec.Kind(a.subject + ".end"), Message: a.messageID})
	}
	a.subject, a.messageID, a.heldSpace = "", "", ""
}

// addCall adds d, a piece of a tool call, to the response. If d begins a new call, addCall ends the
// open message. It returns an error if the response has more than maxCalls tool calls.
func (a *completionAssembler) addCall(d callDelta) error {
	c := a.callsByIndex[d.Index]
	if c == nil || c.startsAnother(d) {
		if len(a.calls) == maxCalls {
			return &runError{codeTooLong, "the response calls too many tools"}
		}
		a.endMessage()
		c = &streamedCall{}
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
		c.Name, c.ID = d.Function.Name, a.NewCallID()
		a.Emit(spec.Event{Kind: spec.ToolStart, Message: a.NewMessageID(), Call: c.ID, Name: c.Name})
		piece = c.arguments.String()
	}
	if piece != "" {
		a.Emit(spec.Event{Kind: spec.ToolDelta, Call: c.ID, Text: piece})
	}
	return nil
}

// startsAnother reports whether d, a piece of a tool call with the same Index as c, begins a new
// call instead of continuing c. It compares the ids and names, because some servers give all calls
// the same Index.
func (c *streamedCall) startsAnother(d callDelta) bool {
	if d.ID != "" && c.serverID != "" {
		return d.ID != c.serverID
	}
	return c.Name != "" && d.Function.Name != "" && d.Function.Arguments != "" && json.Valid([]byte(c.arguments.String()))
}

// finish completes the response. It emits the ends of the open message and of all tool calls,
// followed by the text that was held back during the calls. It returns an error if the model
// reported a failure or a call has no name.
func (a *completionAssembler) finish() error {
	switch a.finishReason {
	case "content_filter":
		return errFiltered
	case "error":
		return errFailed
	case "function_call": // an obsolete kind of tool call, which was not requested
		return errMalformed
	}
	a.endMessage()
	for _, c := range a.calls {
		if c.Name == "" {
			return errMalformed
		}
		if c.Arguments = c.arguments.String(); strings.TrimSpace(c.Arguments) == "" {
			c.Arguments = "{}"
			a.Emit(spec.Event{Kind: spec.ToolDelta, Call: c.ID, Text: c.Arguments})
		}
		a.Emit(spec.Event{Kind: spec.ToolEnd, Call: c.ID})
		a.serverIDs[c.ID] = c.serverID
	}
	clear(a.callsByIndex)
	for _, p := range a.deferred {
		a.emitText(p.subject, p.text)
	}
	a.endMessage()
	return nil
}

// asMessage returns the response as a message of the conversation. The next request sends this
// message back to the model.
func (a *completionAssembler) asMessage() chatMessage {
	w := chatMessage{role: roleAssistant, text: a.text.String()}
	if a.reasoningField != "" {
		w.reasoningField, w.reasoning = a.reasoningField, a.reasoning.String()
	}
	for _, c := range a.calls {
		w.calls = append(w.calls, c.Call)
	}
	return w
}
