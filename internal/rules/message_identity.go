package rules

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/streamassay/streamassay/spec"
)

// isRoleName reports whether messageType is the name of a role, such as "assistant". Some examples
// in protocol documents use the name of a role as the type of a message. Such a type does not
// identify the kind of the message.
func isRoleName(messageType string) bool {
	return slices.Contains([]string{"assistant", "user", "system", "tool"}, messageType)
}

// messageName returns a description of the message with the given id for use in a finding. The id
// is "" if the message has none.
func messageName(id string) string {
	if id == "" {
		return "a message without an id"
	}
	return "message " + strconv.Quote(id)
}

// MessageKeepsRoleAndType judges whether all events about a message name the same role and the same
// type.
var MessageKeepsRoleAndType = &spec.Check{
	ID: "message.keeps-role-and-type",
	Doc: `all events about a message name the same role and type

Events without a role or type are not compared. A type that is the name of a role, such as
assistant, is not compared either.`,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageStart, spec.MessageEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		roles, types := map[string]string{}, map[string]string{}
		judge := func(e spec.Event, what, got string, known map[string]string) {
			want, isKnown := known[e.Message]
			switch {
			case got == "":
			case !isKnown:
				known[e.Message] = got
			default:
				p.Judge(e, got == want,
					"message %q has the %s %q, and %q in earlier events; expected the same in all events about it",
					e.Message, what, got, want)
			}
		}
		return func(e spec.Event) {
			if !isMessageStatus(e) || e.Message == "" {
				return
			}
			judge(e, "role", e.Role, roles)
			if !isRoleName(e.Type) {
				judge(e, "type", e.Type, types)
			}
		}
	}),
}

// RunIDsUnique judges whether runs have different ids if the server chooses the ids.
var RunIDsUnique = &spec.Check{
	ID: "run.ids-unique",
	Doc: `a server does not give the same id to two runs

The server must not use an id again that an earlier request chose, either. A run is not judged if its
own request chooses the id, or contains it anywhere else.`,
	Needs: []spec.Kind{spec.SlotRun, spec.RunEnd},
	Watch: func(p *spec.Pass) func(spec.Event) {
		used := map[string]bool{}
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			seen := request.Run != ""
			if seen {
				used[request.Run] = true
			}
			return func(e spec.Event) {
				if seen || e.Run == "" || e.Kind.Subject() != "run" {
					return
				}
				seen = true
				isAsked := bytes.Contains(request.Raw, []byte(quoteJSON(e.Run)))
				if len(used) > 0 && !isAsked {
					p.Judge(e, !used[e.Run], "run has the id %q, which an earlier run already has; expected a new id", e.Run)
				}
				used[e.Run] = true
			}
		})(p)
	},
}
