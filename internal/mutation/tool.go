package mutation

import (
	"strings"
	"sync"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// toolMutants are servers that violate the rules about tool calls, their results and interrupts.
var toolMutants = []*Mutant{
	{
		Name: "tool-call-start-missing", Doc: "omits the start event of a tool call",
		Fault:     "call-not-started",
		KilledBy:  map[string]string{"tool.starts-first": "tool.delta"},
		AlsoFails: []string{"script.tool", "script.tools", "script.client-tool*", "tool.arguments-are-json", "tool.client-call-is-offered", "tool.result-names-call"}, // the start event carries the name of the tool
	}, {
		Name: "argument-delta-unknown-call", Doc: "sends an argument delta that names a tool call that was never started",
		Fault:     "unknown-call",
		KilledBy:  map[string]string{"tool.starts-first": "tool.delta"},
		AlsoFails: []string{"script.tool", "script.tools", "script.client-tool*", "tool.arguments-are-json"}, // the delta is missing in its call and added to another one
	}, {
		Name: "tool-call-end-missing", Doc: "omits the end event of a tool call",
		Fault:     "call-not-ended",
		KilledBy:  map[string]string{"tool.all-end": "done http.close run.end"},
		AlsoFails: []string{"tool.result-after-call", "tool.result-after-end", "tool.arguments-are-json"}, // the result arrives before the arguments are complete
	}, {
		Name: "tool-call-ends-all-missing", Doc: "never reports a tool call as ended",
		NewEffect: dropEvents(fault.OfKind(spec.ToolEnd)),
		KilledBy:  map[string]string{"tool.all-end": "done http.close run.end"},
		AlsoFails: []string{"tool.result-after-call", "tool.result-after-end", "tool.arguments-are-json"}, // the result arrives before the arguments are complete
	}, {
		Name: "arguments-with-extra-brace", Doc: "sends the arguments of a tool call with one brace too many",
		Fault:     "arguments-broken",
		KilledBy:  map[string]string{"tool.arguments-are-json": "tool.call tool.end"},
		AlsoFails: []string{"script.tool", "script.tools", "script.client-tool*", "message.content-equals"}, // the arguments differ from those that the prompt asked for
	}, {
		Name: "arguments-in-single-quotes", Doc: "sends the arguments of tool calls in single quotes, as Python prints them",
		NewEffect: changeParts(anyEvent, func(p *spec.Event) {
			if p.Kind == spec.ToolDelta || p.Kind == spec.ToolCall {
				p.Text = strings.ReplaceAll(p.Text, `"`, `'`)
			}
		}),
		KilledBy:  map[string]string{"tool.arguments-are-json": "tool.call tool.end"},
		AlsoFails: []string{"script.tool", "script.tools", "script.client-tool*"}, // the arguments differ from those that the prompt asked for
	}, {
		Name: "tool-call-start-twice", Doc: "sends the start event of a tool call twice",
		Fault:     "reused-call-id",
		KilledBy:  map[string]string{"tool.ids-unique": "tool.start", "tool.starts-in-turn": "tool.start"},
		AlsoFails: []string{"script.tool", "script.tools", "script.client-tool*"}, // the repeated start counts as another call
	}, {
		Name: "call-id-same-for-all", Doc: "uses the same id for all tool calls",
		NewEffect: changeParts(anyEvent, func(p *spec.Event) {
			if p.Call != "" {
				p.Call = "the-call"
			}
		}),
		KilledBy:  map[string]string{"tool.ids-unique": "tool.start"},
		AlsoFails: []string{"script.tools", "tool.arguments-are-json", "tool.starts-first", "tool.all-end", "tool.result-after-call", "message.*"}, // two open calls with the same id cannot be distinguished
	}, {
		Name: "tool-result-unknown-call", Doc: "sends tool results that name tool calls that were never made",
		Fault:    "unknown-result",
		KilledBy: map[string]string{"tool.result-after-call": "tool.result", "tool.result-names-call": "tool.result"},
		// The call has no result, as if it were left to the client, and the result counts as another
		// call.
		AlsoFails: []string{"script.tool", "script.tools", "tool.client-call-is-offered"},
	}, {
		Name: "tool-result-before-call-end", Doc: "sends a tool result before its tool call has ended",
		Fault:     "result-early",
		Needs:     []spec.Kind{spec.ToolEnd},
		KilledBy:  map[string]string{"tool.result-after-call": "tool.result", "tool.result-after-end": "tool.result"},
		AlsoFails: []string{"done.is-last", "run.ends-in-turn", "tool.all-end", "tool.starts-first", "tool.client-call-ends-stream"}, // without a result, events that wait for it are sent after the end of the run
	}, {
		Name: "client-call-answered", Doc: "sends a tool result for a call of a client tool",
		NewEffect: insertAfter(endOfCall("paint"), func(e *spec.Event) []*spec.Event { return []*spec.Event{toolResult(e, "done that")} }),
		Needs:     []spec.Kind{spec.ToolEnd}, // elsewhere, a result belongs to a message of its own
		KilledBy:  map[string]string{"tool.client-call-is-left-open": "tool.result"},
		AlsoFails: []string{"script.client-tool*"}, // the client receives no call that it could answer
	}, {
		Name: "client-call-empty-result", Doc: "sends an empty tool result for a call of a client tool at the end of the run",
		NewEffect: insertBeforeEnd("paint", func(e *spec.Event) []*spec.Event { return []*spec.Event{toolResult(e, "")} }),
		Needs:     []spec.Kind{spec.ToolEnd}, // elsewhere, a result belongs to a message of its own
		KilledBy:  map[string]string{"tool.client-call-is-left-open": "tool.result"},
		AlsoFails: []string{"script.client-tool*"}, // the client receives no call that it could answer
	}, {
		Name: "client-tool-not-offered", Doc: "calls a client tool that the client does not have",
		NewEffect: changeEvents(func(e *spec.Event) bool { return e.Name == "paint" }, func(e *spec.Event) { e.Name = "sculpt" }),
		KilledBy:  map[string]string{"tool.client-call-is-offered": "tool.start"},
		AlsoFails: []string{"script.client-tool*"}, // the prompt asked for another tool
	}, {
		Name: "client-tool-uppercase", Doc: "calls the client tool by its name in upper case",
		NewEffect: changeEvents(func(e *spec.Event) bool { return e.Name == "paint" }, func(e *spec.Event) { e.Name = "PAINT" }),
		KilledBy:  map[string]string{"tool.client-call-is-offered": "tool.start"},
		AlsoFails: []string{"script.client-tool*"}, // the prompt asked for another tool
	}, {
		Name: "text-after-client-call", Doc: "sends a text after a call of a client tool",
		NewEffect: insertAfter(endOfCall("paint"), extraMessage),
		KilledBy:  map[string]string{"tool.client-call-ends-stream": "message.delta"},
		AlsoFails: []string{"script.client-tool"}, // the prompt asks for no text after the call
	}, {
		Name: "client-call-reported-done", Doc: "sends a text after a call of a client tool to report that the call was done",
		NewEffect: insertBeforeEnd("paint", func(e *spec.Event) []*spec.Event {
			return []*spec.Event{{
				Kind: spec.MessageDelta, Thread: e.Thread, Run: e.Run, Message: e.Run + "-last", Text: "It is painted.",
			}}
		}),
		KilledBy:  map[string]string{"tool.client-call-ends-stream": "message.delta"},
		AlsoFails: []string{"script.client-tool"}, // the prompt asks for no text after the call
	}, {
		Name: "text-after-interrupt", Doc: "sends a text after an interrupt",
		Fault:     "interrupt-not-last",
		KilledBy:  map[string]string{"interrupt.is-last": "message.delta"},
		AlsoFails: []string{"script.interrupt", "script.resume"}, // the prompt did not ask for text
	}, {
		Name: "tool-call-after-interrupt", Doc: "calls a tool after an interrupt",
		NewEffect: insertAfter(fault.OfKind(spec.Interrupt), func(e *spec.Event) []*spec.Event {
			call := spec.Event{Thread: e.Thread, Run: e.Run, Call: "after-" + e.ID}
			return []*spec.Event{
				withChange(&call, func(o *spec.Event) { o.Kind, o.Name = spec.ToolStart, "lookup" }),
				withChange(&call, func(o *spec.Event) { o.Kind, o.Text = spec.ToolDelta, "{}" }),
				withChange(&call, func(o *spec.Event) { o.Kind = spec.ToolEnd }),
			}
		}),
		KilledBy:  map[string]string{"interrupt.is-last": "tool.start"},
		AlsoFails: []string{"script.interrupt", "script.resume", "tool.*"}, // the prompt did not ask for a call, and the call has no result
	},
}

// endOfCall returns a function that reports whether its argument ends a call of the named tool. The
// function must be called with all events of a run, in order, because only the event that starts a
// call has the name of the tool. It may be called concurrently for several runs.
func endOfCall(tool string) func(*spec.Event) bool {
	var calls sync.Map // runs may be streamed concurrently
	return func(e *spec.Event) bool {
		if e.Kind == spec.ToolStart && e.Name == tool {
			calls.Store(e.Call, true)
		}
		_, ours := calls.Load(e.Call)
		return ours && e.Kind == spec.ToolEnd
	}
}

// toolResult returns an event with the result of a tool call. The argument e is the event that ends
// the call, and text is the result as JSON text or plain text.
func toolResult(e *spec.Event, text string) *spec.Event {
	return &spec.Event{
		Kind: spec.ToolResult, Thread: e.Thread, Run: e.Run, Message: e.Call + "-r", Call: e.Call, Text: text,
	}
}

// insertBeforeEnd returns the effectFactory of a fault that inserts events right before the
// terminal event of each run that calls the named tool. The function more returns the events to
// insert. Its argument call is the event that ends the last call of the tool in the run.
func insertBeforeEnd(tool string, more func(call *spec.Event) []*spec.Event) effectFactory {
	return editEvents(func() eventEdit {
		ended := endOfCall(tool)
		var call *spec.Event
		return func(e *spec.Event, emit func(*spec.Event)) {
			if ended(e) {
				call = new(*e)
			}
			if isTerminal(e) && call != nil {
				for _, o := range more(call) {
					emit(o)
				}
				call = nil
			}
			emit(e)
		}
	})
}
