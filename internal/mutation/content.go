package mutation

import (
	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// contentMutants are servers whose content parts violate the rules about deltas, completed texts
// and indexes.
var contentMutants = []*Mutant{
	{
		Name: "whole-is-another", Doc: "the completed text differs from its concatenated deltas",
		Fault:     "wrong-text",
		KilledBy:  map[string]string{"delta.joins-to-whole": "content.end"},
		AlsoFails: []string{"message.content-equals", "script.text"}, // the completed message has the unmodified text, the completed content another
	}, {
		Name: "piece-lost", Doc: "a piece of a text is never sent",
		Fault:     "lost",
		KilledBy:  map[string]string{"delta.joins-to-whole": "content.end", "sequence.dense": "content.end message.delta reasoning.delta"},
		AlsoFails: []string{"script.*", "message.content-equals", "history.tells-the-answer"}, // the text of the deltas is missing
	}, {
		Name: "pieces-swapped", Doc: "two pieces of a text change places, and keep their numbers in order",
		NewEffect: firstOnly(fault.OfKind(spec.MessageDelta), swapEvents),
		KilledBy:  map[string]string{"delta.joins-to-whole": "content.end"},
		AlsoFails: []string{"script.*", "content.ends-once", "message.content-equals", "history.tells-the-answer"}, // the deltas arrive out of order; a single delta arrives after its content was completed
	}, {
		Name: "whole-is-empty", Doc: "a completed text is empty, though there were pieces",
		Fault:     "content-empty",
		KilledBy:  map[string]string{"content.is-whole": "content.end"},
		AlsoFails: []string{"message.content-equals"}, // the completed message has the unmodified text
	}, {
		Name: "wholes-are-empty", Doc: "no completed text has anything in it",
		NewEffect: changeEvents(isCompletedText, func(e *spec.Event) { e.Text = "" }),
		KilledBy:  map[string]string{"content.is-whole": "content.end"},
		AlsoFails: []string{"message.content-equals"}, // the completed message has the unmodified text
	}, {
		Name: "text-not-completed", Doc: "a text that came in pieces is never completed",
		Fault:     "content-not-ended",
		KilledBy:  map[string]string{"content.all-end": "run.end"},
		AlsoFails: []string{"message.content-equals"}, // only deltas were sent for it
	}, {
		Name: "text-in-pieces-only", Doc: "in place of a completed text an empty piece comes",
		NewEffect: changeEvents(isCompletedText, func(e *spec.Event) {
			e.Kind, e.Text = spec.MessageDelta, ""
		}),
		KilledBy: map[string]string{"content.all-end": "run.end"},
	}, {
		Name: "image-not-completed", Doc: "an image stays in progress",
		NewEffect: changeEvents(func(e *spec.Event) bool { return e.Kind == spec.ContentEnd && e.Type == "image" }, func(e *spec.Event) {
			e.Kind, e.Status = spec.ContentPart, ""
		}),
		KilledBy: map[string]string{"content.parts-all-end": "run.end"},
	}, {
		Name: "result-not-completed", Doc: "what a tool said is canceled, not completed",
		NewEffect: changeEvents(func(e *spec.Event) bool { return e.Kind == spec.ToolResult }, func(e *spec.Event) { e.Status = "canceled" }),
		KilledBy:  map[string]string{"content.parts-all-end": "run.end"},
	}, {
		Name: "text-completed-twice", Doc: "a text is completed twice",
		Fault:    "content-ended-twice",
		KilledBy: map[string]string{"content.ends-once": "content.end"},
	}, {
		Name: "piece-after-the-whole", Doc: "an empty piece of a text comes when the text was completed",
		NewEffect: insertAfter(isCompletedText, func(e *spec.Event) []*spec.Event {
			return []*spec.Event{withChange(e, func(o *spec.Event) { o.Kind, o.Text = spec.MessageDelta, "" })}
		}),
		KilledBy: map[string]string{"content.ends-once": "message.delta reasoning.delta"},
	}, {
		Name: "place-skipped", Doc: "a content names the place after its own",
		Fault:     "wrong-index",
		KilledBy:  map[string]string{"content.index-dense": "content.end message.delta reasoning.delta tool.call"},
		AlsoFails: []string{"content.all-end", "content.is-whole", "delta.joins-to-whole", "message.content-equals", "script.text", "script.recall"}, // the content is complete at neither of the two places
	}, {
		Name: "places-from-one", Doc: "the places of contents are counted from 1",
		NewEffect: changeParts(anyEvent, func(p *spec.Event) { p.Index = addToNumber(p.Index, 1) }),
		KilledBy:  map[string]string{"content.index-dense": "message.delta reasoning.delta tool.call tool.result"},
	},
}
