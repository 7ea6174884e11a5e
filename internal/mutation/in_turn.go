package mutation

import (
	"bytes"
	"slices"

	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// inTurnMutants are servers that send the start or the end of a run, a message, a section of
// reasoning, a tool call or a step twice, at the wrong time, or without its counterpart.
var inTurnMutants = []*Mutant{
	{
		Name: "run-start-twice", Doc: "sends the start event of the run twice in succession",
		NewEffect: insertAfter(fault.OfKind(spec.RunStart), sameAgain),
		KilledBy:  map[string]string{"run.starts-in-turn": "run.start"},
	}, {
		Name: "run-error-twice", Doc: "reports the failure of a run again with another error message",
		NewEffect: insertAfter(fault.OfKind(spec.RunError), func(e *spec.Event) []*spec.Event {
			return []*spec.Event{withChange(e, func(o *spec.Event) { o.Text = "failed to process the request: " + e.Text })}
		}),
		KilledBy:  map[string]string{"run.ends-in-turn": "run.error"},
		AlsoFails: []string{"script.error", "script.error-mid"},
	}, {
		Name: "message-start-twice", Doc: "sends the start event of a message twice",
		NewEffect: insertAfter(fault.OfKind(spec.MessageStart), sameAgain),
		KilledBy:  map[string]string{"message.in-turn": "message.start"},
	}, {
		Name: "message-end-twice", Doc: "sends the end event of a message twice",
		NewEffect: insertAfter(fault.OfKind(spec.MessageEnd), sameAgain),
		KilledBy:  map[string]string{"message.in-turn": "message.end"},
	}, {
		Name: "reasoning-end-early", Doc: "ends reasoning before its last delta",
		NewEffect: endReasoningEarly,
		KilledBy:  map[string]string{"message.in-turn": "reasoning.delta"},
	}, {
		Name: "tool-call-start-before-end", Doc: "sends the start event of a tool call again before its end event",
		NewEffect: editEvents(func() eventEdit {
			starts := map[string]spec.Event{}
			return func(e *spec.Event, emit func(*spec.Event)) {
				if e.Kind == spec.ToolStart {
					starts[e.Call] = *e
				}
				if start, ok := starts[e.Call]; ok && e.Kind == spec.ToolEnd {
					emit(&start)
				}
				emit(e)
			}
		}),
		KilledBy:  map[string]string{"tool.starts-in-turn": "tool.start"},
		AlsoFails: []string{"tool.arguments-are-json"}, // they begin with the start
		Without:   []spec.Kind{spec.Done},              // or else call-opened-twice is the same defect
	}, {
		Name: "step-end-missing", Doc: "starts a step at the beginning of the run and never ends it",
		Fault:    "step-end-missing",
		KilledBy: map[string]string{"step.all-end": "run.end"},
	}, {
		Name: "inner-step-end-missing", Doc: "ends only the outer one of two nested steps",
		NewEffect: insertAfter(fault.OfKind(spec.RunStart), func(e *spec.Event) []*spec.Event {
			return []*spec.Event{
				newStep(spec.StepStart, e, "outer"), newStep(spec.StepStart, e, "inner"), newStep(spec.StepEnd, e, "outer"),
			}
		}),
		KilledBy: map[string]string{"step.all-end": "run.end"},
	}, {
		Name: "step-end-without-start", Doc: "ends a step that never started",
		Fault:    "step-end-alone",
		KilledBy: map[string]string{"step.pairs": "step.end"},
	}, {
		Name: "step-start-twice", Doc: "starts a step that is already open",
		Fault:    "step-start-twice",
		KilledBy: map[string]string{"step.pairs": "step.start"},
	}, {
		Name: "step-end-other-name", Doc: "ends a step under another name",
		NewEffect: insertAfter(fault.OfKind(spec.RunStart), func(e *spec.Event) []*spec.Event {
			return []*spec.Event{newStep(spec.StepStart, e, "plan"), newStep(spec.StepEnd, e, "PLAN")}
		}),
		KilledBy:  map[string]string{"step.pairs": "step.end"},
		AlsoFails: []string{"step.all-end"}, // the first is left open
	},
}

// chunkMutants are servers whose chunks do not state to which message, call or tool they belong, or
// contradict an earlier chunk of the same message or call. A chunk is an event with a piece of a
// message or of a tool call. The first chunk also starts the message or call.
var chunkMutants = []*Mutant{
	{
		Name: "chunk-without-message-id", Doc: "sends the chunks of a message without a message id",
		Fault:     "chunk-unnamed",
		KilledBy:  map[string]string{"chunk.first-names": "message.delta"},
		AlsoFails: []string{"script.*"}, // clients have nothing to append the text to
	}, {
		Name: "chunk-without-tool-name", Doc: "sends the first chunk of a tool call without a tool name",
		NewEffect: insertAfter(fault.OfKind(spec.RunStart), func(e *spec.Event) []*spec.Event {
			return []*spec.Event{
				newChunk(spec.ToolDelta, e, spec.Event{Call: "x", Text: "{}"}),
				{Kind: spec.ToolResult, Thread: e.Thread, Run: e.Run, Message: "x-r", Call: "x", Text: "1"},
			}
		}),
		KilledBy:  map[string]string{"chunk.first-names": "tool.start"},
		AlsoFails: []string{"script.*"}, // no prompt asks for the call
	}, {
		Name: "chunk-role-changes", Doc: "sends the second chunk of a message with another role",
		NewEffect: insertAfter(fault.OfKind(spec.RunStart), func(e *spec.Event) []*spec.Event {
			return []*spec.Event{
				newChunk(spec.MessageDelta, e, spec.Event{Message: "x", Role: "assistant"}),
				newChunk(spec.MessageDelta, e, spec.Event{Role: "user"}),
			}
		}),
		KilledBy: map[string]string{"chunk.agrees": "message.delta"},
		AlsoFails: []string{
			"script.reasoning-apart", // the message of the chunks comes before the reasoning
			"wire.flushes",           // and before a pause that a prompt asks for
		},
	}, {
		Name: "chunk-tool-name-changes", Doc: "sends the second chunk of a tool call with another tool name",
		NewEffect: insertAfter(fault.OfKind(spec.RunStart), func(e *spec.Event) []*spec.Event {
			return []*spec.Event{
				newChunk(spec.ToolDelta, e, spec.Event{Call: "x", Name: "find_in_page", Text: "{"}),
				newChunk(spec.ToolDelta, e, spec.Event{Name: "find_in_file", Text: "}"}),
				{Kind: spec.ToolResult, Thread: e.Thread, Run: e.Run, Message: "x-r", Call: "x", Text: "1"},
			}
		}),
		KilledBy:  map[string]string{"chunk.agrees": "tool.delta"},
		AlsoFails: []string{"script.*"}, // no prompt asks for the call
	},
}

// lineMutants are servers that do not end the lines of a stream with LF, or that send a terminator
// such as [END] in a stream, although only other protocols have one.
var lineMutants = []*Mutant{
	{
		Name: "lines-end-with-crlf", Doc: "ends all lines of a stream with CRLF",
		NewEffect: replaceText("\n", "\r\n"),
		KilledBy:  map[string]string{"wire.lines-end-with-lf": "*"},
	}, {
		Name: "first-event-ends-with-crlf", Doc: "ends the lines of the first event of a stream with CRLF",
		Fault:    "crlf; streams=0",
		KilledBy: map[string]string{"wire.lines-end-with-lf": "*"},
	}, {
		Name: "last-event-ends-with-cr", Doc: "ends the lines of the last event with CR",
		NewEffect: changeLastFrame(func(frame []byte) []byte { return bytes.ReplaceAll(frame, []byte("\n"), []byte("\r")) }),
		KilledBy:  map[string]string{"wire.lines-end-with-lf": "*"},
		AlsoFails: []string{"wire.flushes"}, // each event is held until the next one
	}, {
		Name: "comments-end-with-crlf", Doc: "sends a comment after each event and ends its lines with CRLF",
		NewEffect: changeFrames(func(frame []byte) []byte { return append(frame, ": still here\r\n\r\n"...) }),
		KilledBy:  map[string]string{"wire.lines-end-with-lf": "comment"},
	}, {
		Name: "foreign-terminator-at-end", Doc: "sends the terminator of other protocols after the last event",
		NewEffect: changeLastFrame(func(frame []byte) []byte { return append(frame, "data: [END]\n\n"...) }),
		KilledBy:  map[string]string{"done.absent": "?"},
		AlsoFails: []string{"wire.frames-are-json", "wire.flushes"}, // each event is held until the next one
	}, {
		Name: "foreign-terminator-mid-stream", Doc: "sends the terminator of other protocols in the middle of a stream",
		NewEffect: insertFrame("[END]"),
		KilledBy:  map[string]string{"done.absent": "?"},
		AlsoFails: []string{"wire.frames-are-json"},
	},
}

// answerMutants are servers whose tool results name the wrong call or precede their call, or whose
// interrupts occur twice or share an id.
var answerMutants = []*Mutant{
	{
		Name: "tool-result-longer-call-id", Doc: "sends tool results with call ids that have one letter too many",
		NewEffect: changeEvents(fault.OfKind(spec.ToolResult), func(e *spec.Event) { e.Call += "x" }),
		KilledBy:  map[string]string{"tool.result-names-call": "tool.result"},
		AlsoFails: []string{"script.tool", "script.tools", "tool.client-call-is-offered"}, // the call has no result
	}, {
		Name: "tool-result-before-call", Doc: "sends a tool result before its tool call",
		NewEffect: sendResultsFirst,
		KilledBy:  map[string]string{"tool.result-after-end": "tool.result"},
		Needs:     []spec.Kind{spec.ToolResult},
		AlsoFails: []string{"script.tool", "script.tools"},
	}, {
		Name: "interrupt-twice", Doc: "sends the interrupt of the run twice in the terminal event",
		NewEffect: changeEvents(hasInterrupt, func(e *spec.Event) { e.Parts = append(slices.Clone(e.Parts), e.Parts...) }),
		KilledBy:  map[string]string{"interrupt.ids-differ": "interrupt"},
		AlsoFails: []string{"script.interrupt", "script.resume"}, // the prompt asked for one
	}, {
		Name: "interrupt-id-shared", Doc: "adds a second interrupt with another question and the id of the first to the terminal event",
		NewEffect: changeEvents(hasInterrupt, func(e *spec.Event) {
			other := e.Parts[len(e.Parts)-1]
			other.Text = `{"question":"Really?"}`
			e.Parts = append(slices.Clone(e.Parts), other)
		}),
		KilledBy:  map[string]string{"interrupt.ids-differ": "interrupt"},
		AlsoFails: []string{"script.interrupt", "script.resume"}, // the prompt asked for one
	},
}

// hasInterrupt reports whether e is the event that ends a run (run.end) and has an interrupt among
// its Parts.
func hasInterrupt(e *spec.Event) bool {
	_, ok := e.Last(spec.Interrupt)
	return e.Kind == spec.RunEnd && ok
}

// sameAgain returns a slice that contains only e. As an argument of insertAfter, it makes
// a server send an event twice.
func sameAgain(e *spec.Event) []*spec.Event { return []*spec.Event{e} }

// newStep returns an event of the kind k, [spec.StepStart] or [spec.StepEnd], for the step with the
// given name. The thread and the run of the event are those of e.
func newStep(k spec.Kind, e *spec.Event, name string) *spec.Event {
	return &spec.Event{Kind: k, Thread: e.Thread, Run: e.Run, Name: name}
}

// newChunk returns a copy of chunk that has the kind k and the thread and run of e, and whose field
// IsChunk is true.
func newChunk(k spec.Kind, e *spec.Event, chunk spec.Event) *spec.Event {
	chunk.Kind, chunk.Thread, chunk.Run, chunk.IsChunk = k, e.Thread, e.Run, true
	return &chunk
}

// endReasoningEarly is the effectFactory of a fault that swaps the last delta of reasoning with the
// end of the reasoning.
var endReasoningEarly = editEvents(func() eventEdit {
	var held *spec.Event
	return func(e *spec.Event, emit func(*spec.Event)) {
		if e.Kind == spec.ReasoningEnd {
			emit(e)
		}
		if held != nil {
			emit(held)
			held = nil
		}
		switch e.Kind {
		case spec.ReasoningDelta:
			held = new(*e)
		case spec.ReasoningEnd: // was sent before
		default:
			emit(e)
		}
	}
})

// sendResultsFirst is the effectFactory of a fault that sends the result of a tool call before the
// events of the call. Calls without a result are sent unchanged.
var sendResultsFirst = editEvents(func() eventEdit {
	var held []spec.Event // events of tool calls, until any other event arrives
	return func(e *spec.Event, emit func(*spec.Event)) {
		if e.Kind == spec.ToolStart || e.Kind == spec.ToolDelta || e.Kind == spec.ToolEnd {
			held = append(held, *e)
			return
		}
		if e.Kind == spec.ToolResult {
			emit(e)
		}
		for i := range held {
			emit(&held[i])
		}
		held = nil
		if e.Kind != spec.ToolResult {
			emit(e)
		}
	}
})
