package fault

import "github.com/streamassay/streamassay/spec"

// WrongText completes a text with another than its deltas join to.
var WrongText = &Fault{
	Name: "wrong-text", Doc: "the completed text is not what its deltas join to", Family: Protocol,
	Needs: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Places: []string{"event"},
	Checks: []string{"delta.joins-to-whole"},
	Begin: changed(func(e *spec.Event) bool { return e.Kind == spec.ContentEnd && e.Text != "" }, func(e *spec.Event) {
		e.Text += "?"
	}),
}

// WrongMessage repeats a message at its end otherwise than it was told.
var WrongMessage = &Fault{
	Name: "wrong-message", Doc: "the end of a message repeats other contents than were told", Family: Protocol,
	Needs: []spec.Kind{spec.SlotMessage, spec.MessageEnd, spec.MessageDelta}, Places: []string{"event"},
	Checks: []string{"message.content-equals", "run.output-matches"},
	Begin:  changed(func(e *spec.Event) bool { return ends(e) && len(e.Parts) > 0 }, otherTexts),
}

// WrongSummary ends a run with a list of other messages than were told.
var WrongSummary = &Fault{
	Name: "wrong-summary", Doc: "a message that the end of the run lists is not the one that was told", Family: Protocol,
	Needs:  []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Checks: []string{"run.output-matches"},
	Begin:  changed(func(e *spec.Event) bool { return e.Kind == spec.RunEnd && len(e.Parts) > 0 }, otherTexts),
}

// SummaryShort ends a run with a list that lacks a message.
var SummaryShort = &Fault{
	Name: "summary-short", Doc: "the end of the run does not list its last message", Family: Protocol,
	Needs:  []spec.Kind{spec.RunEnd, spec.MessageEnd},
	Checks: []string{"run.output-is-complete"},
	Begin: changed(func(e *spec.Event) bool { return e.Kind == spec.RunEnd && len(e.Parts) > 0 }, func(e *spec.Event) {
		e.Parts = e.Parts[: len(e.Parts)-1 : len(e.Parts)-1]
	}),
}

// otherTexts changes all that stands inside an event.
func otherTexts(e *spec.Event) {
	e.Parts = parts(e.Parts, func(p spec.Event) (spec.Event, bool) {
		if p.Text != "" {
			p.Text += "?"
		}
		return p, true
	})
}

// EmptyDelta tells a piece with nothing in it.
var EmptyDelta = &Fault{
	Name: "empty-delta", Doc: "a delta has nothing in it", Family: Protocol,
	Needs: []spec.Kind{spec.MessageDelta}, Places: []string{"event"},
	Begin: func(a Args) Effect {
		var s scribe
		struck := once(a.At, isDelta)
		return Effect{Event: func(e *spec.Event, tell func(*spec.Event)) {
			s.tell(e, tell)
			if struck(e) {
				empty := *e
				empty.Text = ""
				s.more(&empty, e.Seq, tell)
			}
		}}
	},
}
