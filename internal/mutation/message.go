package mutation

import (
	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// messageMutants are servers that violate the rules about the start, content and end of messages.
var messageMutants = []*Mutant{
	{
		Name: "message-unannounced", Doc: "the event that starts a message is missing",
		Fault:     "message-not-started",
		KilledBy:  map[string]string{"message.announced": "content.end message.delta tool.call", "message.starts-first": "message.end", "message.in-turn": "message.delta reasoning.delta"},
		AlsoFails: []string{"message.known", "script.reasoning", "script.reasoning-apart"}, // the start event carries the type of the message; a failing message has no other event
	}, {
		Name: "message-under-way-first", Doc: "the first event of a message reports it as in progress",
		NewEffect: changeEvents(fault.OfKind(spec.MessageStart), func(e *spec.Event) { e.Kind = spec.MessageProgress }),
		KilledBy:  map[string]string{"message.starts-first": "message.progress"},
	}, {
		Name: "message-announced-late", Doc: "a message is opened after the first piece of it",
		NewEffect: firstOnly(fault.OfKind(spec.MessageStart), swapEvents),
		KilledBy:  map[string]string{"message.announced": "message.delta tool.call", "message.in-turn": "message.delta"},
		AlsoFails: []string{"script.reasoning", "script.reasoning-apart"}, // the start event carries the type of the message
	}, {
		Name: "piece-of-nothing", Doc: "a piece of a text names a message that was never opened",
		Fault:     "unknown-message",
		KilledBy:  map[string]string{"message.announced": "message.delta", "message.known": "message.delta", "message.in-turn": "message.delta"},
		AlsoFails: []string{"script.*", "content.all-end", "delta.joins-to-whole", "content.is-whole", "message.content-equals", "history.tells-the-answer"}, // the delta is missing in its message and added to another one
	}, {
		Name: "pieces-misaddressed", Doc: "all text deltas name a message id with one letter too many",
		NewEffect: changeEvents(fault.OfKind(spec.MessageDelta, spec.ContentEnd), func(e *spec.Event) { e.Message += "x" }),
		KilledBy: map[string]string{
			"message.announced": "content.end message.delta", "message.known": "content.end message.delta", "message.in-turn": "message.delta",
		},
		AlsoFails: []string{"script.*", "content.all-end", "content.parts-all-end", "delta.joins-to-whole", "message.content-equals", "history.tells-the-answer"}, // the deltas are missing in their message and added to another one
	}, {
		Name: "late-piece", Doc: "the last delta of a message is sent again after the message has ended",
		Fault:     "late-delta",
		KilledBy:  map[string]string{"message.closed": "message.delta reasoning.delta", "message.in-turn": "message.delta reasoning.delta"},
		AlsoFails: []string{"script.*", "content.ends-once", "history.tells-the-answer"}, // the prompt did not ask for that text, and the content was completed before
	}, {
		Name: "whole-when-over", Doc: "a text is completed after its message has ended",
		NewEffect: swapEvents(fault.OfKind(spec.ContentEnd)),
		KilledBy:  map[string]string{"message.closed": "content.end"},
		AlsoFails: []string{"message.content-equals", "content.*", "delta.*"}, // the late delta is missing in the completed message
	}, {
		Name: "piece-without-address", Doc: "pieces of texts name no message, and the message is opened after them",
		NewEffect: dropMessageIDs(true),
		KilledBy:  map[string]string{"message.unambiguous": "content.end message.delta"},
		AlsoFails: []string{"script.*", "message.*", "content.*", "delta.joins-to-whole", "run.output-matches"}, // deltas without an id cannot be attributed to a message
	}, {
		Name: "piece-of-either", Doc: "pieces of texts name no message while two are open",
		NewEffect: dropMessageIDs(false),
		KilledBy:  map[string]string{"message.unambiguous": "content.end message.delta"},
		AlsoFails: []string{"script.*", "message.*", "content.*", "delta.joins-to-whole", "run.output-is-complete", "run.output-matches"}, // deltas cannot be attributed to a message, and the output omits the second message
	}, {
		Name: "message-left-open", Doc: "the event that ends a message is missing",
		Fault:     "message-not-ended",
		KilledBy:  map[string]string{"message.all-end": "run.end", "run.output-is-complete": "run.end"},
		AlsoFails: []string{"run.output-matches", "script.tool", "script.tools", "tool.result-after-call"}, // the output lists messages that were not streamed; tool calls that are only sent with the end of a message are missing
	}, {
		Name: "messages-left-open", Doc: "no message is ever reported as ended, or listed",
		NewEffect: dropMessageEnds,
		Needs:     []spec.Kind{spec.MessageStart}, // or else no message is left open
		KilledBy:  map[string]string{"message.all-end": "run.end"},
		AlsoFails: []string{"script.interrupt"}, // the list may have the interrupts
	}, {
		Name: "message-begun", Doc: "a message is reported as in progress at its start, and never again",
		NewEffect: insertAfter(fault.OfKind(spec.RunStart), func(e *spec.Event) []*spec.Event {
			return []*spec.Event{{
				Kind: spec.MessageProgress, Thread: e.Thread, Run: e.Run, Message: e.Run + "-begun",
				Type: "message", Role: "assistant",
			}}
		}),
		Needs:    []spec.Kind{spec.MessageProgress},
		Without:  []spec.Kind{spec.MessageStart}, // or else message-left-open is the same defect
		KilledBy: map[string]string{"message.all-end": "run.end"},
	}, {
		Name: "id-used-again", Doc: "another message is sent under the id of one that has ended",
		Fault:     "reused-message-id",
		KilledBy:  map[string]string{"message.ids-unique": "message.end message.start"},
		AlsoFails: []string{"run.output-is-complete", "run.status-moves-forward"}, // the output omits the second message, and the first one starts again
	}, {
		Name: "one-id-for-all", Doc: "all messages of a run have one id",
		NewEffect: changeParts(anyEvent, func(p *spec.Event) {
			if p.Message != "" {
				p.Message = "the-message"
			}
		}),
		KilledBy:  map[string]string{"message.ids-unique": "message.end message.start reasoning.end"},
		AlsoFails: []string{"script.*", "content.ends-once", "content.is-whole", "delta.joins-to-whole", "message.*", "run.output-matches", "run.status-moves-forward", "tool.*"}, // all messages have the same id, so they count as one message that is repeated
	}, {
		Name: "repeated-otherwise", Doc: "the end of a message repeats another text than was streamed",
		Fault:     "wrong-message",
		KilledBy:  map[string]string{"message.content-equals": "message.end reasoning.end", "run.output-matches": "run.end"},
		AlsoFails: []string{"script.tool", "script.client-tool*", "tool.arguments-are-json"}, // the repeated delta belongs to the arguments of a call
	}, {
		Name: "repeated-in-part", Doc: "the end of a message repeats its first content only",
		NewEffect: changeParts(anyEvent, func(p *spec.Event) {
			if n := len(p.Parts); n > 1 && p.Kind != spec.RunEnd {
				p.Parts = p.Parts[:1]
			}
		}),
		KilledBy:  map[string]string{"message.content-equals": "message.end"},
		AlsoFails: []string{"run.output-matches"}, // the terminal event lists the complete message
	},
}

func anyEvent(*spec.Event) bool { return true }

// dropMessageIDs returns the effectFactory of a fault that removes the message id from text deltas
// and completed texts. The fault also ensures that clients cannot infer to which message a text
// belongs: if late is true, the message starts only after its text; if late is false, a second
// message starts and ends together with each message.
func dropMessageIDs(late bool) effectFactory {
	return editEvents(func() eventEdit {
		var start *spec.Event
		return func(e *spec.Event, emit func(*spec.Event)) {
			switch {
			case e.Kind == spec.MessageStart && late:
				start = new(*e)
				return
			case e.Kind == spec.MessageStart:
				emit(e)
				emit(withChange(e, func(o *spec.Event) { o.Message += "-too" }))
				return
			case e.Kind == spec.MessageDelta || isCompletedText(e):
				emit(withChange(e, func(o *spec.Event) { o.Message = "" }))
				return
			case start != nil && (e.Kind == spec.MessageEnd || e.Kind == spec.RunError):
				emit(start)
				start = nil
			case e.Kind == spec.MessageEnd && !late:
				emit(withChange(e, func(o *spec.Event) { o.Message += "-too" }))
			}
			emit(e)
		}
	})
}

// dropMessageEnds is the effectFactory of a fault that drops the events that end messages and
// reasoning, and empties the list of messages in the event that ends the run.
var dropMessageEnds = editEvents(func() eventEdit {
	return func(e *spec.Event, emit func(*spec.Event)) {
		if e.Kind == spec.MessageEnd || e.Kind == spec.ReasoningEnd {
			return
		}
		if e.Kind == spec.RunEnd && e.Parts != nil {
			e = withChange(e, func(o *spec.Event) { o.Parts = []spec.Event{} })
		}
		emit(e)
	}
})
