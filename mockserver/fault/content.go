package fault

import "github.com/streamassay/streamassay/spec"

// ContentNotEnded leaves out that a text is complete.
var ContentNotEnded = &Fault{
	Name: "content-not-ended", Doc: "a text that came in deltas is never completed", Family: Protocol,
	Needs: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Places: []string{"event"},
	Checks: []string{"content.all-end"},
	Begin:  missing(wholeText),
}

// ContentEndedTwice completes a text twice.
var ContentEndedTwice = &Fault{
	Name: "content-ended-twice", Doc: "a text is completed twice", Family: Protocol,
	Needs: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Places: []string{"event"},
	Checks: []string{"content.ends-once"},
	Begin:  twice(wholeText),
}

// ContentEmpty completes a text with nothing.
var ContentEmpty = &Fault{
	Name: "content-empty", Doc: "the completed text is empty, though there were deltas", Family: Protocol,
	Needs: []spec.Kind{spec.MessageDelta, spec.ContentEnd}, Places: []string{"event"},
	Checks: []string{"content.is-whole"},
	Begin:  changed(wholeText, func(e *spec.Event) { e.Text = "" }),
}

func wholeText(e *spec.Event) bool { return e.Kind == spec.ContentEnd && e.Text != "" }

// WrongIndex tells a content at another place than it has.
var WrongIndex = &Fault{
	Name: "wrong-index", Doc: "a content names the place after its own", Family: Protocol,
	Needs: []spec.Kind{spec.SlotIndex}, Places: []string{"event"},
	Checks: []string{"content.index-dense"},
	Begin: changed(func(e *spec.Event) bool { return e.Index != "" && !ends(e) && !terminal(e) }, func(e *spec.Event) {
		e.Index = add(e.Index, 1)
	}),
}
