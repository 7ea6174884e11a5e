package suites

import (
	"slices"

	"github.com/streamassay/streamassay/internal/wire"
	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// runRefusals sends invalid requests to every operation that it can judge.
func runRefusals(t *Conversation) {
	for _, o := range t.dialect.Operations() {
		known := &dialect.SeenInvalidRequests{}
		for _, template := range o.TemplatesBySimplicity() {
			switch {
			case slices.Contains(replyTemplates, template):
				t.probeReply(o, template, known)
				continue
			case !t.isProbeable(o, template):
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
			t.probeRefusals(o, t.BuildRequest(template, e), known)
		}
	}
}

// isProbeable reports whether refusals of an operation can be judged: the target has it, and the
// suite can send a valid request for it.
func (t *Conversation) isProbeable(o *dialect.Operation, template string) bool {
	if o.AcceptsFiles && !t.target.lacksCapability(templateCapabilities[o.Templates()[0]]) {
		return true
	}
	switch template {
	case "listen":
		return true
	case "cancel":
		if !t.hasTemplate("listen") { // there may be no run left to cancel
			return o.StartsRun
		}
		fallthrough
	case "health", "history":
		return o.StartsRun || !t.target.lacksCapability(template)
	}
	return o.StartsRun
}

// probeRefusals sends a valid request and, if it is accepted, its invalid variants that known
// does not have yet, each after the valid request that it was derived from.
func (t *Conversation) probeRefusals(o *dialect.Operation, r spec.Request, known *dialect.SeenInvalidRequests) {
	if !t.sendProbe(o, r) {
		return // a refusal proves nothing where the valid request is refused too
	}
	mutants := t.dialect.UnseenInvalidRequests(r, known)
	valid := r // the last valid request that was sent
	for _, m := range mutants {
		if string(m.Valid.Body) != string(valid.Body) || m.Valid.Target != valid.Target {
			t.sendProbe(o, m.Valid)
			valid = m.Valid
		}
		t.sendProbe(o, m.Request)
	}
}

// elicitingCapabilities maps reply templates to the capability that a server needs to elicit them.
var elicitingCapabilities = map[string]string{
	"tool-result": "client-tool", "resume": "interrupt", "sign": "attachments", "uploaded": "attachments",
}

// probeReply is like probeRefusals for a reply template: each request is elicited anew.
func (t *Conversation) probeReply(o *dialect.Operation, template string, known *dialect.SeenInvalidRequests) {
	newReply := func() (spec.Request, bool) {
		t.Thread = t.newID()
		e, ok := t.elicit(template)
		t.Run = t.newID()
		return t.BuildRequest(template, e), ok
	}
	if t.target.lacksCapability(elicitingCapabilities[template]) {
		return
	}
	valid, ok := newReply()
	if !ok || !t.send(valid, wire.StopWhen{}) {
		return
	}
	for _, m := range t.dialect.UnseenInvalidRequests(valid, known) {
		if r, ok := newReply(); ok {
			if again, ok := t.dialect.InvalidRequestByName(r, m.Name); ok {
				t.send(again.Request, wire.StopWhen{})
			}
		}
	}
}

// sendProbe sends a request, with new ids if it starts a run, and reports whether it was
// accepted.
func (t *Conversation) sendProbe(o *dialect.Operation, r spec.Request) (accepted bool) {
	if o.StartsRun {
		r = t.withNewIDs(r)
	}
	return t.send(r, wire.StopWhen{})
}
