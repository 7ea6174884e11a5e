package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var toolChecks = []*spec.Check{
	ToolStartsFirst, ToolsAllEnd, ToolArgumentsAreJSON, ToolIDsUnique, ResultAfterCall,
	ClientCallIsLeftOpen, ClientCallIsOffered, ClientCallEndsStream, InterruptIsLast,
}

// ToolStartsFirst judges the order of a call's events.
var ToolStartsFirst = &spec.Check{
	ID:    "tool.starts-first",
	Doc:   "pieces and the end of a call come only while the call is open",
	Needs: []spec.Kind{spec.ToolStart, spec.ToolEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		open := map[string]bool{}
		return func(e spec.Event) {
			switch e.Kind {
			case spec.ToolStart:
				open[e.Call] = true
			case spec.ToolDelta, spec.ToolEnd:
				p.Judge(e, open[e.Call], "%s of call %q, which is not open", e.DisplayName(), e.Call)
				if e.Kind == spec.ToolEnd {
					delete(open, e.Call)
				}
			}
		}
	}),
}

// ToolsAllEnd judges whether calls are closed.
var ToolsAllEnd = &spec.Check{
	ID: "tool.all-end",
	Doc: `in a stream that ends well every call that started has ended

A client executes a call when it has ended.`,
	Needs: []spec.Kind{spec.ToolStart, spec.ToolEnd},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var order []string
		known, open, keep := map[string]bool{}, map[string]*spec.Event{}, keeper(p)
		failed := false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.ToolStart:
				if !known[e.Call] {
					known[e.Call] = true
					order = append(order, e.Call)
				}
				open[e.Call] = keep(e)
			case e.Kind == spec.ToolEnd:
				if start, ok := open[e.Call]; ok {
					p.Judge(*start, true, "")
				}
				delete(open, e.Call)
			case e.Kind == spec.RunError || e.Kind == spec.RunRefused:
				failed = true
			case isCleanEnd(e) && !failed:
				for _, id := range order {
					if start, ok := open[id]; ok {
						p.Judge(*start, false, "call %q never ended", id)
					}
				}
			}
		}
	}),
}

// ToolArgumentsAreJSON judges the arguments of calls.
var ToolArgumentsAreJSON = &spec.Check{
	ID: "tool.arguments-are-json",
	Doc: `the arguments of a call are one JSON value, joined from their pieces where there are pieces

A client parses them only when the call ends; what does not parse cannot be executed.
A call that is told in states, each in place of the one before, is judged by the last,
and not at all if the run failed: it may never have been whole.`,
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		joined := map[string]*strings.Builder{}
		calls := map[string]spec.Event{} // in one piece, as far as told
		var order []string
		failed := false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.ToolStart:
				delete(joined, e.Call)
			case e.Kind == spec.ToolDelta:
				if joined[e.Call] == nil {
					joined[e.Call] = &strings.Builder{}
				}
				joined[e.Call].WriteString(e.Text)
			case e.Kind == spec.ToolEnd:
				arguments := ""
				if all := joined[e.Call]; all != nil {
					arguments = all.String()
				}
				p.Judge(e, json.Valid([]byte(arguments)), "the arguments of call %q are %q", e.Call, arguments)
			case e.Kind == spec.RunError || e.Kind == spec.RunRefused:
				failed = true
			case isCleanEnd(e) && !failed:
				for _, key := range order {
					call := calls[key]
					p.Judge(call, json.Valid([]byte(call.Text)), "the arguments of %s, call %q, are %q", call.Name, call.Call, call.Text)
				}
			}
			if e.Kind == spec.RunEnd {
				return // what it lists was told before
			}
			walkParts(e, func(part spec.Event) {
				if part.Kind == spec.ToolCall {
					key := part.Call + "\x00" + part.Message
					if part.Call != "" {
						key = part.Call
					}
					if _, ok := calls[key]; !ok {
						order = append(order, key)
					}
					calls[key] = part
				}
			})
		}
	}),
}

