package reference

import (
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A capabilities is how a dialect tells of runs: what it has words for. It is asked of the
// document once.
type capabilities struct {
	op              *dialect.Operation // the one whose stream tells
	runProgress     bool               // a run is said to go on
	messageStart    bool               // messages are announced
	messageEnd      bool               // messages, or some of them, are said to be over, or whole
	reasoning       bool               // reasoning is told apart from messages
	completeText    bool               // a text is told again, whole
	streamedCalls   bool               // calls have a start, pieces and an end
	interrupt       bool
	callSnapshots   bool      // calls in one piece are told while they grow
	callContainer   container // else: the message that a call stands in
	resultContainer container
	startCount      int // how often the start is said
}

// container is the message that a content stands in, where everything does.
type container struct {
	kind, role string
	exists     bool
	standalone bool // the content is told by itself as well
}

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

// contentKind is the kind by which a content that is no text is told, "" if there is
// no word for its type.
func (v *capabilities) contentKind(kind string) spec.Kind {
	for _, k := range []spec.Kind{spec.ContentEnd, spec.ContentPart} {
		if v.op.CanEncode(spec.Event{Kind: k, Type: kind}) {
			return k
		}
	}
	return ""
}
