package mutation

import (
	"github.com/streamassay/streamassay/internal/fault"
	"github.com/streamassay/streamassay/spec"
)

// contentMutants are servers whose content parts violate the rules about deltas, completed texts
// and indexes.
var contentMutants = []*Mutant{
	{
		Name: "completed-text-differs", Doc: "sends a completed text that differs from the concatenation of its deltas",
		Fault:     "wrong-text",
		KilledBy:  map[string]string{"delta.joins-to-whole": "content.end"},
		AlsoFails: []string{"message.content-equals", "script.text"}, // the completed message has the unmodified text, the completed content another
	}, {
		Name: "text-delta-lost", Doc: "omits one text delta",
		Fault:     "lost",
		KilledBy:  map[string]string{"delta.joins-to-whole": "content.end", "sequence.dense": "content.end message.delta reasoning.delta"},
		AlsoFails: []string{"script.*", "message.content-equals", "history.tells-the-answer"}, // the text of the deltas is missing
	}, {
		Name: "text-deltas-swapped", Doc: "sends two text deltas in the wrong order with sequence numbers in the right order",
		NewEffect: firstOnly(fault.OfKind(spec.MessageDelta), swapEvents),
		KilledBy:  map[string]string{"delta.joins-to-whole": "content.end"},
		AlsoFails: []string{"script.*", "content.ends-once", "message.content-equals", "history.tells-the-answer"}, // the deltas arrive out of order; a single delta arrives after its content was completed
	}, {
		Name: "completed-text-empty", Doc: "sends an empty completed text after text deltas",
		Fault:     "content-empty",
		KilledBy:  map[string]string{"content.is-whole": "content.end"},
		AlsoFails: []string{"message.content-equals"}, // the completed message has the unmodified text
	}, {
		Name: "completed-texts-all-empty", Doc: "sends every completed text empty",
		NewEffect: changeEvents(isCompletedText, func(e *spec.Event) { e.Text = "" }),
		KilledBy:  map[string]string{"content.is-whole": "content.end"},
		AlsoFails: []string{"message.content-equals"}, // the completed message has the unmodified text
	}, {
		Name: "completed-text-missing", Doc: "never completes a text that was sent in deltas",
		Fault:     "content-not-ended",
		KilledBy:  map[string]string{"content.all-end": "run.end"},
		AlsoFails: []string{"message.content-equals"}, // only deltas were sent for it
	}, {
		Name: "empty-delta-for-completed-text", Doc: "sends an empty text delta in place of a completed text",
		NewEffect: changeEvents(isCompletedText, func(e *spec.Event) {
			e.Kind, e.Text = spec.MessageDelta, ""
		}),
		KilledBy: map[string]string{"content.all-end": "run.end"},
	}, {
		Name: "image-not-completed", Doc: "reports an image as in progress and never as completed",
		NewEffect: changeEvents(func(e *spec.Event) bool { return e.Kind == spec.ContentEnd && e.Type == "image" }, func(e *spec.Event) {
			e.Kind, e.Status = spec.ContentPart, ""
		}),
		KilledBy: map[string]string{"content.parts-all-end": "run.end"},
	}, {
		Name: "tool-result-canceled", Doc: "reports a tool result as canceled instead of completed",
		NewEffect: changeEvents(func(e *spec.Event) bool { return e.Kind == spec.ToolResult }, func(e *spec.Event) { e.Status = "canceled" }),
		KilledBy:  map[string]string{"content.parts-all-end": "run.end"},
	}, {
		Name: "completed-text-twice", Doc: "sends a completed text twice",
		Fault:    "content-ended-twice",
		KilledBy: map[string]string{"content.ends-once": "content.end"},
	}, {
		Name: "empty-delta-after-completed-text", Doc: "sends an empty text delta after the completed text",
		NewEffect: insertAfter(isCompletedText, func(e *spec.Event) []*spec.Event {
			return []*spec.Event{withChange(e, func(o *spec.Event) { o.Kind, o.Text = spec.MessageDelta, "" })}
		}),
		KilledBy: map[string]string{"content.ends-once": "message.delta reasoning.delta"},
	}, {
		Name: "content-index-too-high", Doc: "sends a content with a content index that is one too high",
		Fault:     "wrong-index",
		KilledBy:  map[string]string{"content.index-dense": "content.end message.delta reasoning.delta tool.call"},
		AlsoFails: []string{"content.all-end", "content.is-whole", "delta.joins-to-whole", "message.content-equals", "script.text", "script.recall"}, // the content is complete at neither of the two places
	}, {
		Name: "content-indexes-from-one", Doc: "counts content indexes from 1",
		NewEffect: changeParts(anyEvent, func(p *spec.Event) { p.Index = addToNumber(p.Index, 1) }),
		KilledBy:  map[string]string{"content.index-dense": "message.delta reasoning.delta tool.call tool.result"},
	},
}
