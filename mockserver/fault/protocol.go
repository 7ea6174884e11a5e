package fault

import (
	"cmp"

	"github.com/streamassay/streamassay/spec"
)

// atEvent is the value of [Fault.Triggers] for faults that can only occur before an event.
var atEvent = []string{"event"}

// protocolFaults lists the faults that change the events of a run, or the frames that encode them.
// Faults without checks are allowed by the protocols and only test clients.
var protocolFaults = []*Fault{
	{
		Name: "first-missing", Doc: "the start event of the run is missing",
		RequiredKinds: []spec.Kind{spec.RunStart}, Checks: []string{"run.opens-first"},
		NewEffect: allMissing(OfKind(spec.RunStart)),
	},
	{
		Name: "start-late", Doc: "the event after the start of the run is sent before it",
		RequiredKinds: []spec.Kind{spec.RunStart}, Checks: []string{"run.opens-first", "run.comes-first"},
		NewEffect: editRun(startLate),
	},
	{
		Name: "double-start", Doc: "the start event of the run is repeated after its first content",
		RequiredKinds: []spec.Kind{spec.RunStart}, Triggers: atEvent, Checks: []string{"run.status-moves-forward"},
		NewEffect: repeated(OfKind(spec.RunStart), func(e, _ *spec.Event) bool { return e.Kind.Subject() != "run" }),
	},
	{
		Name: "progress-missing", Doc: "the event that reports the run as in progress is missing",
		RequiredKinds: []spec.Kind{spec.RunStart, spec.RunProgress},
		Checks:        []string{"run.progress-precedes-content"},
		NewEffect:     allMissing(OfKind(spec.RunProgress)),
	},
	{
		Name: "end-missing", Doc: "the terminal event of the run is missing",
		RequiredKinds: []spec.Kind{spec.RunEnd}, Checks: []string{"run.ends"},
		NewEffect: allMissing(isTerminal),
	},
	{
		Name: "double-end", Doc: "the terminal event of the run is sent twice",
		RequiredKinds: []spec.Kind{spec.RunEnd}, Checks: []string{"run.ends-once"},
		NewEffect: twice(isTerminal),
	},
	{
		Name:      "event-after-end",
		Doc:       "after the end of the stream its last text delta, or else its last event, is repeated",
		Checks:    []string{"run.end-is-last", "done.is-last"},
		NewEffect: editRun(repeatAtEnd),
	},
	{
		Name: "end-after-error", Doc: "the run fails and then ends successfully",
		RequiredKinds: []spec.Kind{spec.RunEnd, spec.RunError},
		Checks:        []string{"run.stays-failed", "run.ends-once"},
		NewEffect:     editRun(failAndEnd),
	},
	{
		Name: "error-after-end", Doc: "the run ends successfully and then fails",
		RequiredKinds: []spec.Kind{spec.RunEnd, spec.RunError},
		Checks:        []string{"run.ends-once", "run.status-moves-forward"},
		NewEffect:     followed(OfKind(spec.RunEnd), newFailure),
	},
	{
		Name: "run-fails", Doc: "at the trigger the run fails with an error event, as the protocol allows",
		RequiredKinds: []spec.Kind{spec.RunError}, Triggers: atEvent,
		Params: []Param{
			{Name: "text", Doc: "error text", Type: "text", Default: "the run failed"},
			{Name: "code", Doc: "error code, if the dialect has any", Type: "text"},
		},
		NewEffect: failRun(""),
	},
	{
		Name: "failure-missing", Doc: "the error event of a failed run is missing",
		RequiredKinds: []spec.Kind{spec.RunError}, Checks: []string{"error.visible", "run.ends"},
		NewEffect: allMissing(OfKind(spec.RunError)),
	},
	{
		Name: "stack-trace", Doc: "the run fails with an error text that contains a stack trace",
		RequiredKinds: []spec.Kind{spec.RunError}, Triggers: atEvent, Checks: []string{"error.no-stack-trace"},
		NewEffect: failRun(stackTrace),
	},
	{
		Name: "wrong-run", Doc: "an event about the run names another run",
		RequiredKinds: []spec.Kind{spec.SlotRun},
		Triggers:      atEvent,
		Checks:        []string{"run.id-is-stable", "echo.run", "run.keeps-to-itself"},
		NewEffect: changed(
			func(e *spec.Event) bool { return e.Kind.Subject() == "run" && e.Run != "" },
			func(e *spec.Event) { e.Run = similarID(e.Run) }),
	},
	{
		Name: "wrong-thread", Doc: "an event about the run names another thread",
		RequiredKinds: []spec.Kind{spec.SlotThread}, Triggers: atEvent, Checks: []string{"echo.thread"},
		NewEffect: changed(
			func(e *spec.Event) bool { return e.Kind.Subject() == "run" && e.Thread != "" },
			func(e *spec.Event) { e.Thread = similarID(e.Thread) }),
	},
	{
		Name: "created-changes", Doc: "the creation time of the run differs in its terminal event",
		RequiredKinds: []spec.Kind{"slot.created"}, Checks: []string{"run.created-is-stable"},
		NewEffect: changed(
			func(e *spec.Event) bool { return isTerminal(e) && e.Created != "" },
			func(e *spec.Event) { e.Created = addToNumber(e.Created, -1) }),
	},
	{
		Name: "completed-early", Doc: "the completion time of the run is before its creation time",
		RequiredKinds: []spec.Kind{"slot.created", "slot.completed"},
		Checks:        []string{"run.completed-after-created"},
		NewEffect: changed(
			func(e *spec.Event) bool { return e.Kind == spec.RunEnd && e.Completed != "" },
			func(e *spec.Event) { e.Completed = addToNumber(cmp.Or(e.Created, e.Completed), -100) }),
	},
	{
		Name:          "wrong-summary",
		Doc:           "a message listed in the end event of the run differs from the one sent before",
		RequiredKinds: []spec.Kind{spec.RunEnd, spec.MessageEnd}, Checks: []string{"run.output-matches"},
		NewEffect: changed(isSummary, changeTexts),
	},
	{
		Name: "summary-short", Doc: "the end event of the run does not list its last message",
		RequiredKinds: []spec.Kind{spec.RunEnd, spec.MessageEnd}, Checks: []string{"run.output-is-complete"},
		NewEffect: changed(isSummary, func(e *spec.Event) {
			e.Parts = e.Parts[: len(e.Parts)-1 : len(e.Parts)-1]
		}),
	},
	{
		Name: "unknown-message", Doc: "a delta names a message that was never started",
		RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageDelta},
		Triggers:      atEvent,
		Checks:        []string{"message.announced", "message.known"},
		NewEffect: changed(
			func(e *spec.Event) bool { return isDelta(e) && e.Message != "" },
			func(e *spec.Event) { e.Message = unknownID }),
	},
	{
		Name: "message-not-started", Doc: "the start event of a message is missing",
		RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageStart},
		Triggers:      atEvent,
		Checks:        []string{"message.announced", "message.starts-first"},
		NewEffect:     missing(isMessageStart),
	},
	{
		Name: "message-not-ended", Doc: "the end event of a message is missing",
		RequiredKinds: []spec.Kind{spec.MessageEnd},
		Triggers:      atEvent,
		Checks:        []string{"message.all-end", "run.output-is-complete"},
		NewEffect:     missing(isMessageEnd),
	},
	{
		Name: "message-opened-twice", Doc: "the start event of a message is sent twice",
		RequiredKinds: []spec.Kind{spec.MessageStart}, Triggers: atEvent,
		NewEffect: twice(isMessageStart),
	},
	{
		Name: "late-delta", Doc: "the last delta of a message is repeated after the message has ended",
		RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageDelta, spec.MessageEnd},
		Triggers:      atEvent,
		Checks:        []string{"message.closed"},
		NewEffect: repeated(
			func(e *spec.Event) bool { return isDelta(e) && e.Message != "" },
			func(e, delta *spec.Event) bool { return isMessageEnd(e) && delta.Message == e.Message }),
	},
	{
		Name: "reused-message-id", Doc: "after a message has ended, another one with the same id follows",
		RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageEnd},
		Triggers:      atEvent,
		Checks:        []string{"message.ids-unique"},
		NewEffect:     editRun(repeatMessage),
	},
	{
		Name:          "wrong-message",
		Doc:           "the contents repeated in the end event of a message differ from those sent before",
		RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageEnd, spec.MessageDelta},
		Triggers:      atEvent,
		Checks:        []string{"message.content-equals", "run.output-matches"},
		NewEffect:     changed(func(e *spec.Event) bool { return isMessageEnd(e) && len(e.Parts) > 0 }, changeTexts),
	},
	{
		Name: "wrong-text", Doc: "the completed text differs from the concatenation of its deltas",
		RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd},
		Triggers:      atEvent,
		Checks:        []string{"delta.joins-to-whole"},
		NewEffect:     changed(isCompletedText, func(e *spec.Event) { e.Text += "?" }),
	},
	{
		Name: "empty-delta", Doc: "a delta has an empty text",
		RequiredKinds: []spec.Kind{spec.MessageDelta}, Triggers: atEvent,
		NewEffect: followed(isDelta, func(e *spec.Event) *spec.Event {
			empty := *e
			empty.Text = ""
			return &empty
		}),
	},
	{
		Name: "content-not-ended", Doc: "a text that was sent in deltas is never completed",
		RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd},
		Triggers:      atEvent,
		Checks:        []string{"content.all-end"},
		NewEffect:     missing(isCompletedText),
	},
	{
		Name: "content-ended-twice", Doc: "a text is completed twice",
		RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd},
		Triggers:      atEvent,
		Checks:        []string{"content.ends-once"},
		NewEffect:     twice(isCompletedText),
	},
	{
		Name: "content-empty", Doc: "the completed text is empty, though there were deltas",
		RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd},
		Triggers:      atEvent,
		Checks:        []string{"content.is-whole"},
		NewEffect:     changed(isCompletedText, func(e *spec.Event) { e.Text = "" }),
	},
	{
		Name: "wrong-index", Doc: "the index of a content is one too high",
		RequiredKinds: []spec.Kind{spec.SlotIndex}, Triggers: atEvent, Checks: []string{"content.index-dense"},
		NewEffect: changed(
			func(e *spec.Event) bool { return e.Index != "" && !isMessageEnd(e) && !isTerminal(e) },
			func(e *spec.Event) { e.Index = addToNumber(e.Index, 1) }),
	},
	{
		Name: "call-not-started", Doc: "the start event of a tool call is missing",
		RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolEnd},
		Triggers:      atEvent,
		Checks:        []string{"tool.starts-first"},
		NewEffect:     missing(OfKind(spec.ToolStart)),
	},
	{
		Name: "call-not-ended", Doc: "the end event of a tool call is missing",
		RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolEnd},
		Triggers:      atEvent,
		Checks:        []string{"tool.all-end"},
		NewEffect:     missing(OfKind(spec.ToolEnd)),
	},
	{
		Name: "reused-call-id", Doc: "the start event of a tool call is sent twice",
		RequiredKinds: []spec.Kind{spec.ToolStart}, Triggers: atEvent, Checks: []string{"tool.ids-unique"},
		NewEffect: twice(OfKind(spec.ToolStart)),
	},
	{
		Name: "unknown-call", Doc: "an arguments delta names a tool call that was never started",
		RequiredKinds: []spec.Kind{spec.ToolStart, spec.ToolDelta, spec.ToolEnd},
		Triggers:      atEvent,
		Checks:        []string{"tool.starts-first"},
		NewEffect:     changed(OfKind(spec.ToolDelta), func(e *spec.Event) { e.Call = unknownID }),
	},
	{
		Name: "arguments-broken", Doc: "the arguments of a tool call are not valid JSON",
		Triggers: atEvent, Checks: []string{"tool.arguments-are-json"},
		NewEffect: editRun(breakArguments),
	},
	{
		Name: "result-missing", Doc: "the results of the server's tools are missing",
		RequiredKinds: []spec.Kind{spec.ToolResult}, Checks: []string{"script.tool"},
		NewEffect: editRun(dropResults),
	},
	{
		Name: "result-twice", Doc: "a tool result is sent twice",
		RequiredKinds: []spec.Kind{spec.ToolResult}, Triggers: atEvent,
		NewEffect: twice(OfKind(spec.ToolResult)),
	},
	{
		Name: "unknown-result", Doc: "tool results name calls that were never made",
		RequiredKinds: []spec.Kind{spec.ToolResult}, Checks: []string{"tool.result-after-call"},
		NewEffect: editRun(renameResults),
	},
	{
		Name: "result-early", Doc: "a tool result is sent before its call has ended",
		RequiredKinds: []spec.Kind{spec.ToolEnd, spec.ToolResult},
		Triggers:      atEvent,
		Checks:        []string{"tool.result-after-call"},
		NewEffect:     moved(OfKind(spec.ToolEnd)),
	},
	{
		Name: "interrupt-not-last", Doc: "the run sends a message after an interrupt",
		RequiredKinds: []spec.Kind{spec.Interrupt, spec.MessageDelta}, Checks: []string{"interrupt.is-last"},
		NewEffect: followed(OfKind(spec.Interrupt), func(e *spec.Event) *spec.Event {
			return &spec.Event{
				Kind: spec.MessageDelta, Thread: e.Thread, Run: e.Run,
				Message: unknownID, Index: "0", Text: "Never mind.", Seq: e.Seq,
			}
		}),
	},
	{
		Name: "seq-skipped", Doc: "the sequence numbers skip one; with event=0 they begin at 1",
		RequiredKinds: []spec.Kind{spec.SlotSeq}, Triggers: atEvent, Checks: []string{"sequence.dense"},
		NewEffect: shiftNumbers(1),
	},
	{
		Name: "seq-repeated", Doc: "two different events have the same sequence number",
		RequiredKinds: []spec.Kind{spec.SlotSeq},
		Triggers:      atEvent,
		Checks:        []string{"sequence.increases", "sequence.dense", "sequence.never-falls"},
		NewEffect:     shiftNumbers(-1),
	},
	{
		Name: "seq-falls", Doc: "the sequence number of an event is 0 again",
		RequiredKinds: []spec.Kind{spec.SlotSeq},
		Triggers:      atEvent,
		Checks:        []string{"sequence.increases", "sequence.dense", "sequence.never-falls"},
		NewEffect: changed(
			func(e *spec.Event) bool { return e.Seq != "" && e.Seq != "0" && e.Kind.Subject() != "run" },
			func(e *spec.Event) { e.Seq = "0" }),
	},
	{
		Name: "duplicated", Doc: "an event (a text delta if no trigger is set) is sent twice, byte for byte",
		Triggers: atEvent, Checks: []string{"sequence.increases", "sequence.dense", "script.text"},
		NewEffect: editRun(sendTwice),
	},
	{
		Name: "reordered", Doc: "an event (a text delta if no trigger is set) is sent after the next one",
		Triggers: atEvent, Checks: []string{"sequence.increases", "sequence.dense", "script.text"},
		NewEffect: moved(nil),
	},
	{
		Name: "lost", Doc: "an event (a text delta if no trigger is set) is never sent",
		Triggers: atEvent, Checks: []string{"sequence.dense", "script.text"},
		NewEffect: editRun(lose),
	},
	{
		Name: "sentinel-missing", Doc: "the stream ends without its sentinel",
		RequiredKinds: []spec.Kind{spec.Done},
		NewEffect:     missing(OfKind(spec.Done)),
	},
	{
		Name: "sentinel-twice", Doc: "the sentinel is sent twice",
		RequiredKinds: []spec.Kind{spec.Done}, Checks: []string{"done.is-last"},
		NewEffect: twice(OfKind(spec.Done)),
	},
	{
		Name: "malformed", Doc: "the data of an event is truncated JSON",
		Triggers: atEvent, Checks: []string{"wire.frames-are-json"},
		NewEffect: editData(func(_ Args, data []byte) ([]byte, bool) { return data[:len(data)-1], true }),
	},
	{
		Name: "bad-utf8", Doc: "a text in the data of an event contains invalid UTF-8",
		Triggers: atEvent, Checks: []string{"wire.utf-8"},
		NewEffect: editData(breakString),
	},
	{
		Name:     "other-fields",
		Doc:      "an event has an additional SSE field (event or retry), which some protocols allow",
		Triggers: atEvent, Checks: []string{"wire.frames-are-plain"},
		NewEffect: editFrame(addField),
	},
	{
		Name: "missing-member", Doc: "a member of the data of an event is missing",
		Triggers: atEvent, Checks: []string{"wire.matches-schema"},
		Params:    []Param{memberParam},
		NewEffect: editMember(chooseID, func(m members, name string) { delete(m, name) }),
	},
	{
		Name: "wrong-type", Doc: "a member of the data of an event has the wrong JSON type",
		Triggers: atEvent, Checks: []string{"wire.matches-schema"},
		Params:    []Param{memberParam},
		NewEffect: editMember(chooseID, setMember(`[{"not":"this"}]`)),
	},
	{
		Name:      "wrong-value",
		Doc:       "a member of the data of an event (type or object if none is named) has an undefined value",
		Triggers:  atEvent,
		Params:    []Param{memberParam},
		NewEffect: editMember(chooseType, setMember(`"nonsense"`)),
	},
	{
		Name: "unknown-event", Doc: "an event of an undefined type is inserted",
		Triggers: atEvent,
		Params: []Param{{
			Name: "data", Doc: "data of the event, a JSON object", Type: "text",
			Default: `{"object":"x-unknown","type":"x-unknown"}`, Validate: validateJSONObject,
		}},
		NewEffect: insertEvent,
	},
}
