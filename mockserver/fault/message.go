package fault

import "github.com/streamassay/streamassay/spec"

// nobody is what a fault calls a thing that was never told of.
const nobody = "nobody-told-of-this"

// starts says that an event opens a message.
func starts(e *spec.Event) bool { return e.Kind == spec.MessageStart || e.Kind == spec.ReasoningStart }

// ends says that an event ends a message.
func ends(e *spec.Event) bool { return e.Kind == spec.MessageEnd || e.Kind == spec.ReasoningEnd }

// UnknownMessage tells a piece of a message that never was.
var UnknownMessage = &Fault{
	Name: "unknown-message", Doc: "a delta names a message that was never opened", Family: Protocol,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageDelta}, Places: []string{"event"},
	Checks: []string{"message.announced", "message.known"},
	Begin: changed(func(e *spec.Event) bool { return isDelta(e) && e.Message != "" }, func(e *spec.Event) {
		e.Message = nobody
	}),
}

// MessageNotStarted leaves out that a message starts.
var MessageNotStarted = &Fault{
	Name: "message-not-started", Doc: "the event that opens a message is not told", Family: Protocol,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageStart}, Places: []string{"event"},
	Checks: []string{"message.announced", "message.starts-first"},
	Begin:  missing(starts),
}

// MessageNotEnded leaves out that a message ends.
var MessageNotEnded = &Fault{
	Name: "message-not-ended", Doc: "the event that ends a message is not told", Family: Protocol,
	Needs: []spec.Kind{spec.MessageEnd}, Places: []string{"event"},
	Checks: []string{"message.all-end", "run.output-is-complete"},
	Begin:  missing(ends),
}

// MessageOpenedTwice tells twice that a message starts. No check is about it.
var MessageOpenedTwice = &Fault{
	Name: "message-opened-twice", Doc: "the event that opens a message is told twice", Family: Protocol,
	Needs: []spec.Kind{spec.MessageStart}, Places: []string{"event"},
	Begin: twice(starts),
}

// LateDelta tells a piece of a message that has ended.
var LateDelta = &Fault{
	Name: "late-delta", Doc: "the last piece of a message is told again after the message has ended", Family: Protocol,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageDelta, spec.MessageEnd}, Places: []string{"event"},
	Checks: []string{"message.closed"},
	Begin: func(a Args) Effect {
		var s scribe
		var piece *spec.Event
		struck := once(a.At, func(e *spec.Event) bool { return ends(e) && piece != nil && piece.Message == e.Message })
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if isDelta(e) && e.Message != "" {
				kept := *e
				piece = &kept
			}
			s.tell(e, tell)
			if struck(e) {
				s.more(piece, e.Seq, tell)
			}
		}}
	},
}

// ReusedMessageID opens another message under the id of one that has ended.
var ReusedMessageID = &Fault{
	Name: "reused-message-id", Doc: "after a message has ended another is told under the same id", Family: Protocol,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd}, Places: []string{"event"},
	Checks: []string{"message.ids-unique"},
	Begin: func(a Args) Effect {
		var s scribe
		var start *spec.Event
		struck := once(a.At, ends)
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			if starts(e) {
				kept := *e
				start = &kept
			}
			s.tell(e, tell)
			if !struck(e) {
				return
			}
			if start != nil && start.Message == e.Message {
				s.more(start, e.Seq, tell)
			}
			s.more(e, e.Seq, tell)
		}}
	},
}
