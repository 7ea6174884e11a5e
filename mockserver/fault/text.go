package fault

import "github.com/streamassay/streamassay/spec"

// WrongText is the fault that appends a character to the text in the event that completes a text,
// so that the completed text differs from the concatenated deltas.
var WrongText = &Fault{
	Name: "wrong-text", Doc: "the completed text differs from the concatenation of its deltas", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Triggers: []string{"event"},
	Checks: []string{"delta.joins-to-whole"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Kind == spec.ContentEnd && e.Text != "" }, func(e *spec.Event) {
		e.Text += "?"
	}),
}

// WrongMessage is the fault that changes the texts that the end event of a message repeats, so
// that they differ from those sent before.
var WrongMessage = &Fault{
	Name: "wrong-message", Doc: "the contents repeated in the end event of a message differ from those sent before", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageEnd, spec.MessageDelta}, Triggers: []string{"event"},
	Checks:    []string{"message.content-equals", "run.output-matches"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return isMessageEnd(e) && len(e.Parts) > 0 }, changeTexts),
}

// WrongSummary is the fault that changes the texts of the messages that the end event of a run
// lists, so that they differ from those sent before.
var WrongSummary = &Fault{
	Name: "wrong-summary", Doc: "a message listed in the end event of the run differs from the one sent before", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Checks:        []string{"run.output-matches"},
	NewEffect:     changeFirst(func(e *spec.Event) bool { return e.Kind == spec.RunEnd && len(e.Parts) > 0 }, changeTexts),
}

// SummaryShort is the fault that removes the last message from the list in the end event of a run.
var SummaryShort = &Fault{
	Name: "summary-short", Doc: "the end event of the run does not list its last message", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Checks:        []string{"run.output-is-complete"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Kind == spec.RunEnd && len(e.Parts) > 0 }, func(e *spec.Event) {
		e.Parts = e.Parts[: len(e.Parts)-1 : len(e.Parts)-1]
	}),
}

// changeTexts appends a character to each text in the parts of e, at any depth. It replaces e.Parts
// by a changed copy, so that other events with the same parts are not affected.
func changeTexts(e *spec.Event) {
	e.Parts = mapParts(e.Parts, func(p spec.Event) (spec.Event, bool) {
		if p.Text != "" {
			p.Text += "?"
		}
		return p, true
	})
}

// EmptyDelta is the fault that inserts a delta with an empty text. It only tests clients: no check
// detects it.
var EmptyDelta = &Fault{
	Name: "empty-delta", Doc: "a delta has an empty text", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageDelta}, Triggers: []string{"event"},
	NewEffect: func(a Args) Effect {
		var s renumberer
		isAffected := firstMatch(a.Trigger, isDelta)
		return Effect{OnEvent: func(e *spec.Event, emit func(*spec.Event)) {
			s.emit(e, emit)
			if isAffected(e) {
				empty := *e
				empty.Text = ""
				s.insert(&empty, e.Seq, emit)
			}
		}}
	},
}
