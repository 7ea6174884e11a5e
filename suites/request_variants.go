package suites

import (
	"reflect"
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// variantScenarios are the scenarios that send valid requests in many forms, or after invalid
// requests.
var variantScenarios = []Scenario{
	{
		Name:       "variants",
		Doc:        "valid requests in every form that the document allows: without each optional member, with null, ...",
		Capability: "text", Templates: promptTemplates,
		ExpectedChecks: []string{"accept.as-documented"}, Run: runVariants,
	}, {
		Name: "forms", Doc: "prompts of several kinds in every form of request, the rest of a stream, and the history",
		Capability: "text", Templates: promptTemplates, Run: runForms,
	}, {
		Name: "corrected", Doc: "a valid request after invalid ones with the same ids of its run and its thread, which is new or known",
		Capability: "text", Templates: promptTemplates, Run: runCorrected,
	},
}

// runVariants plays the variants scenario. For each template that starts a run and is not for
// replies, it sends a valid request and variants of it, such as one without an optional member. It
// sends each form of variant (see [dialect.ValidRequestVariant]) only once. If possible, it also
// sends variants of a message with an uploaded image, and omits the run id after a request with
// one. Finally, it sends common requests in all [requestForms].
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
	t.omitRunID()
	for _, template := range []string{"prompt", "listen", "history", "cancel"} {
		t.sendForms(template)
	}
}

// runForms plays the forms scenario, in which the form of a request must not affect its run. It
// uses the templates for prompts, except "prompt" itself. With each of them, it sends several test
// prompts (docs/prompts.md), resumes streams, asks in a new thread for the previous message, and
// finally requests the histories. It sends only about half of the test prompts, which the seed
// selects, unless [Target.Deep] is set. It sends nothing if the agent does not follow the test
// prompts.
func runForms(t *Conversation) {
	c, ok := newPayloadPlayer(t, "form")
	if !ok {
		return
	}
	o, _ := c.dialect.TemplateOperation("prompt")
	samples := append(joinedSamples(), edgeSamples[0])
	var threads []string
	for i, template := range o.TemplatesBySimplicity()[1:] {
		if isReplyTemplate(template) {
			continue
		}
		c.Thread = c.NewID()
		for k, prompt := range []struct{ scenario, args string }{
			{"text", " \n" + samples[i%len(samples)].make(c.word()) + "\n "}, {"error", c.word()}, {"tool", c.object()}, {"error-mid", c.word()},
		} {
			isLeftOut := !c.target.Deep && (uint64(i+k)+c.target.Seed)%2 == 0
			if isLeftOut || c.target.lacksCapability(prompt.scenario) {
				continue
			}
			e := c.PromptEvent(prompt.scenario, prompt.args)
			e.Name = "paint"
			if c.SendAndRead(template, e); !c.accepted {
				break // judged by the accepts scenario
			}
			threads = append(threads, c.Thread)
			cursors := c.Cursors()
			if c.HasTemplate("listen") && len(cursors) > 1 && !c.target.lacksCapability("resume") {
				c.ReadStream(cursors[len(cursors)/2-1], 0)
			}
			if c.dialect.RepeatsHistory(c.BuildRequest(template, e)) { // each prompt needs a new thread
				c.Thread = c.NewID()
			}
		}
		recall := c.PromptEvent("recall", "")
		recall.Name = "paint"
		c.Thread = c.NewID() // but, for example, the same user id
		if r := c.BuildRequest(template, recall); !c.target.lacksCapability("recall") && !c.dialect.RepeatsHistory(r) {
			c.SendAndRead(template, recall)
		}
		if c.target.supports(needsInterrupt) {
			c.Thread = c.NewID()
			e := c.PromptEvent("interrupt", c.object())
			e.Name = "paint"
			c.SendAndRead(template, e)
		}
	}
	c.completeHistories(slices.Compact(threads))
}

// runCorrected plays the corrected scenario on reused connections. It sends invalid forms of a
// request, and then the valid request with the same ids, first in two new threads and then in a
// thread with a run. Checks verify that invalid requests have no effect: that they do not create a
// thread, and that the histories contain only the messages of valid requests and their replies.
// Finally, it sends a valid request after each of the [refusedForms], and requests the health of
// the server.
func runCorrected(t *Conversation) {
	t.keepAlive()
	if t.SendAndRead("prompt", t.PromptEvent("text", "one")); !t.accepted {
		return
	}
	known := t.Thread
	for i, sendInvalid := range []func(spec.Request) bool{t.sendRefusedForms, t.sendShortAndLongForms} {
		t.Thread, t.Run = t.NewID(), t.NewID()
		r := t.BuildRequest("prompt", t.PromptEvent("text", "corrected"))
		if m, ok := t.dialect.InvalidRequestByName(r, refusedForms[0]); ok && i == 0 {
			t.Send(m.Request)
		}
		if sendInvalid(r) {
			if t.canSend("history") {
				t.SendTemplate("history", spec.Event{})
			}
			t.sendAndReadAgain(r)
			t.completeHistory()
		}
	}
	run := t.NewID()
	t.Thread, t.Run = known, run
	r := t.BuildRequest("prompt", t.PromptEvent("text", "corrected in a known thread"))
	if t.sendShortAndLongForms(r) {
		t.SendAndRead("prompt", t.PromptEvent("text", "after refusals"))
		t.Sleep(silence) // a server may refuse a run while the thread is busy
		t.Run = run
		t.sendAndReadAgain(r)
		t.completeHistory()
	}
	for _, form := range refusedForms {
		if m, ok := t.dialect.InvalidRequestByName(r, form); ok && !t.Send(m.Request) {
			t.SendAndRead("prompt", t.PromptEvent("text", "after the refusal"))
		}
	}
	if t.canSend("health") {
		t.SendTemplate("health", spec.Event{})
	}
}

