package mutation

import (
	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// messageMutants are servers that violate the rules about the start, content and end of messages.
var messageMutants = []*Mutant{
	{
		Name: "message-start-missing", Doc: "omits the start event of a message",
		Fault:     "message-not-started",
		KilledBy:  map[string]string{"message.announced": "content.end message.delta tool.call", "message.starts-first": "message.end", "message.in-turn": "message.delta reasoning.delta"},
		AlsoFails: []string{"message.known", "script.reasoning", "script.reasoning-apart"}, // the start event carries the type of the message; a failing message has no other event
	}, {
		Name: "message-starts-in-progress", Doc: "reports a message as in progress in its first event",
		NewEffect: changeEvents(fault.OfKind(spec.MessageStart), func(e *spec.Event) { e.Kind = spec.MessageProgress }),
		KilledBy:  map[string]string{"message.starts-first": "message.progress"},
	}, {
		Name: "message-start-late", Doc: "sends the start event of a message after its first content",
		NewEffect: firstOnly(fault.OfKind(spec.MessageStart), swapEvents),
		KilledBy:  map[string]string{"message.announced": "message.delta tool.call", "message.in-turn": "message.delta"},
		AlsoFails: []string{"script.reasoning", "script.reasoning-apart"}, // the start event carries the type of the message
	}, {
		Name: "text-delta-unknown-message", Doc: "sends a text delta that names a message that was never started",
		Fault:     "unknown-message",
		KilledBy:  map[string]string{"message.announced": "message.delta", "message.known": "message.delta", "message.in-turn": "message.delta"},
		AlsoFails: []string{"script.*", "content.all-end", "delta.joins-to-whole", "content.is-whole", "message.content-equals", "history.tells-the-answer"}, // the delta is missing in its message and added to another one
	}, {
		Name: "text-deltas-wrong-message-id", Doc: "sends all text deltas with message ids that have one letter too many",
		NewEffect: changeEvents(fault.OfKind(spec.MessageDelta, spec.ContentEnd), func(e *spec.Event) { e.Message += "x" }),
		KilledBy: map[string]string{
			"message.announced": "content.end message.delta", "message.known": "content.end message.delta", "message.in-turn": "message.delta",
		},
		AlsoFails: []string{"script.*", "content.all-end", "content.parts-all-end", "delta.joins-to-whole", "message.content-equals", "history.tells-the-answer"}, // the deltas are missing in their message and added to another one
	}, {
		Name: "delta-after-message-end", Doc: "sends the last delta of a message again after the message has ended",
		Fault:     "late-delta",
		KilledBy:  map[string]string{"message.closed": "message.delta reasoning.delta", "message.in-turn": "message.delta reasoning.delta"},
		AlsoFails: []string{"script.*", "content.ends-once", "history.tells-the-answer"}, // the prompt did not ask for that text, and the content was completed before
	}, {
		Name: "completed-text-after-message-end", Doc: "sends a completed text after its message has ended",
		NewEffect: swapEvents(fault.OfKind(spec.ContentEnd)),
		KilledBy:  map[string]string{"message.closed": "content.end"},
		AlsoFails: []string{"message.content-equals", "content.*", "delta.*"}, // the late delta is missing in the completed message
	}, {
		Name: "unnamed-deltas-before-start", Doc: "sends text deltas without a message id before the start event of their message",
		NewEffect: dropMessageIDs(true),
		KilledBy:  map[string]string{"message.unambiguous": "content.end message.delta"},
		AlsoFails: []string{"script.*", "message.*", "content.*", "delta.joins-to-whole", "run.output-matches"}, // deltas without an id cannot be attributed to a message
	}, {
		Name: "unnamed-deltas-with-two-open", Doc: "sends text deltas without a message id while two messages are open",
		NewEffect: dropMessageIDs(false),
		KilledBy:  map[string]string{"message.unambiguous": "content.end message.delta"},
		AlsoFails: []string{"script.*", "message.*", "content.*", "delta.joins-to-whole", "run.output-is-complete", "run.output-matches"}, // deltas cannot be attributed to a message, and the output omits the second message
	}, {
		Name: "message-end-missing", Doc: "omits the end event of a message",
		Fault:     "message-not-ended",
		KilledBy:  map[string]string{"message.all-end": "run.end", "run.output-is-complete": "run.end"},
		AlsoFails: []string{"run.output-matches", "script.tool", "script.tools", "tool.result-after-call"}, // the output lists messages that were not streamed; tool calls that are only sent with the end of a message are missing
	}, {
		Name: "message-ends-all-missing", Doc: "never reports a message as ended and lists none in the terminal event",
		NewEffect: dropMessageEnds,
		Needs:     []spec.Kind{spec.MessageStart}, // or else no message is left open
		KilledBy:  map[string]string{"message.all-end": "run.end"},
		AlsoFails: []string{"script.interrupt"}, // the list may have the interrupts
	}, {
		Name: "message-stays-in-progress", Doc: "reports a message as in progress at its start and sends no more events about it",
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
		Name: "message-id-reused", Doc: "sends another message with the id of a message that has ended",
		Fault:     "reused-message-id",
		KilledBy:  map[string]string{"message.ids-unique": "message.end message.start"},
		AlsoFails: []string{"run.output-is-complete", "run.status-moves-forward"}, // the output omits the second message, and the first one starts again
	}, {
		Name: "message-id-same-for-all", Doc: "uses the same id for all messages of a run",
		NewEffect: changeParts(anyEvent, func(p *spec.Event) {
			if p.Message != "" {
				p.Message = "the-message"
			}
		}),
		KilledBy:  map[string]string{"message.ids-unique": "message.end message.start reasoning.end"},
		AlsoFails: []string{"script.*", "content.ends-once", "content.is-whole", "delta.joins-to-whole", "message.*", "run.output-matches", "run.status-moves-forward", "tool.*"}, // all messages have the same id, so they count as one message that is repeated
	}, {
		Name: "message-end-other-text", Doc: "repeats a message in its end event with a text that differs from the streamed text",
		Fault:     "wrong-message",
		KilledBy:  map[string]string{"message.content-equals": "message.end reasoning.end", "run.output-matches": "run.end"},
		AlsoFails: []string{"script.tool", "script.client-tool*", "tool.arguments-are-json"}, // the repeated delta belongs to the arguments of a call
	}, {
		Name: "message-end-lacks-contents", Doc: "repeats only the first content of a message in its end event",
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