// ToolIDsUnique judges the ids of calls.
var ToolIDsUnique = &spec.Check{
	ID:    "tool.ids-unique",
	Doc:   "the id of a call is not used for another call of the conversation",
	Needs: []spec.Kind{spec.ToolStart},
	Watch: func(p *spec.Pass) func(spec.Event) {
		type callKey struct{ thread, call string }
		used := map[callKey]string{} // → where
		var request spec.Event
		streamID := "" // the run
		startedHere := map[string]bool{}
		return func(e spec.Event) {
			switch e.Kind {
			case spec.HTTPRequest:
				request = e
				if streamID = e.Run; streamID == "" {
					streamID = fmt.Sprint("exchange ", e.Exchange)
				}
				clear(startedHere)
			case spec.ToolStart:
				if request.Cursor != "" || !request.Valid() {
					return
				}
				key := callKey{request.Thread, e.Call}
				before, ok := used[key] // the same run told again is no second use
				p.Judge(e, !startedHere[e.Call] && (!ok || before == streamID), "call %q was started before", e.Call)
				used[key] = streamID
				startedHere[e.Call] = true
			}
		}
	},
}

// ResultAfterCall judges the order of call and result.
var ResultAfterCall = &spec.Check{
	ID: "tool.result-after-call",
	Doc: `a result names a call that was made, and ended, before it in the same stream

Or in an earlier one of the conversation, if the request only lets the run go on:
somebody may have had to approve the call.`,
	Needs: []spec.Kind{spec.ToolResult},
	Watch: func(p *spec.Pass) func(spec.Event) {
		earlier := map[string]map[string]bool{} // thread → the calls that were made
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			if !request.Valid() { // what it lets go on may not have been read
				return func(spec.Event) {}
			}
			if earlier[request.Thread] == nil {
				earlier[request.Thread] = map[string]bool{}
			}
			return watchResultOrder(p, request, earlier[request.Thread])
		})(p)
	},
}

// watchResultOrder judges one telling, and adds its calls to those of the thread.
func watchResultOrder(p *spec.Pass, request spec.Event, earlier map[string]bool) func(spec.Event) {
	made, begun, judged := map[string]bool{}, map[string]bool{}, map[string]bool{}
	if _, prompted := request.Prompt(); !prompted && request.Thread != "" {
		maps.Copy(made, earlier)
	}
	return func(e spec.Event) {
		if e.Kind == spec.RunEnd {
			return // what it lists was told before
		}
		walkParts(e, func(part spec.Event) {
			switch {
			case part.Kind == spec.ToolStart:
				begun[part.Call] = true
			case part.Kind == spec.ToolCall || part.Kind == spec.ToolEnd:
				made[part.Call], earlier[part.Call] = true, true // a call may have no id
			case part.Kind == spec.ToolResult && part.Call != "" && !judged[part.Call]:
				judged[part.Call] = true
				if begun[part.Call] && !made[part.Call] {
					p.Judge(part, made[""], "the result of call %q came before the call was ended by %s", part.Call, request.KindName(spec.ToolEnd, "its end"))
					return
				}
				p.Judge(part, made[part.Call] || made[""], "a result of call %q, which was not made before it", part.Call)
			}
		})
	}
}

// offersTool says whether a request offers a tool of the name.
func offersTool(request spec.Event, name string) bool {
	return slices.ContainsFunc(request.Parts, func(p spec.Event) bool { return p.Kind == spec.InputTool && p.Name == name })
}

// A callState is one call of a tool as a stream has told it.
type callState struct {
	start            *spec.Event
	ended, hasResult bool
}

// callTracker lets a rule see the calls of a stream that answers a request with tools, at
// each event and at the end.
type callTracker struct {
	request         spec.Event
	keep            func(spec.Event) *spec.Event
	calls           []*callState // in the order in which they began
	byID            map[string]*callState
	openClientCalls int // how many are of the client, have ended, and were not answered
	// halted: an interrupt, or a failure, left the calls as they were. Who has to
	// answer them cannot be told then.
	halted bool
}

func (c *callTracker) find(id string) *callState { return c.byID[id] }

// isLeftToClient reports whether a call is left to the client.
func (c *callTracker) isLeftToClient(k *callState) bool {
	return k != nil && k.ended && !k.hasResult && c.isClientTool(k)
}

// isClientTool says that a call is of a tool that the request offers.
func (c *callTracker) isClientTool(k *callState) bool { return offersTool(c.request, k.start.Name) }

