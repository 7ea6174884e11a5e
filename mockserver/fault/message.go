package fault

import "github.com/streamassay/streamassay/spec"

// unknownID is an id that no message and no tool call has. Faults use it as the target of
// references that must not refer to anything.
const unknownID = "nobody-told-of-this"

// isMessageStart reports whether e starts a message or reasoning.
func isMessageStart(e *spec.Event) bool {
	return e.Kind == spec.MessageStart || e.Kind == spec.ReasoningStart
}

// isMessageEnd reports whether e ends a message or reasoning.
func isMessageEnd(e *spec.Event) bool {
	return e.Kind == spec.MessageEnd || e.Kind == spec.ReasoningEnd
}

// UnknownMessage is the fault that changes the message id of a delta to the id of a message that
// was never started.
var UnknownMessage = &Fault{
	Name: "unknown-message", Doc: "a delta names a message that was never started", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageDelta}, Triggers: []string{"event"},
	Checks: []string{"message.announced", "message.known"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return isDelta(e) && e.Message != "" }, func(e *spec.Event) {
		e.Message = unknownID
	}),
}

// MessageNotStarted is the fault that omits the start event of a message.
var MessageNotStarted = &Fault{
	Name: "message-not-started", Doc: "the start event of a message is missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageStart}, Triggers: []string{"event"},
	Checks:    []string{"message.announced", "message.starts-first"},
	NewEffect: dropFirst(isMessageStart),
}

// MessageNotEnded is the fault that omits the end event of a message.
var MessageNotEnded = &Fault{
	Name: "message-not-ended", Doc: "the end event of a message is missing", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageEnd}, Triggers: []string{"event"},
	Checks:    []string{"message.all-end", "run.output-is-complete"},
	NewEffect: dropFirst(isMessageEnd),
}

// MessageOpenedTwice is the fault that sends the start event of a message twice. It only tests
// clients: no check detects it.
var MessageOpenedTwice = &Fault{
	Name: "message-opened-twice", Doc: "the start event of a message is sent twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageStart}, Triggers: []string{"event"},
	NewEffect: duplicateFirst(isMessageStart),
}

// LateDelta is the fault that repeats the last delta of a message after the message has ended.
var LateDelta = &Fault{
	Name: "late-delta", Doc: "the last delta of a message is repeated after the message has ended", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageDelta, spec.MessageEnd}, Triggers: []string{"event"},
	Checks: []string{"message.closed"},
	NewEffect: func(a Args) Effect {
		var s renumberer
		var piece *spec.Event
		isAffected := firstMatch(a.Trigger, func(e *spec.Event) bool {
			return isMessageEnd(e) && piece != nil && piece.Message == e.Message
		})
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if isDelta(e) && e.Message != "" {
				kept := *e
				piece = &kept
			}
			s.emit(e, emit)
			if isAffected(e) {
				s.insert(piece, e.Seq, emit)
			}
		}}
	},
}

// ReusedMessageID is the fault that sends, after the end of a message, the start and the end of
// another message with the same id.
var ReusedMessageID = &Fault{
	Name: "reused-message-id", Doc: "after a message has ended, another one with the same id follows", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageEnd}, Triggers: []string{"event"},
	Checks: []string{"message.ids-unique"},
	NewEffect: func(a Args) Effect {
		var s renumberer
		var start *spec.Event
		isAffected := firstMatch(a.Trigger, isMessageEnd)
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			if isMessageStart(e) {
				kept := *e
				start = &kept
			}
			s.emit(e, emit)
			if !isAffected(e) {
				return
			}
			if start != nil && start.Message == e.Message {
				s.insert(start, e.Seq, emit)
			}
			s.insert(e, e.Seq, emit)
		}}
	},
}
