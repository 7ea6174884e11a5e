package fault

import "github.com/streamassay/streamassay/spec"

// unknownID is what a fault calls a thing that was never told of.
const unknownID = "nobody-told-of-this"

// isMessageStart says that an event opens a message.
func isMessageStart(e *spec.Event) bool {
	return e.Kind == spec.MessageStart || e.Kind == spec.ReasoningStart
}

// isMessageEnd says that an event ends a message.
func isMessageEnd(e *spec.Event) bool {
	return e.Kind == spec.MessageEnd || e.Kind == spec.ReasoningEnd
}

// UnknownMessage tells a piece of a message that never was.
var UnknownMessage = &Fault{
	Name: "unknown-message", Doc: "a delta names a message that was never opened", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageDelta}, Triggers: []string{"event"},
	Checks: []string{"message.announced", "message.known"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return isDelta(e) && e.Message != "" }, func(e *spec.Event) {
		e.Message = unknownID
	}),
}

// MessageNotStarted leaves out that a message starts.
var MessageNotStarted = &Fault{
	Name: "message-not-started", Doc: "the event that opens a message is not told", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageStart}, Triggers: []string{"event"},
	Checks:    []string{"message.announced", "message.starts-first"},
	NewEffect: dropFirst(isMessageStart),
}

// MessageNotEnded leaves out that a message ends.
var MessageNotEnded = &Fault{
	Name: "message-not-ended", Doc: "the event that ends a message is not told", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageEnd}, Triggers: []string{"event"},
	Checks:    []string{"message.all-end", "run.output-is-complete"},
	NewEffect: dropFirst(isMessageEnd),
}

// MessageOpenedTwice tells twice that a message starts. No check is about it.
var MessageOpenedTwice = &Fault{
	Name: "message-opened-twice", Doc: "the event that opens a message is told twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageStart}, Triggers: []string{"event"},
	NewEffect: duplicateFirst(isMessageStart),
}

// LateDelta tells a piece of a message that has ended.
var LateDelta = &Fault{
	Name: "late-delta", Doc: "the last piece of a message is told again after the message has ended", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageDelta, spec.MessageEnd}, Triggers: []string{"event"},
	Checks: []string{"message.closed"},
	NewEffect: func(a Args) Effect {
		var s renumberer
		var piece *spec.Event
		isAffected := firstMatch(a.Trigger, func(e *spec.Event) bool { return isMessageEnd(e) && piece != nil && piece.Message == e.Message })
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

// ReusedMessageID opens another message under the id of one that has ended.
var ReusedMessageID = &Fault{
	Name: "reused-message-id", Doc: "after a message has ended another is told under the same id", Category: CategoryProtocol,
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
