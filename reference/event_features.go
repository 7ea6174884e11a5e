package reference

import (
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// dialectFeatures describes what the event stream of a dialect can express. It is derived from
// the dialect's document once, when a server is created.
type dialectFeatures struct {
	op             *dialect.Operation   // the operation that streams runs
	runProgress    bool                 // has an event for a run in progress
	messageStart   bool                 // has an event for the start of a message
	messageEnd     bool                 // has an event for the end of a message, or for a complete one
	reasoning      bool                 // distinguishes reasoning from messages
	reasoningSpans bool                 // has events around each section of reasoning
	completeText   bool                 // repeats a text in full when it ends
	streamedCalls  bool                 // streams a tool call as start, deltas and end
	enveloped      bool                 // each frame is an envelope, which carries events and properties of the run
	interrupt      bool                 // has an event for interrupts
	snapshotStatus string               // status of snapshots of an incomplete tool call; "": no snapshots
	callMessage    enclosingMessageType // if not streamedCalls: the message that contains a call
	resultMessage  enclosingMessageType // the message that contains a tool result
	startCount     int                  // how many run.start events a run has
}

// An enclosingMessageType describes the message in which a dialect sends a tool call or a tool
// result. If exists is false, the dialect does not send the call or the result within a message.
type enclosingMessageType struct {
	kind, role string // of the message: its Type and Role in spec.Event
	exists     bool   // the dialect has such a message
	standalone bool   // the dialect has an event for the call or result alone
}

// newEventFeatures returns the features of the event stream of o, an operation that streams runs.
func newEventFeatures(o *dialect.Operation) *dialectFeatures {
	has := func(k spec.Kind) bool { return o.CanEncode(spec.Event{Kind: k}) }
	in := func(k spec.Kind) enclosingMessageType {
		kind, role, there := o.Container(k)
		return enclosingMessageType{kind, role, there, has(k)}
	}
	return &dialectFeatures{
		op: o, runProgress: has(spec.RunProgress), messageStart: has(spec.MessageStart), messageEnd: has(spec.MessageEnd),
		reasoning: has(spec.ReasoningStart), streamedCalls: has(spec.ToolStart), interrupt: has(spec.Interrupt),
		enveloped:      o.HasEnvelopes(),
		reasoningSpans: o.CanEncode(spec.Event{Kind: spec.StepStart, Type: "reasoning"}),
		completeText:   o.CanEncode(spec.Event{Kind: spec.ContentEnd, Type: "text"}),
		snapshotStatus: o.SnapshotStatus(spec.ToolCall),
		callMessage:    in(spec.ToolCall), resultMessage: in(spec.ToolResult), startCount: o.RepeatCount(spec.RunStart),
	}
}

// contentKind returns the kind of event that the dialect uses for a complete content part of the
// given type, such as "image". It returns "" if the dialect cannot send such a part.
func (v *dialectFeatures) contentKind(contentType string) spec.Kind {
	for _, k := range []spec.Kind{spec.ContentEnd, spec.ContentPart} {
		if v.op.CanEncode(spec.Event{Kind: k, Type: contentType}) {
			return k
		}
	}
	return ""
}
