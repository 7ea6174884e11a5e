package suites

import (
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

func runRefusals(t *Conversation) {
	for _, o := range t.dialect.Operations() {
		known := &dialect.SeenInvalidRequests{}
		for _, phrase := range o.TemplatesBySimplicity() {
			switch {
			case slices.Contains(replyTemplates, phrase):
				t.probeReply(o, phrase, known)
				continue
			case !t.isProbeable(o, phrase):
				continue
			}
			t.Thread = t.newID()
			e := t.PromptEvent("text", "one")
			e.Name = "paint"
			if !o.StartsRun && !t.StartRun("prompt", e) {
				return
			}
			if o.StartsRun {
				t.Run = t.newID()
			}
			t.probeRefusals(o, t.BuildRequest(phrase, e), known)
		}
	}
}

// isProbeable says whether the suite knows how to ask for an operation so that a right
// answer can be told from a wrong one: a cancel only where there are runs to cancel.
func (t *Conversation) isProbeable(o *dialect.Operation, phrase string) bool {
	if o.AcceptsFiles && !t.target.lacksCapability(templateCapabilities[o.Templates()[0]]) {
		return true
	}
	_, listens := t.dialect.TemplateOperation("listen")
	return o.StartsRun || phrase == "listen" || phrase == "cancel" && listens && !t.target.lacksCapability("cancel") || phrase == "health" && !t.target.lacksCapability("health") || phrase == "history" && !t.target.lacksCapability("history")
}

// probeRefusals sends a request without fault, and what breaks the document in one place,
// each with its twin before it. What was tried with another phrase is left out.
func (t *Conversation) probeRefusals(o *dialect.Operation, r spec.Request, known *dialect.SeenInvalidRequests) {
	if !t.sendProbe(o, r) {
		return // nothing can be learned from faults in what is refused without them
	}
	mutants := t.dialect.UnseenInvalidRequests(r, known)
	twin := r // the last request without fault: the one that a fault is compared with
	for _, m := range mutants {
		if string(m.Valid.Body) != string(twin.Body) || m.Valid.Target != twin.Target {
			t.sendProbe(o, m.Valid)
			twin = m.Valid
		}
		t.sendProbe(o, m.Request)
	}
}

// elicitingCapabilities are the capabilities of a server that asks for what a phrase answers.
var elicitingCapabilities = map[string]string{"tool-result": "client-tool", "resume": "interrupt", "sign": "attachments", "uploaded": "attachments"}

// probeReply is probe for what answers the server: each time it is made to ask.
func (t *Conversation) probeReply(o *dialect.Operation, phrase string, known *dialect.SeenInvalidRequests) {
	ask := func() (spec.Request, bool) {
		t.Thread = t.newID()
		e, ok := t.elicit(phrase)
		t.Run = t.newID()
		return t.BuildRequest(phrase, e), ok
	}
	if t.target.lacksCapability(elicitingCapabilities[phrase]) {
		return
	}
	whole, ok := ask()
	if !ok || !t.send(whole, wire.StopWhen{}) {
		return
	}
	for _, m := range t.dialect.UnseenInvalidRequests(whole, known) {
		if r, ok := ask(); ok {
			if again, ok := t.dialect.InvalidRequestByName(r, m.Name); ok {
				t.send(again.Request, wire.StopWhen{})
			}
		}
	}
}

// sendProbe sends one of them.
func (t *Conversation) sendProbe(o *dialect.Operation, r spec.Request) (accepted bool) {
	if o.StartsRun {
		r = t.withNewIDs(r)
	}
	return t.send(r, wire.StopWhen{})
}
