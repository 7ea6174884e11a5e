package rules

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

// adoptSubagents makes the output of the subagents the answer of the run if the agent itself has
// sent neither a text nor a tool call: it has left the answer to them. If the agent has sent a text
// but no tool call or no reasoning, those of the subagents become part of the answer. Likewise,
// their state becomes that of the run if the agent has sent no state.
func (a *assembledRun) adoptSubagents() {
	o := a.withSubagents
	if o != nil && a.text() == "" && len(a.toolCalls) == 0 {
		a.messages, a.messagesByID, a.pieceCount, a.tracker = o.messages, o.messagesByID, o.pieceCount, o.tracker
		a.steps, a.silence, a.hasSpoken, a.hasSpokenSince = o.steps, o.silence, o.hasSpoken, o.hasSpokenSince
	}
	if o != nil && len(a.toolCalls) == 0 {
		a.toolCalls, a.callIndex = o.toolCalls, o.callIndex
	}
	if o != nil && len(a.texts(true)) == 0 {
		isOther := func(s *assembledMessage) bool { return !s.is(true) }
		a.messages = slices.Concat(slices.DeleteFunc(slices.Clone(o.messages), isOther), a.messages)
	}
	if len(a.stateEvents) == 0 {
		a.stateEvents = a.subagentStates
	}
}

// A subagentOutput recognizes the output of subagents in a stream (see [spec.Event.Lane]): their
// messages, reasoning and tool calls, which are not part of the agent's answer. The zero value is
// ready to use.
type subagentOutput struct {
	ids map[string]bool // ids of the messages and tool calls of subagents
}

// contains reports whether e is output of a subagent: e names the subagent itself, or a message or
// call of which an earlier event named one. It must be called with each event of the stream, in
// order.
func (s *subagentOutput) contains(e spec.Event) bool {
	switch e.Kind.Subject() {
	case "message", "reasoning", "content", "tool":
	default:
		return false
	}
	for _, id := range []string{e.Message, e.Call} {
		switch {
		case id == "":
		case e.Lane != "" && s.ids == nil:
			s.ids = map[string]bool{id: true}
		case e.Lane != "":
			s.ids[id] = true
		case s.ids[id]:
			return true
		}
	}
	return e.Lane != ""
}
