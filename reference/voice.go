package reference

import (
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// A voice is how a dialect tells of runs: what it has words for. It is asked of the
// document once.
type voice struct {
	op        *dialect.Operation // the one whose stream tells
	progress  bool               // a run is said to go on
	opens     bool               // messages are announced
	closes    bool               // messages, or some of them, are said to be over, or whole
	reasoning bool               // reasoning is told apart from messages
	whole     bool               // a text is told again, whole
	calls     bool               // calls have a start, pieces and an end
	interrupt bool
	growing   bool   // calls in one piece are told while they grow
	call      around // else: the message that a call stands in
	result    around
	times     int // how often the start is said
}

// around is the message that a content stands in, where everything does.
type around struct {
	kind, role string
	there      bool
	told       bool // the content is told by itself as well
}

func newVoice(o *dialect.Operation) *voice {
	has := func(k spec.Kind) bool { return o.CanEncode(spec.Event{Kind: k}) }
	in := func(k spec.Kind) around {
		kind, role, there := o.Container(k)
		return around{kind, role, there, has(k)}
	}
	return &voice{
		op: o, progress: has(spec.RunProgress), opens: has(spec.MessageStart), closes: has(spec.MessageEnd),
		reasoning: has(spec.ReasoningStart), calls: has(spec.ToolStart), interrupt: has(spec.Interrupt),
		whole:   o.CanEncode(spec.Event{Kind: spec.ContentEnd, Type: "text"}),
		growing: o.SendsSnapshots(spec.ToolCall),
		call:    in(spec.ToolCall), result: in(spec.ToolResult), times: o.RepeatCount(spec.RunStart),
	}
}

// content is the kind by which a content that is no text is told, "" if there is
// no word for its type.
func (v *voice) content(kind string) spec.Kind {
	for _, k := range []spec.Kind{spec.ContentEnd, spec.ContentPart} {
		if v.op.CanEncode(spec.Event{Kind: k, Type: kind}) {
			return k
		}
	}
	return ""
}
