package rules

import (
	"cmp"

	"github.com/streamassay/streamassay/spec"
)

var chunkChecks = []*spec.Check{ChunkFirstNames, ChunkAgrees}

// ChunkFirstNames judges whether the first chunk of a message or tool call has the id of that
// message or call and, for a call, also the name of the tool. A chunk is a delta whose frame may
// imply the start and the end of the message or call; see [spec.Event.IsChunk].
var ChunkFirstNames = &spec.Check{
	ID: "chunk.first-names",
	Doc: `the first chunk has the id of its message or tool call, and for a call also the name of the tool

Later chunks may leave out both, because they belong to the message or call that is open. A chunk of
another call ends the call before, so the next chunk of that call is a first one again.`,
	Needs: []spec.Kind{spec.SlotChunk},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		begun := map[string]bool{} // by id: whether a chunk began the call
		return func(e spec.Event) {
			key, named := pairKeyOf(e)
			switch {
			case e.IsChunk && !named:
				p.Judge(e, false, "%s has no id, although no %s sent in chunks is open; expected the id in the first chunk",
					displayName(e), key.noun())
			case e.Implied && e.Kind == spec.ToolStart && e.Name == "" && begun[e.Call]:
				p.Judge(e, false,
					"chunk begins call %q again, which ended when another call or message began, and has no tool name; expected the name",
					e.Call)
			case e.Implied && e.Kind == spec.ToolStart:
				begun[e.Call] = true
				p.Judge(e, e.Name != "", "first chunk of call %q has no tool name; expected the name", e.Call)
			case e.Implied && e.Kind.Phase() == "start":
				p.Judge(e, true, "")
			}
		}
	}),
}

// ChunkAgrees judges whether each later chunk of a message or tool call has the same role and name
// as the first chunk; for chunks, see [spec.Event.IsChunk]. A value that is missing from either of
// the two chunks is not compared. If the first chunk of a message has no role, the role is
// "assistant" (agui.md:37).
var ChunkAgrees = &spec.Check{
	ID:    "chunk.agrees",
	Doc:   "a later chunk repeats the role and the name of the first chunk, or leaves them out",
	Needs: []spec.Kind{spec.SlotChunk},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		type identity struct{ role, name string }
		first := map[spanKey]identity{}
		return func(e spec.Event) {
			key, _ := pairKeyOf(e)
			began, ok := first[key]
			switch {
			case e.Implied && e.Kind.Phase() == "start":
				role := e.Role
				if e.Kind == spec.MessageStart {
					role = cmp.Or(role, "assistant")
				}
				first[key] = identity{role, e.Name}
			case e.IsChunk && ok:
				sameRole := e.Role == "" || began.role == "" || e.Role == began.role
				p.Judge(e, sameRole, "%s has role %q; expected %q, as in the first chunk", displayName(e), e.Role, began.role)
				sameName := e.Name == "" || began.name == "" || e.Name == began.name
				p.Judge(e, sameName, "%s has name %q; expected %q, as in the first chunk", displayName(e), e.Name, began.name)
			}
		}
	}),
}
