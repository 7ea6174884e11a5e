package fault

import "github.com/streamassay/streamassay/spec"

// ContentNotEnded is the fault that omits the event that completes a text, so that the client
// receives only deltas.
var ContentNotEnded = &Fault{
	Name: "content-not-ended", Doc: "a text that was sent in deltas is never completed", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Triggers: []string{"event"},
	Checks:    []string{"content.all-end"},
	NewEffect: dropFirst(isCompletedText),
}

// ContentEndedTwice is the fault that sends the event that completes a text twice.
var ContentEndedTwice = &Fault{
	Name: "content-ended-twice", Doc: "a text is completed twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Triggers: []string{"event"},
	Checks:    []string{"content.ends-once"},
	NewEffect: duplicateFirst(isCompletedText),
}

// ContentEmpty is the fault that empties the text in the event that completes a text, although
// deltas with text were sent before.
var ContentEmpty = &Fault{
	Name: "content-empty", Doc: "the completed text is empty, though there were deltas", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Triggers: []string{"event"},
	Checks:    []string{"content.is-whole"},
	NewEffect: changeFirst(isCompletedText, func(e *spec.Event) { e.Text = "" }),
}

// isCompletedText reports whether e is an event that completes a text and the text in e is not
// empty.
func isCompletedText(e *spec.Event) bool { return e.Kind == spec.ContentEnd && e.Text != "" }

// WrongIndex is the fault that adds 1 to the index of a content part in one event. The index is the
// position of the part within its message.
var WrongIndex = &Fault{
	Name: "wrong-index", Doc: "the index of a content is one too high", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotIndex}, Triggers: []string{"event"},
	Checks: []string{"content.index-dense"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Index != "" && !isMessageEnd(e) && !isTerminal(e) }, func(e *spec.Event) {
		e.Index = addToNumber(e.Index, 1)
	}),
}
