package reference

import (
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// eventFeatures describes what the event stream of a dialect can express. It is derived from
// the dialect's document once, when a server is created.
type eventFeatures struct {
	op             *dialect.Operation // the operation that streams runs
	runProgress    bool               // has the event run.progress
	messageStart   bool               // has the event message.start
	messageEnd     bool               // has the event message.end
	reasoning      bool               // distinguishes reasoning from messages
	reasoningSpans bool               // encloses each section of reasoning in a step of the type "reasoning"
	completeText   bool               // sends the complete text of a content part after its deltas
	streamedCalls  bool               // sends a tool call as tool.start, tool.delta and tool.end
	enveloped      bool               // each frame is an envelope, which contains events and properties of the run
	interrupt      bool               // has the event interrupt
	snapshotStatus string             // status of snapshots of an incomplete tool call; "": no snapshots
	callMessage    toolEventPlacement // how a tool call is sent; not used if streamedCalls is true
	resultMessage  toolEventPlacement // how a tool result is sent
	startCount     int                // number of run.start events at the beginning of a run
}

// A toolEventPlacement describes how a dialect sends tool calls or tool results: in a message, in
// events that contain nothing else, in both ways, or not at all.
type toolEventPlacement struct {
	kind, role string // Type and Role of the message in spec.Event
	exists     bool   // the dialect sends the call or result in a message
	standalone bool   // the dialect sends the call or result in an event that contains nothing else
}

// newEventFeatures returns the features of the event stream of o, an operation that streams runs.
func newEventFeatures(o *dialect.Operation) *eventFeatures {
	has := func(k spec.Kind) bool { return o.CanEncode(spec.Event{Kind: k}) }
	in := func(k spec.Kind) toolEventPlacement {
		kind, role, there := o.Container(k)
		return toolEventPlacement{kind, role, there, has(k)}
	}
	return &eventFeatures{
		op: o, runProgress: has(spec.RunProgress), messageStart: has(spec.MessageStart), messageEnd: has(spec.MessageEnd),
		reasoning: has(spec.ReasoningStart), streamedCalls: has(spec.ToolStart), interrupt: has(spec.Interrupt),
		enveloped:      o.HasEnvelopes(),
		reasoningSpans: o.CanEncode(spec.Event{Kind: spec.StepStart, Type: "reasoning"}),
		completeText:   o.CanEncode(spec.Event{Kind: spec.ContentEnd, Type: "text"}),
		snapshotStatus: o.SnapshotStatus(spec.ToolCall),
		callMessage:    in(spec.ToolCall), resultMessage: in(spec.ToolResult), startCount: o.RepeatCount(spec.RunStart),
	}
}

// contentKind returns the kind of the event that contains a complete content part of the given
// type, such as "image". It returns "" if the dialect has no such event.
func (v *eventFeatures) contentKind(contentType string) spec.Kind {
	for _, k := range []spec.Kind{spec.ContentEnd, spec.ContentPart} {
		if v.op.CanEncode(spec.Event{Kind: k, Type: contentType}) {
			return k
		}
	}
	return ""
}
