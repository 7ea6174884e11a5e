package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

var tools = []*spec.Check{
	ToolStartsFirst, ToolsAllEnd, ToolArgumentsAreJSON, ToolIDsUnique, ResultAfterCall,
	ClientCallIsLeftOpen, ClientCallIsOffered, ClientCallEndsStream, InterruptIsLast,
}

// ToolStartsFirst judges the order of a call's events.
var ToolStartsFirst = &spec.Check{
	ID:    "tool.starts-first",
	Doc:   "pieces and the end of a call come only while the call is open",
	Needs: []spec.Kind{spec.ToolStart, spec.ToolEnd},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
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
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
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
			case whole(e) && !failed:
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
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
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
			case whole(e) && !failed:
				for _, key := range order {
					call := calls[key]
					p.Judge(call, json.Valid([]byte(call.Text)), "the arguments of %s, call %q, are %q", call.Name, call.Call, call.Text)
				}
			}
			if e.Kind == spec.RunEnd {
				return // what it lists was told before
			}
			inside(e, func(part spec.Event) {
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
		type use struct{ thread, call string }
		used := map[use]string{} // → where
		var ask spec.Event
		telling := "" // the run
		here := map[string]bool{}
		return func(e spec.Event) {
			switch e.Kind {
			case spec.HTTPRequest:
				ask = e
				if telling = e.Run; telling == "" {
					telling = fmt.Sprint("exchange ", e.Exchange)
				}
				clear(here)
			case spec.ToolStart:
				if ask.Cursor != "" || !ask.Valid() {
					return
				}
				key := use{ask.Thread, e.Call}
				before, ok := used[key] // the same run told again is no second use
				p.Judge(e, !here[e.Call] && (!ok || before == telling), "call %q was started before", e.Call)
				used[key] = telling
				here[e.Call] = true
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
		return tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
			if !ask.Valid() { // what it lets go on may not have been read
				return func(spec.Event) {}
			}
			if earlier[ask.Thread] == nil {
				earlier[ask.Thread] = map[string]bool{}
			}
			return resultAfterCall(p, ask, earlier[ask.Thread])
		})(p)
	},
}

// resultAfterCall judges one telling, and adds its calls to those of the thread.
func resultAfterCall(p *spec.Pass, ask spec.Event, earlier map[string]bool) func(spec.Event) {
	made, begun, judged := map[string]bool{}, map[string]bool{}, map[string]bool{}
	if _, prompted := ask.Prompt(); !prompted && ask.Thread != "" {
		maps.Copy(made, earlier)
	}
	return func(e spec.Event) {
		if e.Kind == spec.RunEnd {
			return // what it lists was told before
		}
		inside(e, func(part spec.Event) {
			switch {
			case part.Kind == spec.ToolStart:
				begun[part.Call] = true
			case part.Kind == spec.ToolCall || part.Kind == spec.ToolEnd:
				made[part.Call], earlier[part.Call] = true, true // a call may have no id
			case part.Kind == spec.ToolResult && part.Call != "" && !judged[part.Call]:
				judged[part.Call] = true
				if begun[part.Call] && !made[part.Call] {
					p.Judge(part, made[""], "the result of call %q came before the call was ended by %s", part.Call, ask.KindName(spec.ToolEnd, "its end"))
					return
				}
				p.Judge(part, made[part.Call] || made[""], "a result of call %q, which was not made before it", part.Call)
			}
		})
	}
}

// offered says whether a request offers a tool of the name.
func offered(ask spec.Event, name string) bool {
	return slices.ContainsFunc(ask.Parts, func(p spec.Event) bool { return p.Kind == spec.InputTool && p.Name == name })
}

// A call is one call of a tool as a stream has told it.
type call struct {
	start           *spec.Event
	ended, answered bool
}

// callsOf lets a rule see the calls of a stream that answers a request with tools, at
// each event and at the end.
type callsOf struct {
	ask  spec.Event
	keep func(spec.Event) *spec.Event
	list []*call // in the order in which they began
	byID map[string]*call
	left int // how many are of the client, have ended, and were not answered
	// halted: an interrupt, or a failure, left the calls as they were. Who has to
	// answer them cannot be told then.
	halted bool
}

func (c *callsOf) find(id string) *call { return c.byID[id] }

// isLeft reports whether a call is left to the client.
func (c *callsOf) isLeft(k *call) bool { return k != nil && k.ended && !k.answered && c.ofClient(k) }

// ofClient says that a call is of a tool that the request offers.
func (c *callsOf) ofClient(k *call) bool { return offered(c.ask, k.start.Name) }

func (c *callsOf) hear(e spec.Event) {
	k := c.find(e.Call)
	was := c.isLeft(k)
	switch e.Kind {
	case spec.ToolStart, spec.ToolCall:
		if k == nil {
			k = &call{start: c.keep(e), ended: e.Kind == spec.ToolCall}
			c.list, c.byID[e.Call] = append(c.list, k), k
		}
	case spec.ToolEnd:
		if k != nil {
			k.ended = true
		}
	case spec.ToolResult:
		if k != nil {
			k.answered = true
		}
	case spec.Interrupt, spec.RunError, spec.RunRefused:
		c.halted = true
	}
	switch is := c.isLeft(k); {
	case is && !was:
		c.left++
	case was && !is:
		c.left--
	}
}

// clientCalls is a rule about such a stream.
func clientCalls(judge func(p *spec.Pass, e spec.Event, c *callsOf)) watch {
	return tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
		c := &callsOf{ask: ask, keep: keeper(p), byID: map[string]*call{}}
		_, offers := ask.Last(spec.InputTool)
		return func(e spec.Event) {
			if offers {
				judge(p, e, c)
				c.hear(e)
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
	Watch: clientCalls(func(p *spec.Pass, e spec.Event, c *callsOf) {
		switch {
		case e.Kind == spec.ToolResult:
			if k := c.find(e.Call); k != nil && c.ofClient(k) {
				p.Judge(e, false, "the server answered call %q of the client's tool %s", e.Call, k.start.Name)
			}
		case whole(e):
			for _, k := range c.list {
				if c.ofClient(k) && !k.answered {
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
	Watch: clientCalls(func(p *spec.Pass, e spec.Event, c *callsOf) {
		if !whole(e) || c.halted {
			return
		}
		for _, k := range c.list {
			if !k.answered {
				p.Judge(*k.start, c.ofClient(k), "a call of %q is left to the client, and the request does not offer it", k.start.Name)
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
	Watch: clientCalls(func(p *spec.Pass, e spec.Event, c *callsOf) {
		switch thing := e.Kind.Subject(); {
		case c.left == 0:
		case thing == "message" || thing == "reasoning" || thing == "content":
			p.Judge(e, e.Text == "", "%s comes after a call that the client has to answer", e.DisplayName())
		case whole(e):
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
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var interrupt spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Interrupt:
				interrupt = e
			case interrupt.Raw == nil || e.Kind == spec.Unrecognized || isDelta(e) && e.Text == "":
			case e.IsFrame():
				p.Judge(e, terminal(e) || e.Kind == spec.Done, "%s comes after an interrupt", e.DisplayName())
			case whole(e):
				p.Judge(interrupt, true, "")
			}
		}
	}),
}
