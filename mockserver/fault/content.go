package fault

import "github.com/streamassay/streamassay/spec"

// ContentNotEnded leaves out that a text is complete.
var ContentNotEnded = &Fault{
	Name: "content-not-ended", Doc: "a text that came in deltas is never completed", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Triggers: []string{"event"},
	Checks:    []string{"content.all-end"},
	NewEffect: dropFirst(isCompletedText),
}

// ContentEndedTwice completes a text twice.
var ContentEndedTwice = &Fault{
	Name: "content-ended-twice", Doc: "a text is completed twice", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Triggers: []string{"event"},
	Checks:    []string{"content.ends-once"},
	NewEffect: duplicateFirst(isCompletedText),
}

// ContentEmpty completes a text with nothing.
var ContentEmpty = &Fault{
	Name: "content-empty", Doc: "the completed text is empty, though there were deltas", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Triggers: []string{"event"},
	Checks:    []string{"content.is-whole"},
	NewEffect: changeFirst(isCompletedText, func(e *spec.Event) { e.Text = "" }),
}

func isCompletedText(e *spec.Event) bool { return e.Kind == spec.ContentEnd && e.Text != "" }

// WrongIndex tells a content at another place than it has.
var WrongIndex = &Fault{
	Name: "wrong-index", Doc: "a content names the place after its own", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotIndex}, Triggers: []string{"event"},
	Checks: []string{"content.index-dense"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Index != "" && !isMessageEnd(e) && !isTerminal(e) }, func(e *spec.Event) {
		e.Index = addToNumber(e.Index, 1)
	}),
}
