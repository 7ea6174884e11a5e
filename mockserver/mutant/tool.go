package mutant

import (
	"strings"
	"sync"

	"github.com/streamassay/streamassay/mockserver/fault"
	"github.com/streamassay/streamassay/spec"
)

// What calls and interrupts have to be, requirement by requirement, as the catalogues
// call it.
var (
	lawsArguments = []string{"agentscope-java.tool.call", "agentscope.tool-arguments-json", "agkit.order.args-json", "runs.stream.tool-arguments"}
	lawsResult    = []string{"agentscope-java.tool.result", "agentscope.tool-paired", "agkit.order.result-after-end"}
)

var toolMutants = []*Mutant{
	{
		Name: "call-unopened", Doc: "the event that opens a call is not told",
		Fault:  "call-not-started",
		Breaks: []string{"agkit.order.start-first"},
		Kills:  map[string]string{"tool.starts-first": "tool.delta"},
		Also:   []string{"script.tool", "script.tools", "script.client-tool*", "tool.arguments-are-json", "tool.client-call-is-offered"}, // the opening says which tool is called
	}, {
		Name: "piece-of-no-call", Doc: "a piece of the arguments names a call that was never opened",
		Fault:  "unknown-call",
		Breaks: []string{"agkit.order.start-first"},
		Kills:  map[string]string{"tool.starts-first": "tool.delta"},
		Also:   []string{"script.tool", "script.tools", "script.client-tool*", "tool.arguments-are-json"}, // the piece is missing in its call, and is one of another
	}, {
		Name: "call-unended", Doc: "the event that ends a call is not told",
		Fault:  "call-not-ended",
		Breaks: []string{"agkit.order.ended"},
		Kills:  map[string]string{"tool.all-end": "tool.start"},
		Also:   []string{"tool.result-after-call", "tool.arguments-are-json"}, // the result comes for a call that is not whole
	}, {
		Name: "calls-unended", Doc: "no call is ever said to have ended",
		Play:   dropping(fault.Of(spec.ToolEnd)),
		Breaks: []string{"agkit.order.ended"},
		Kills:  map[string]string{"tool.all-end": "tool.start"},
		Also:   []string{"tool.result-after-call", "tool.arguments-are-json"}, // as above
	}, {
		Name: "arguments-broken", Doc: "the arguments of a call have a brace too many",
		Fault:  "arguments-broken",
		Breaks: lawsArguments,
		Kills:  map[string]string{"tool.arguments-are-json": "tool.call tool.end"},
		Also:   []string{"script.tool", "script.tools", "script.client-tool*", "message.content-equals"}, // those are not the arguments that were asked for
	}, {
		Name: "arguments-in-single-quotes", Doc: "the arguments of calls are in single quotes, as Python prints them",
		Play: everyEvent(anything, func(e *spec.Event) {
			within(e, func(p *spec.Event) {
				if p.Kind == spec.ToolDelta || p.Kind == spec.ToolCall {
					p.Text = strings.ReplaceAll(p.Text, `"`, `'`)
				}
			})
		}),
		Breaks: lawsArguments,
		Kills:  map[string]string{"tool.arguments-are-json": "tool.call tool.end"},
		Also:   []string{"script.tool", "script.tools", "script.client-tool*"}, // as above
	}, {
		Name: "call-opened-twice", Doc: "a call is opened twice",
		Fault:  "reused-call-id",
		Breaks: []string{"agkit.order.id-unique"},
		Kills:  map[string]string{"tool.ids-unique": "tool.start"},
		Also:   []string{"script.tool", "script.tools", "script.client-tool*"}, // the second is one more call
	}, {
		Name: "one-id-for-all-calls", Doc: "all calls have one id",
		Play: everyEvent(anything, func(e *spec.Event) {
			within(e, func(p *spec.Event) {
				if p.Call != "" {
					p.Call = "the-call"
				}
			})
		}),
		Breaks: []string{"agkit.order.id-unique"},
		Kills:  map[string]string{"tool.ids-unique": "tool.start"},
		Also:   []string{"script.tools", "tool.arguments-are-json", "tool.starts-first", "tool.all-end", "tool.result-after-call", "message.*"}, // two calls at once cannot be told apart
	}, {
		Name: "result-of-no-call", Doc: "results name calls that were never made",
		Fault:  "unknown-result",
		Breaks: lawsResult,
		Kills:  map[string]string{"tool.result-after-call": "tool.result"},
		Also:   []string{"script.tool", "script.tools"}, // the call has no result, and the result stands for one more call
	}, {
		Name: "result-before-its-call-ends", Doc: "the result of a call is told before the call has ended",
		Fault:  "result-early",
		Breaks: []string{"agkit.order.result-after-end"},
		Kills:  map[string]string{"tool.result-after-call": "tool.result"},
		Also:   []string{"done.is-last", "tool.all-end", "tool.client-call-ends-stream"}, // what waits for a result comes when the run is over, where there is none
	}, {
		Name: "client-call-answered", Doc: "the server answers a call of the client's tool itself",
		Play:   adding(callOf("paint"), func(e *spec.Event) []spec.Event { return []spec.Event{result(e, "done that")} }),
		Breaks: []string{"agkit.client-tool.no-server-result"},
		Kills:  map[string]string{"tool.client-call-is-left-open": "tool.result"},
		Also:   []string{"script.client-tool*"}, // the client has nothing to answer
	}, {
		Name: "client-call-answered-with-nothing", Doc: "the server answers a call of the client's tool with an empty result, when all else is told",
		Play:   answeringLate("paint"),
		Breaks: []string{"agkit.client-tool.no-server-result"},
		Kills:  map[string]string{"tool.client-call-is-left-open": "tool.result"},
		Also:   []string{"script.client-tool*"}, // as above
	}, {
		Name: "tool-of-nobody", Doc: "the client is to run a tool that it does not have",
		Play:   everyEvent(func(e *spec.Event) bool { return e.Name == "paint" }, func(e *spec.Event) { e.Name = "sculpt" }),
		Breaks: []string{"agkit.client-tool.name"},
		Kills:  map[string]string{"tool.client-call-is-offered": "tool.start"},
		Also:   []string{"script.client-tool*"}, // another tool was asked for
	}, {
		Name: "tool-in-capitals", Doc: "the client's tool is called by its name in capitals",
		Play:   everyEvent(func(e *spec.Event) bool { return e.Name == "paint" }, func(e *spec.Event) { e.Name = "PAINT" }),
		Breaks: []string{"agkit.client-tool.name"},
		Kills:  map[string]string{"tool.client-call-is-offered": "tool.start"},
		Also:   []string{"script.client-tool*"}, // as above
	}, {
		Name: "talks-on-after-the-client-call", Doc: "after a call that the client has to answer the server says something",
		Play:   adding(callOf("paint"), another),
		Breaks: []string{"agkit.client-tool.no-server-result"},
		Kills:  map[string]string{"tool.client-call-ends-stream": "message.delta"},
	}, {
		Name: "thinks-the-client-has-answered", Doc: "after a call that the client has to answer the server says that it was done",
		Play:   sayingLast("paint", "It is painted."),
		Breaks: []string{"agkit.client-tool.no-server-result"},
		Kills:  map[string]string{"tool.client-call-ends-stream": "message.delta"},
	}, {
		Name: "talks-on-after-the-interrupt", Doc: "after an interrupt the run says something",
		Fault:  "interrupt-not-last",
		Breaks: []string{"agkit.order.interrupt-last"},
		Kills:  map[string]string{"interrupt.is-last": "message.delta"},
		Also:   []string{"script.interrupt", "script.resume"}, // nobody has asked for words
	}, {
		Name: "calls-after-the-interrupt", Doc: "after an interrupt the run calls a tool",
		Play: adding(fault.Of(spec.Interrupt), func(e *spec.Event) []spec.Event {
			call := spec.Event{Thread: e.Thread, Run: e.Run, Call: "after-" + e.ID}
			return []spec.Event{
				changed(&call, func(o *spec.Event) { o.Kind, o.Name = spec.ToolStart, "lookup" }),
				changed(&call, func(o *spec.Event) { o.Kind, o.Text = spec.ToolDelta, "{}" }),
				changed(&call, func(o *spec.Event) { o.Kind = spec.ToolEnd }),
			}
		}),
		Breaks: []string{"agkit.order.interrupt-last"},
		Kills:  map[string]string{"interrupt.is-last": "tool.start"},
		Also:   []string{"script.interrupt", "script.resume", "tool.*"}, // nobody has asked for a call, and it has no result
	},
}

