package suites

import (
	"slices"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// variantScenarios are the scenarios that send valid variants of valid requests.
var variantScenarios = []Scenario{
	{
		Name:       "variants",
		Doc:        "valid requests in every form that the document allows: without each optional member, with null, ...",
		Capability: "text", Templates: promptTemplates,
		ExpectedChecks: []string{"accept.as-documented"}, Run: runVariants,
	}, {
		Name: "corrected", Doc: "a valid request after invalid ones with the same ids of its thread and its run",
		Capability: "text", Templates: promptTemplates, Run: runCorrected,
	},
}

// runVariants plays the variants scenario. For each template whose requests start a run, it sends
// the request, and then the variants of the request whose form was not sent before. It also sends
// the requests of the most common templates in other forms that HTTP and JSON define as equivalent.
func runVariants(t *Conversation) {
	sent := map[string]bool{}
	for _, o := range t.dialect.Operations() {
		if !o.StartsRun {
			continue
		}
		for _, template := range o.TemplatesBySimplicity() {
			if !isReplyTemplate(template) {
				t.Thread = t.NewID()
				e := t.PromptEvent("text", "one")
				e.Name = "paint"
				t.sendVariants(template, e, sent)
			}
		}
	}
	if t.canSend("uploaded") {
		t.sendUploadVariants(sent)
	}
	for _, template := range []string{"prompt", "listen", "history", "cancel"} {
		t.sendForms(template)
	}
}

// runCorrected plays the corrected scenario. It starts a run and then, in another thread, sends a
// request in invalid forms and, once the server has refused these, in its valid form.
func runCorrected(t *Conversation) {
	if t.SendAndRead("prompt", t.PromptEvent("text", "one")); !t.accepted {
		return
	}
	t.Thread, t.Run = t.NewID(), t.NewID()
	r := t.BuildRequest("prompt", t.PromptEvent("text", "corrected"))
	if t.sendRefusedForms(r) && t.Send(r) && !t.respondsWithStream("prompt") {
		t.ReadStream("", 0)
	}
}

// sendVariants sends the request of the template, filled from e, and then its variants, except
// those whose form is in sent. It adds the forms that it sends to sent. If there are no such
// variants, it sends nothing. If the server does not accept the request itself, which the accepts
// scenario judges, it sends no variants.
func (t *Conversation) sendVariants(template string, e spec.Event, sent map[string]bool) {
	t.Run = t.NewID()
	r := t.BuildRequest(template, e)
	isSent := func(v dialect.RequestVariant) bool { return sent[v.Form] }
	variants := slices.DeleteFunc(t.dialect.RequestVariants(r), isSent)
	if len(variants) == 0 || !t.Send(r) || t.wasCutOff() {
		return
	}
	for _, v := range variants {
		if !sent[v.Form] {
			sent[v.Form] = true
			t.Send(t.withNewIDs(v.Request))
		}
	}
}

// sendUploadVariants uploads an image and sends a request that contains the image. Then it sends
// those variants of the request whose form is not in sent. All requests are in the same new thread.
func (t *Conversation) sendUploadVariants(sent map[string]bool) {
	t.Thread = t.NewID()
	image, ok := t.elicit("uploaded")
	if !ok {
		return
	}
	if t.SendAndRead("uploaded", image); !t.accepted {
		return // judged by the attachments scenario
	}
	for i, v := range t.dialect.RequestVariants(t.BuildRequest("uploaded", image)) {
		if sent[v.Form] {
			continue
		}
		t.Run = t.NewID()
		again := t.dialect.RequestVariants(t.BuildRequest("uploaded", image)) // with the new run id
		if i < len(again) && t.Send(again[i].Request) && !t.respondsWithStream("uploaded") {
			t.ReadStream("", 0)
		}
	}
}

// wasCutOff reports whether the transfer of the last response failed.
func (t *Conversation) wasCutOff() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.trace.Exchanges) > 0 && t.trace.Exchanges[len(t.trace.Exchanges)-1].Response.End != nil
}

// sendForms sends the request of a template in each of the [requestForms] in which the request is
// valid. If the request does not start a run, sendForms first starts the run to which the request
// refers.
func (t *Conversation) sendForms(template string) {
	o, ok := t.dialect.TemplateOperation(template)
	if !ok || template != "prompt" && !t.canSend(template) || template == "cancel" && t.HasTemplate("listen") {
		return
	}
	t.Thread = t.NewID()
	e := t.PromptEvent("text", "one")
	if !o.StartsRun {
		if t.SendAndRead("prompt", e); !t.accepted {
			return
		}
		e = spec.Event{}
	}
	for _, form := range requestForms {
		r := t.BuildRequest(template, e)
		if o.StartsRun {
			r = t.withNewIDs(r)
		}
		if other := form.rewrite(r); len(t.dialect.ValidateRequest(other)) == 0 {
			t.Send(other)
		}
	}
}
