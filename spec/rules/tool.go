package rules

import (
	"encoding/json"
	"fmt"
	"slices"

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
				p.Judge(e, open[e.Call], "%s of call %q, which is not open", e.Kind, e.Call)
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
		open := map[string]spec.Event{}
		failed := false
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.ToolStart:
				if !slices.Contains(order, e.Call) {
					order = append(order, e.Call)
				}
				open[e.Call] = e
			case e.Kind == spec.ToolEnd:
				if start, ok := open[e.Call]; ok {
					p.Judge(start, true, "")
				}
				delete(open, e.Call)
			case e.Kind == spec.RunError || e.Kind == spec.RunRefused:
				failed = true
			case whole(e) && !failed:
				for _, id := range order {
					if start, ok := open[id]; ok {
						p.Judge(start, false, "call %q never ended", id)
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

A client parses them only when the call ends; what does not parse cannot be executed.`,
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		joined := map[string]string{}
		calls := map[string]spec.Event{} // in one piece, as far as told
		var order []string
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.ToolStart:
				joined[e.Call] = ""
			case e.Kind == spec.ToolDelta:
				joined[e.Call] += e.Text
			case e.Kind == spec.ToolEnd:
				p.Judge(e, json.Valid([]byte(joined[e.Call])), "the arguments of call %q are %q", e.Call, joined[e.Call])
			case e.Kind == spec.Closed:
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
		here := map[string]bool{}
		return func(e spec.Event) {
			switch e.Kind {
			case spec.Asked:
				ask = e
				clear(here)
			case spec.ToolStart:
				if ask.Cursor != "" || !ask.Whole() {
					return
				}
				// The same run told again is no second use.
				telling := ask.Run
				if telling == "" {
					telling = fmt.Sprint("exchange ", e.Exchange)
				}
				key := use{ask.Thread, e.Call}
				before, ok := used[key]
				p.Judge(e, !here[e.Call] && (!ok || before == telling), "call %q was started before", e.Call)
				used[key] = telling
				here[e.Call] = true
			}
		}
	},
}

// ResultAfterCall judges the order of call and result.
var ResultAfterCall = &spec.Check{
	ID:    "tool.result-after-call",
	Doc:   "a result names a call that was made, and ended, before it in the same stream",
	Needs: []spec.Kind{spec.ToolResult},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		made, judged := map[string]bool{}, map[string]bool{}
		return func(e spec.Event) {
			if e.Kind == spec.RunEnd {
				return // what it lists was told before
			}
			inside(e, func(part spec.Event) {
				switch {
				case part.Kind == spec.ToolCall || part.Kind == spec.ToolEnd:
					made[part.Call] = true // a call may have no id
				case part.Kind == spec.ToolResult && part.Call != "" && !judged[part.Call]:
					judged[part.Call] = true
					p.Judge(part, made[part.Call] || made[""], "a result of call %q, which was not made before it", part.Call)
				}
			})
		}
	}),
}

// offered says whether a request offers a tool of the name.
func offered(ask spec.Event, name string) bool {
	return slices.ContainsFunc(ask.Parts, func(p spec.Event) bool { return p.Kind == spec.AskToolSpec && p.Name == name })
}

// A call is one call of a tool as a stream has told it.
type call struct {
	start    spec.Event
	answered bool
}

// clientCalls lets a rule see the calls of a stream that answers a request with
// tools, at each event and at the end.
func clientCalls(judge func(p *spec.Pass, ask, e spec.Event, calls map[string]*call)) watch {
	return tellings(func(p *spec.Pass, ask spec.Event) func(spec.Event) {
		calls := map[string]*call{}
		_, offers := ask.Last(spec.AskToolSpec)
		return func(e spec.Event) {
			if !offers {
				return
			}
			judge(p, ask, e, calls)
			switch e.Kind {
			case spec.ToolStart, spec.ToolCall:
				if calls[e.Call] == nil {
					calls[e.Call] = &call{start: e}
				}
			case spec.ToolResult:
				if c := calls[e.Call]; c != nil {
					c.answered = true
				}
			}
		}
	})
}

// ClientCallIsLeftOpen judges who answers calls of the client's tools.
var ClientCallIsLeftOpen = &spec.Check{
	ID: "tool.client-call-is-left-open",
	Doc: `a call of a tool that the request offers is left to the client

The server cannot run it; a result from the server would be an invention.`,
	Needs: []spec.Kind{spec.AskToolSpec, spec.ToolResult},
	Watch: clientCalls(func(p *spec.Pass, ask, e spec.Event, calls map[string]*call) {
		switch {
		case e.Kind == spec.ToolResult:
			if c := calls[e.Call]; c != nil && offered(ask, c.start.Name) {
				p.Judge(e, false, "the server answered call %q of the client's tool %s", e.Call, c.start.Name)
			}
		case whole(e):
			for _, c := range calls {
				if offered(ask, c.start.Name) && !c.answered {
					p.Judge(c.start, true, "")
				}
			}
		}
	}),
}

// ClientCallIsOffered judges which tools are left to the client.
var ClientCallIsOffered = &spec.Check{
	ID:    "tool.client-call-is-offered",
	Doc:   "a call that is left to the client is of a tool that the request offers",
	Needs: []spec.Kind{spec.AskToolSpec},
	Watch: clientCalls(func(p *spec.Pass, ask, e spec.Event, calls map[string]*call) {
		if !whole(e) {
			return
		}
		for _, c := range calls {
			if !c.answered {
				p.Judge(c.start, offered(ask, c.start.Name), "a call of %q is left to the client, and the request does not offer it", c.start.Name)
			}
		}
	}),
}

// ClientCallEndsStream judges what follows a call that is left to the client.
var ClientCallEndsStream = &spec.Check{
	ID:    "tool.client-call-ends-stream",
	Doc:   "after a call that is left to the client the stream ends",
	Needs: []spec.Kind{spec.AskToolSpec, spec.ToolEnd},
	Watch: clientCalls(func(p *spec.Pass, ask, e spec.Event, calls map[string]*call) {
		left := false
		for _, c := range calls {
			left = left || offered(ask, c.start.Name) && !c.answered
		}
		thing := e.Kind.Thing()
		if left && e.Frame() && thing != "tool" {
			p.Judge(e, thing != "message" && thing != "reasoning" || e.Kind.Phase() == "end", "%s comes after a call that the client has to answer", e.Kind)
		} else if left && whole(e) {
			p.Judge(e, true, "")
		}
	}),
}

// InterruptIsLast judges what follows an interrupt.
var InterruptIsLast = &spec.Check{
	ID:    "interrupt.is-last",
	Doc:   "after an interrupt only the end of the run and the sentinel come",
	Needs: []spec.Kind{spec.Interrupt},
	Watch: tellings(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		var interrupt spec.Event
		return func(e spec.Event) {
			switch {
			case e.Kind == spec.Interrupt:
				interrupt = e
			case interrupt.Raw == nil:
			case e.Frame():
				p.Judge(e, terminal(e) || e.Kind == spec.Done, "%s comes after an interrupt", e.Kind)
			case whole(e):
				p.Judge(interrupt, true, "")
			}
		}
	}),
}
