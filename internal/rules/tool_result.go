package rules

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
)

var toolResultChecks = []*spec.Check{ResultNamesCall, ResultAfterEnd, InterruptIDsDiffer}

// ResultNamesCall judges whether each tool result names a tool call that was made.
var ResultNamesCall = &spec.Check{
	ID: "tool.result-names-call",
	Doc: `a tool result names a call of its run, of an earlier run of the thread, or of the request

A result for an unknown call is not judged if the request itself answers a call or an interrupt that no
earlier exchange contains: the server may know that run although it was not recorded.`,
	Needs: []spec.Kind{spec.ToolStart, spec.ToolResult},
	Watch: func(p *spec.Pass) func(spec.Event) {
		exchanges, keep := exchangesOf(p), keeper(p)
		return eachStream(func(p *spec.Pass, request spec.Event) func(spec.Event) {
			var results []*spec.Event // those of calls that are not known yet
			return func(e spec.Event) {
				switch {
				case e.Kind == spec.ToolResult && e.Call != "":
					if exchanges.asked.hasCall(request, e.Call) {
						p.Judge(e, true, "")
					} else {
						results = append(results, keep(e))
					}
				case isCleanEnd(e) && !exchanges.current.unaskedAnswer:
					for _, result := range results {
						p.Judge(*result, exchanges.asked.hasCall(request, result.Call),
							"got a result for call %q, which was not made; expected results only for calls that were made", result.Call)
					}
				}
			}
		})(p)
	},
}

// ResultAfterEnd judges whether a tool result comes after the end of its call if both are in the
// same stream.
var ResultAfterEnd = &spec.Check{
	ID:    "tool.result-after-end",
	Doc:   "a tool result comes after the end of its call, if the call is in the same stream",
	Needs: []spec.Kind{spec.ToolStart, spec.ToolEnd, spec.ToolResult},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		ended := map[string]bool{} // by call, from its start
		early := map[string]spec.Event{}
		return func(e spec.Event) {
			switch e.Kind {
			case spec.ToolStart:
				ended[e.Call] = false
				if result, ok := early[e.Call]; ok {
					p.Judge(result, false, "result of call %q comes before the call starts; expected it after the end", e.Call)
					delete(early, e.Call)
				}
			case spec.ToolEnd:
				ended[e.Call] = true
			case spec.ToolResult:
				if isEnded, started := ended[e.Call]; started {
					p.Judge(e, isEnded, "result of call %q comes before the end of the call; expected it after the end", e.Call)
				} else {
					early[e.Call] = e
				}
			}
		}
	}),
}

// InterruptIDsDiffer judges whether the interrupts of a run have different ids.
var InterruptIDsDiffer = &spec.Check{
	ID: "interrupt.ids-differ",
	Doc: `the interrupts of a run have different ids

The next request answers each interrupt by its id.`,
	Needs: []spec.Kind{spec.Interrupt},
	Watch: eachStream(func(p *spec.Pass, _ spec.Event) func(spec.Event) {
		seen := map[string]bool{}
		return func(e spec.Event) {
			switch {
			case isTerminal(e):
				clear(seen)
			case e.Kind == spec.Interrupt && e.ID != "":
				p.Judge(e, !seen[e.ID], "got a second interrupt with the id %q; expected an id of its own", e.ID)
				seen[e.ID] = true
			}
		}
	}),
}

// An answerableItems is the set of the tool calls and interrupts that the streams of a
// conversation have sent so far. The client may answer them.
type answerableItems map[callOrInterruptKey]bool

// A callOrInterruptKey identifies a tool call or an interrupt by its thread, subject and id. The
// subject is "tool" or "interrupt".
type callOrInterruptKey struct{ thread, subject, id string }

// record adds e to the known calls and interrupts if it is the start of a tool call, a complete
// tool call or an interrupt. The event e must belong to the response to request.
func (a answerableItems) record(request, e spec.Event) {
	switch e.Kind {
	case spec.ToolStart, spec.ToolCall:
		a[callOrInterruptKey{request.Thread, "tool", e.Call}] = true
	case spec.Interrupt:
		a[callOrInterruptKey{request.Thread, "interrupt", e.ID}] = true
	}
}

// hasCall reports whether the tool call with the given id is known: from an earlier event of the
// thread that request names, or from a part of request other than a tool result.
func (a answerableItems) hasCall(request spec.Event, id string) bool {
	told := false
	for _, part := range request.Parts {
		walkParts(part, func(p spec.Event) { told = told || p.Kind != spec.InputToolResult && p.Call == id })
	}
	return told || a[callOrInterruptKey{request.Thread, "tool", id}]
}

// isAnsweredUnasked reports whether request has the result of an unknown tool call (see hasCall),
// or a resume for an interrupt that was not seen in its thread. Only the server can know whether
// such a call or interrupt exists.
func (a answerableItems) isAnsweredUnasked(request spec.Event) bool {
	return slices.ContainsFunc(request.Parts, func(p spec.Event) bool {
		switch p.Kind {
		case spec.InputToolResult:
			return p.Call != "" && !a.hasCall(request, p.Call)
		case spec.InputResume:
			return p.ID != "" && !a[callOrInterruptKey{request.Thread, "interrupt", p.ID}]
		}
		return false
	})
}