func (c *callTracker) observe(e spec.Event) {
	k := c.find(e.Call)
	wasLeft := c.isLeftToClient(k)
	switch e.Kind {
	case spec.ToolStart, spec.ToolCall:
		if k == nil {
			k = &callState{start: c.keep(e), ended: e.Kind == spec.ToolCall}
			c.calls, c.byID[e.Call] = append(c.calls, k), k
		}
	case spec.ToolEnd:
		if k != nil {
			k.ended = true
		}
	case spec.ToolResult:
		if k != nil {
			k.hasResult = true
		}
	case spec.Interrupt, spec.RunError, spec.RunRefused:
		c.halted = true
	}
	switch isLeft := c.isLeftToClient(k); {
	case isLeft && !wasLeft:
		c.openClientCalls++
	case wasLeft && !isLeft:
		c.openClientCalls--
	}
}

// eachToolStream is a rule about such a stream.
func eachToolStream(judge func(p *spec.Pass, e spec.Event, c *callTracker)) watchFunc {
	return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
		c := &callTracker{request: request, keep: keeper(p), byID: map[string]*callState{}}
		_, offers := request.Last(spec.InputTool)
		return func(e spec.Event) {
			if offers {
				judge(p, e, c)
				c.observe(e)
			}
		}
	})
}

// ClientCallIsLeftOpen judges who answers calls of the client's tools.
var ClientCallIsLeftOpen = &spec.Check{
	ID: "tool.client-call-is-left-open",
	Doc: `a call of a tool that the request offers is left to the client

The server cannot run it; a result from the server would be an invention.`,
	Needs: []spec.Kind{spec.InputTool, spec.ToolResult},
	Watch: eachToolStream(func(p *spec.Pass, e spec.Event, c *callTracker) {
		switch {
		case e.Kind == spec.ToolResult:
			if k := c.find(e.Call); k != nil && c.isClientTool(k) {
				p.Judge(e, false, "the server answered call %q of the client's tool %s", e.Call, k.start.Name)
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

// ClientCallIsOffered judges which tools are left to the client.
var ClientCallIsOffered = &spec.Check{
	ID:    "tool.client-call-is-offered",
	Doc:   "a call that is left to the client is of a tool that the request offers",
	Needs: []spec.Kind{spec.InputTool},
	Watch: eachToolStream(func(p *spec.Pass, e spec.Event, c *callTracker) {
		if !isCleanEnd(e) || c.halted {
			return
		}
		for _, k := range c.calls {
			if !k.hasResult {
				p.Judge(*k.start, c.isClientTool(k), "a call of %q is left to the client, and the request does not offer it", k.start.Name)
			}
		}
	}),
}

// ClientCallEndsStream judges what follows a call that is left to the client.
var ClientCallEndsStream = &spec.Check{
	ID: "tool.client-call-ends-stream",
	Doc: `after a call that is left to the client the stream ends

Further calls may come, and their results, and pieces with nothing in them.`,
	Needs: []spec.Kind{spec.InputTool, spec.ToolEnd},
	Watch: eachToolStream(func(p *spec.Pass, e spec.Event, c *callTracker) {
		switch subject := e.Kind.Subject(); {
		case c.openClientCalls == 0:
		case subject == "message" || subject == "reasoning" || subject == "content":
			p.Judge(e, e.Text == "", "%s comes after a call that the client has to answer", e.DisplayName())
		case isCleanEnd(e):
			p.Judge(e, true, "")
		}
	}),
}

// InterruptIsLast judges what follows an interrupt.
var InterruptIsLast = &spec.Check{
	ID: "interrupt.is-last",
	Doc: `after an interrupt only the end of the run and the sentinel come

And further interrupts, pieces with nothing in them, and what nobody knows: of these a
client that stops reading loses nothing.`,
	Needs: []spec.Kind{spec.Interrupt},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var interrupt spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Interrupt:
				interrupt = e
			case interrupt.Raw == nil || e.Kind == spec.Unrecognized || isDelta(e) && e.Text == "":
			case e.IsFrame():
				p.Judge(e, isTerminal(e) || e.Kind == spec.Done, "%s comes after an interrupt", e.DisplayName())
			case isCleanEnd(e):
				p.Judge(interrupt, true, "")
			}
		}
	}),
}
