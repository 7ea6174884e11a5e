package rules

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// offersTool reports whether a request offers a client tool, that is, a tool that the client itself
// runs, with the given name.
func offersTool(request spec.Event, name string) bool {
	return slices.ContainsFunc(request.Parts, func(p spec.Event) bool {
		return p.Kind == spec.InputTool && p.Name == name
	})
}

// isLeftToClient reports whether the client has to run the tool of the call k: the request for the
// stream offers the tool, and the call has ended without a result. The result is false if k is
// nil.
func (c *streamToolCalls) isLeftToClient(k *callState) bool {
	return k != nil && k.ended && !k.hasResult && c.isClientTool(k)
}

// offeredTools returns the quoted names of the tools that the request for the stream offers, joined
// by " or ". It returns "no tool" if the request offers none.
func (c *streamToolCalls) offeredTools() string {
	var names []string
	for _, p := range c.request.PartsOf(spec.InputTool) {
		names = append(names, strconv.Quote(p.Name))
	}
	return cmp.Or(strings.Join(names, " or "), "no tool")
}

// isClientTool reports whether k is a call of a tool that the request for the stream offers.
func (c *streamToolCalls) isClientTool(k *callState) bool {
	return offersTool(c.request, k.start.Name)
}

// ClientCallIsLeftOpen judges whether a server sends no result for a call of a client tool, that
// is, of a tool that the request offers and only the client can run.
var ClientCallIsLeftOpen = &spec.Check{
	ID: "tool.client-call-is-left-open",
	Doc: `a server sends no result for a call of a client tool

Only the client can run a tool that the request offers, so a result from the server is made up.`,
	Needs: []spec.Kind{spec.InputTool, spec.ToolResult},
	Watch: eachToolStream(func(p *spec.Pass, e spec.Event, c *streamToolCalls) {
		switch {
		case e.Kind == spec.ToolResult:
			if k := c.byID[e.Call]; k != nil && c.isClientTool(k) {
				p.Judge(e, false,
					"server returned a result for call %q of the client tool %s; expected it to leave the call to the client",
					e.Call, k.start.Name)
			} else if tool := repeatedClientTool(c.request, e.Call); k == nil && tool != "" {
				p.Judge(e, false,
					"server returned a result for call %q of the client tool %s in the messages of the request; expected none",
					e.Call, tool)
			}
		case isCleanEnd(e):
			for _, k := range c.calls {
				if c.isClientTool(k) && !k.hasResult {
					p.Judge(*k.start, true, "")
				}
			}
		}
	}),
}

// repeatedClientTool returns the name of the client tool that an earlier run called. The argument
// call is the id of that call. The result is "" unless the request contains the call and offers the
// tool.
func repeatedClientTool(request spec.Event, call string) (tool string) {
	walkParts(request, func(c spec.Event) {
		if c.Kind == spec.ToolCall && c.Call == call && offersTool(request, c.Name) {
			tool = c.Name
		}
	})
	return tool
}

// ClientCallIsOffered judges whether each tool call without a result is a call of a tool that the
// request offers. The client has to run such a call, and can run only the tools that it offers.
var ClientCallIsOffered = &spec.Check{
	ID:    "tool.client-call-is-offered",
	Doc:   "a tool call without a result is a call of a tool that the request offers",
	Needs: []spec.Kind{spec.InputTool},
	Watch: eachToolStream(func(p *spec.Pass, e spec.Event, c *streamToolCalls) {
		if !isCleanEnd(e) || c.halted {
			return
		}
		for _, k := range c.calls {
			if !k.hasResult {
				p.Judge(*k.start, c.isClientTool(k),
					"call of %q, which the request does not offer, has no result; expected a result from the server, or a call of %s",
					k.start.Name, c.offeredTools())
			}
		}
	}),
}

// ClientCallEndsStream judges whether a stream sends no more text or other message content after a
// call of a tool that the client has to run.
var ClientCallEndsStream = &spec.Check{
	ID: "tool.client-call-ends-stream",
	Doc: `the stream ends after a tool call that is left to the client

Further tool calls, their results and empty deltas may follow.`,
	Needs: []spec.Kind{spec.InputTool, spec.ToolEnd},
	Watch: eachToolStream(func(p *spec.Pass, e spec.Event, c *streamToolCalls) {
		switch subject := e.Kind.Subject(); {
		case c.openClientCalls == 0:
		case subject == "message" || subject == "reasoning" || subject == "content":
			p.Judge(e, e.Text == "", "%s comes after a call of a client tool; expected the stream to end", displayName(e))
		case isCleanEnd(e):
			p.Judge(e, true, "")
		}
	}),
}