// callOf fits the ends of calls of a tool. It is told of their beginnings as well.
func callOf(tool string) func(*spec.Event) bool {
	var calls sync.Map // runs may be told side by side
	return func(e *spec.Event) bool {
		if e.Kind == spec.ToolStart && e.Name == tool {
			calls.Store(e.Call, true)
		}
		_, ours := calls.Load(e.Call)
		return ours && e.Kind == spec.ToolEnd
	}
}

// result is a result of the call that an event ends.
func result(e *spec.Event, text string) spec.Event {
	return spec.Event{Kind: spec.ToolResult, Thread: e.Thread, Run: e.Run, Message: e.Call + "-r", Call: e.Call, Text: text}
}

// answeringLate answers the calls of a tool with nothing, as the last thing in the run.
func answeringLate(tool string) play {
	return beforeTheEnd(tool, func(e *spec.Event) []spec.Event { return []spec.Event{result(e, "")} })
}

// sayingLast says something as the last thing in a run that calls a tool.
func sayingLast(tool, text string) play {
	return beforeTheEnd(tool, func(e *spec.Event) []spec.Event {
		return []spec.Event{{Kind: spec.MessageDelta, Thread: e.Thread, Run: e.Run, Message: e.Run + "-last", Text: text}}
	})
}

// beforeTheEnd tells more before the end of a run that calls a tool.
func beforeTheEnd(tool string, more func(call *spec.Event) []spec.Event) play {
	return retold(func() func(e *spec.Event, tell func(*spec.Event)) {
		ended := callOf(tool)
		var call *spec.Event
		return func(e *spec.Event, tell func(*spec.Event)) {
			if ended(e) {
				kept := *e
				call = &kept
			}
			if terminal(e) && call != nil {
				all := more(call)
				for i := range all {
					tell(&all[i])
				}
				call = nil
			}
			tell(e)
		}
	})
}
