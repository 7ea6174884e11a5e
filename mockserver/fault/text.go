package fault

import "github.com/streamassay/streamassay/spec"

// WrongText completes a text with another than its deltas join to.
var WrongText = &Fault{
	Name: "wrong-text", Doc: "the completed text is not what its deltas join to", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Triggers: []string{"event"},
	Checks: []string{"delta.joins-to-whole"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Kind == spec.ContentEnd && e.Text != "" }, func(e *spec.Event) {
		e.Text += "?"
	}),
}

// WrongMessage repeats a message at its end otherwise than it was told.
var WrongMessage = &Fault{
	Name: "wrong-message", Doc: "the end of a message repeats other contents than were told", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.SlotMessage, spec.MessageEnd, spec.MessageDelta}, Triggers: []string{"event"},
	Checks:    []string{"message.content-equals", "run.output-matches"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return isMessageEnd(e) && len(e.Parts) > 0 }, changeTexts),
}

// WrongSummary ends a run with a list of other messages than were told.
var WrongSummary = &Fault{
	Name: "wrong-summary", Doc: "a message that the end of the run lists is not the one that was told", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Checks:        []string{"run.output-matches"},
	NewEffect:     changeFirst(func(e *spec.Event) bool { return e.Kind == spec.RunEnd && len(e.Parts) > 0 }, changeTexts),
}

// SummaryShort ends a run with a list that lacks a message.
var SummaryShort = &Fault{
	Name: "summary-short", Doc: "the end of the run does not list its last message", Category: CategoryProtocol,
	RequiredKinds: []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Checks:        []string{"run.output-is-complete"},
	NewEffect: changeFirst(func(e *spec.Event) bool { return e.Kind == spec.RunEnd && len(e.Parts) > 0 }, func(e *spec.Event) {
		e.Parts = e.Parts[: len(e.Parts)-1 : len(e.Parts)-1]
	}),
}

// changeTexts changes all that stands inside an event.
func changeTexts(e *spec.Event) {
	e.Parts = mapParts(e.Parts, func(p spec.Event) (spec.Event, bool) {
		if p.Text != "" {
			p.Text += "?"
		}
		return p, true
	})
}

// EmptyDelta tells a piece with nothing in it.
var EmptyDelta = &Fault{
	Name: "empty-delta", Doc: "a delta has nothing in it", Category: CategoryProtocol,
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
