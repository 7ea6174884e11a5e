package rules

import (
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// ToolMessageType judges whether messages with texts, tool calls and tool results have different
// types.
var ToolMessageType = &spec.Check{
	ID: "tool.message-type",
	Doc: `messages with texts, tool calls and tool results have different types

A message with a tool call or a tool result must not have the type "message". A message with a result
must not have the same type as a message with a call. Messages without a type, and messages whose type
is the name of a role, are not judged.`,
	Needs: []spec.Kind{spec.ToolResult, spec.MessageEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		types := map[string]string{} // by message
		callTypes := map[string]bool{}
		judge := func(e spec.Event) {
			name := strings.ToLower(types[e.Message])
			switch {
			case name == "":
			case e.Kind == spec.ToolCall:
				callTypes[name] = true
				p.Judge(e, name != "message", "message %q contains a tool call and has the type %q; expected a type for calls",
					e.Message, types[e.Message])
			case e.Kind == spec.ToolResult:
				p.Judge(e, name != "message", "message %q contains a tool result and has the type %q; expected a type for results",
					e.Message, types[e.Message])
				p.Judge(e, name == "message" || !callTypes[name],
					"message %q contains a tool result and has the type %q, the same as an earlier message with a tool call; expected another type",
					e.Message, types[e.Message])
			}
		}
		return func(e spec.Event) {
			if isMessageStatus(e) && e.Type != "" && !isRoleName(e.Type) {
				types[e.Message] = e.Type
			}
			walkParts(e, func(part spec.Event) {
				if e.Kind.Subject() != "run" && e.Kind != spec.History {
					judge(part)
				}
			})
		}
	}),
}
