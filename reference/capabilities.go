package reference

import (
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A capabilities value holds what the stream of a dialect can express. It is derived
// from the document once, when a server is made.
type capabilities struct {
	op              *dialect.Operation // the operation that streams runs
	runProgress     bool               // has an event for a run in progress
	messageStart    bool               // has an event for the start of a message
	messageEnd      bool               // has an event for the end of a message, or for a complete one
	reasoning       bool               // distinguishes reasoning from messages
	completeText    bool               // repeats a text in full when it ends
	streamedCalls   bool               // streams a tool call as start, deltas and end
	interrupt       bool               // has an event for interrupts
	callSnapshots   bool               // sends snapshots of a call that is not complete yet
	callContainer   container          // if not streamedCalls: the message that contains a call
	resultContainer container          // the message that contains a tool result
	startCount      int                // how many run.start events a run has
}

// A container describes the message that contains a tool call or a tool result, for dialects in
// which every content is part of a message.
type container struct {
	kind, role string
	exists     bool // the dialect has such a message
	standalone bool // the content also has an event of its own
}

// newCapabilities determines what a dialect can express from o, the operation that streams its
// runs.
func newCapabilities(o *dialect.Operation) *capabilities {
	has := func(k spec.Kind) bool { return o.CanEncode(spec.Event{Kind: k}) }
	in := func(k spec.Kind) container {
		kind, role, there := o.Container(k)
		return container{kind, role, there, has(k)}
	}
	return &capabilities{
		op: o, runProgress: has(spec.RunProgress), messageStart: has(spec.MessageStart), messageEnd: has(spec.MessageEnd),
		reasoning: has(spec.ReasoningStart), streamedCalls: has(spec.ToolStart), interrupt: has(spec.Interrupt),
		completeText:  o.CanEncode(spec.Event{Kind: spec.ContentEnd, Type: "text"}),
		callSnapshots: o.SendsSnapshots(spec.ToolCall),
		callContainer: in(spec.ToolCall), resultContainer: in(spec.ToolResult), startCount: o.RepeatCount(spec.RunStart),
	}
}

// contentKind returns the kind of event by which the dialect sends a content part of the given
// type, such as "image". It returns "" if the dialect cannot send such a part.
func (v *capabilities) contentKind(kind string) spec.Kind {
	for _, k := range []spec.Kind{spec.ContentEnd, spec.ContentPart} {
		if v.op.CanEncode(spec.Event{Kind: k, Type: kind}) {
			return k
		}
	}
	return ""
}