// sendAndReadAgain sends r, a request of the template "prompt" for the current run, and reads the
// stream of the run to its end. Unlike [Conversation.SendAndRead], it does not use a new run id.
func (t *Conversation) sendAndReadAgain(r spec.Request) {
	if t.Send(r) && !t.respondsWithStream("prompt") {
		t.ReadStream("", 0)
	}
}

// omitRunID sends a prompt with a run id and then, in the same thread, one without. It sends
// nothing if the dialect's document requires a run id. The server must choose a new id for the
// second run.
func (t *Conversation) omitRunID() {
	t.Thread, t.Run = t.NewID(), ""
	if !t.isValid("prompt", t.PromptEvent("text", "one")) {
		return
	}
	t.SendAndRead("prompt", t.PromptEvent("text", "one"))
	t.Run = ""
	if t.accepted && t.Sleep(silence) { // a server may refuse a run shortly after another one of its thread
		t.SendTemplate("prompt", t.PromptEvent("text", "two"))
	}
}

// sendVariants builds a request from the template with the given name and the values in e, and
// sends it. It then sends valid variants of this request, each with new ids.
//
// The keys of sent are the forms of the variants that were sent before; see
// [dialect.ValidRequestVariant].Form. Variants with these forms are omitted, unless isUnknownAtRoot
// returns true for them, and sendVariants adds the forms that it sends. If no variants are left, it
// does not send the first request either. If the server refuses the first request, sendVariants
// sends only the variants that lack an optional member: if the server accepts one of them, that
// member may be the reason for the refusal.
func (t *Conversation) sendVariants(template string, e spec.Event, sent map[string]bool) {
	t.Run = t.NewID()
	r := t.BuildRequest(template, e)
	isSent := func(v dialect.ValidRequestVariant) bool { return sent[v.Form] && !isUnknownAtRoot(v) }
	variants := slices.DeleteFunc(t.dialect.ValidVariants(r), isSent)
	if len(variants) == 0 {
		return
	}
	accepted := t.Send(r)
	if t.wasCutOff() || !accepted && len(sent) == 0 { // the server may refuse every request
		return
	}
	for _, v := range variants {
		if !accepted && strings.HasSuffix(v.Form, " is missing") {
			t.Send(t.withNewIDs(v.Request))
		}
		if accepted && (!sent[v.Form] || isUnknownAtRoot(v)) {
			sent[v.Form] = true
			t.Send(t.withNewIDs(v.Request))
		}
	}
}

// isUnknownAtRoot reports whether the variant v has an unknown member at the top level of its body.
// These variants are sent for each template, because a server may parse different kinds of requests
// with different code.
func isUnknownAtRoot(v dialect.ValidRequestVariant) bool {
	return strings.Count(v.Name, "/") == 1 && strings.HasSuffix(v.Name, " is present")
}

// sendUploadVariants uploads an image in a new thread and sends a message that contains it, and
// then valid variants of that request. The map sent contains the variants sent before, by
// [dialect.ValidRequestVariant.Form]; sendUploadVariants omits variants with these forms, and does
// not change the map. If the server refuses the request, it sends no variants.
func (t *Conversation) sendUploadVariants(sent map[string]bool) {
	t.Thread = t.NewID()
	image, ok := t.elicit("uploaded")
	if !ok {
		return
	}
	if t.SendAndRead("uploaded", image); !t.accepted {
		return // judged by the attachments scenario
	}
	for i, v := range t.dialect.ValidVariants(t.BuildRequest("uploaded", image)) {
		if sent[v.Form] {
			continue
		}
		t.Run = t.NewID()
		again := t.dialect.ValidVariants(t.BuildRequest("uploaded", image)) // with the new run id
		if i < len(again) && t.Send(again[i].Request) && !t.respondsWithStream("uploaded") {
			t.ReadStream("", 0)
		}
	}
}

// wasCutOff reports whether the last response ended early, for example because of a network error.
func (t *Conversation) wasCutOff() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.trace.Exchanges) > 0 && t.trace.Exchanges[len(t.trace.Exchanges)-1].Response.End != nil
}

// sendForms sends requests of the template with the given name, one in each of the [requestForms].
// It omits the forms that do not change the request, and those that make it invalid. If the request
// does not start a run, sendForms first starts a run to which the request can refer. It sends
// nothing if the dialect or the target does not support the template, and no cancel requests if the
// dialect has the template "listen".
func (t *Conversation) sendForms(template string) {
	o, ok := t.dialect.TemplateOperation(template)
	if !ok || template != "prompt" && !t.canSend(template) || template == "cancel" && t.HasTemplate("listen") {
		return
	}
	t.Thread, t.Run = t.NewID(), t.NewID()
	e := t.PromptEvent("text", "1/2 é 🙂")
	if !o.StartsRun {
		if t.SendAndRead("prompt", e); !t.accepted {
			return
		}
		e = spec.Event{}
	}
	for i, form := range requestForms {
		r := t.BuildRequest(template, e)
		if o.StartsRun {
			r = t.withNewIDs(r)
		}
		other := form.rewrite(r)
		if i > 0 && reflect.DeepEqual(other, r) {
			continue
		}
		if len(t.dialect.ValidateRequest(other)) == 0 {
			t.Send(other)
		}
	}
}
