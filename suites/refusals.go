package suites

import (
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

func leadRefusals(t *Talk) {
	for _, o := range t.dialect.Operations() {
		known := &dialect.Memory{}
		for _, phrase := range o.PlainFirst() {
			switch {
			case slices.Contains(answering, phrase):
				t.probeAnswer(o, phrase, known)
				continue
			case !t.played(o, phrase):
				continue
			}
			t.Thread = t.id()
			e := t.Prompt("text", "one")
			e.Name = "paint"
			if !o.Asks && !t.Open("prompt", e) {
				return
			}
			if o.Asks {
				t.Run = t.id()
			}
			t.probe(o, t.Request(phrase, e), known)
		}
	}
}

// played says whether the suite knows how to ask for an operation so that a right
// answer can be told from a wrong one: a cancel only where there are runs to cancel.
func (t *Talk) played(o *dialect.Operation, phrase string) bool {
	if o.Uploads && !t.target.lacks(capabilities[o.Phrases()[0]]) {
		return true
	}
	_, listens := t.dialect.Phrase("listen")
	return o.Asks || phrase == "listen" || phrase == "cancel" && listens && !t.target.lacks("cancel") || phrase == "health" && !t.target.lacks("health") || phrase == "history" && !t.target.lacks("history")
}

// probe sends a request without fault, and what breaks the document in one place,
// each with its twin before it. What was tried with another phrase is left out.
func (t *Talk) probe(o *dialect.Operation, r spec.Request, known *dialect.Memory) {
	if !t.probed(o, r) {
		return // nothing can be learned from faults in what is refused without them
	}
	mutants := t.dialect.MutateFurther(r, known)
	twin := r // the last request without fault: the one that a fault is compared with
	for _, m := range mutants {
		if string(m.Twin.Body) != string(twin.Body) || m.Twin.Target != twin.Target {
			t.probed(o, m.Twin)
			twin = m.Twin
		}
		t.probed(o, m.Request)
	}
}

// asking are the capabilities of a server that asks for what a phrase answers.
var asking = map[string]string{"tool-result": "client-tool", "resume": "interrupt", "sign": "attachments", "uploaded": "attachments"}

// probeAnswer is probe for what answers the server: each time it is made to ask.
func (t *Talk) probeAnswer(o *dialect.Operation, phrase string, known *dialect.Memory) {
	ask := func() (spec.Request, bool) {
		t.Thread = t.id()
		e, ok := t.asked(phrase)
		t.Run = t.id()
		return t.Request(phrase, e), ok
	}
	if t.target.lacks(asking[phrase]) {
		return
	}
	whole, ok := ask()
	if !ok || !t.send(whole, wire.Limit{}) {
		return
	}
	for _, m := range t.dialect.MutateFurther(whole, known) {
		if r, ok := ask(); ok {
			if again, ok := t.dialect.Mutant(r, m.Name); ok {
				t.send(again.Request, wire.Limit{})
			}
		}
	}
}

// probed sends one of them.
func (t *Talk) probed(o *dialect.Operation, r spec.Request) (accepted bool) {
	if o.Asks {
		r = t.fresh(r)
	}
	return t.send(r, wire.Limit{})
}
