package rules

import "github.com/streamassay/streamassay/spec"

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
