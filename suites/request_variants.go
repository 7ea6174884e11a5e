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

// runVariants plays the variants scenario. For each template whose requests start a run and are not
// replies, it sends a valid request and then variants of it, such as one without an optional
// member. A form of variant that several templates share (see [dialect.ValidRequestVariant.Form])
// is sent only once. If possible, the same is done with a message that contains an uploaded image.
// Finally, the requests of the most common templates are sent in all [requestForms].
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

// runForms plays the forms scenario. For each template whose requests start a run and are not
// replies, except "prompt", it asks for two of the following: a text, a tool call, a failure at the
// start and one in the middle. The seed determines which two. If [Target.Deep] is set, it asks for
// all of them. In another thread, it asks for an interrupt, if the target supports that. Finally,
// it requests the histories of the threads in which the server accepted one of the other prompts.
// If the server keeps the streams of its runs, runForms also requests the rest of a stream from a
// cursor in its middle. The form of a request must not make a difference to its run. If the
// requests repeat the earlier messages of their thread, each prompt gets a new thread. runForms
// sends nothing if the target is not scripted.
func runForms(t *Conversation) {
	c, ok := newPayloadPlayer(t, "form")
	if !ok {
		return
	}
	o, _ := c.dialect.TemplateOperation("prompt")
	var threads []string
	for i, template := range o.TemplatesBySimplicity()[1:] {
		if isReplyTemplate(template) {
			continue
		}
		c.Thread = c.NewID()
		for k, prompt := range []struct{ scenario, args string }{
			{"text", edgeSamples[0].make(c.word())}, {"error", c.word()}, {"tool", c.object()}, {"error-mid", c.word()},
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
			if c.dialect.RepeatsHistory(c.BuildRequest(template, e)) {
				c.Thread = c.NewID()
			}
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

// runCorrected plays the corrected scenario. It starts a run. In a new thread, it sends invalid
// forms of a request. If the server refuses them, it requests the history, which shows that the
// thread is still unknown, and then sends the valid request. In the thread of the first run, it
// sends invalid forms of another request. If the server refuses these, it sends a valid request for
// a different run and, after a pause, the request of which it sent invalid forms, now valid. At the
// end, the history of each thread must contain only the messages of the valid requests and the
// replies to them. Then it sends a valid request after each of the [refusedForms], and the server
// must still report that it is healthy. All requests are sent on connections that are reused, on
// which a faulty server may mix up an invalid request with the valid one before it.
func runCorrected(t *Conversation) {
	t.keepAlive()
	if t.SendAndRead("prompt", t.PromptEvent("text", "one")); !t.accepted {
		return
	}
	known := t.Thread
	t.Thread, t.Run = t.NewID(), t.NewID()
	r := t.BuildRequest("prompt", t.PromptEvent("text", "corrected"))
	if m, ok := t.dialect.InvalidRequestByName(r, refusedForms[0]); ok {
		t.Send(m.Request)
	}
	if t.sendRefusedForms(r) {
		if t.canSend("history") {
			t.SendTemplate("history", spec.Event{})
		}
		t.sendAndReadAgain(r)
		t.completeHistory()
	}
	run := t.NewID()
	t.Thread, t.Run = known, run
	r = t.BuildRequest("prompt", t.PromptEvent("text", "corrected in a known thread"))
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
// stream of the run to its end. It is for requests of which invalid forms with the same ids were
// sent before.
func (t *Conversation) sendAndReadAgain(r spec.Request) {
	if t.Send(r) && !t.respondsWithStream("prompt") {
		t.ReadStream("", 0)
	}
}

// sendVariants sends the request of the template, with the values in e in place of its
// placeholders, and then variants of that request, each with new ids. The map sent contains true
// for each form of variants (see [dialect.ValidRequestVariant]) that is to be left out.
// sendVariants adds each form that it sends to the map, so no form is sent twice. If no variants
// are left, it does not send the request itself either. If the response to the request ends early,
// it sends no variants. If the server refuses the request, it sends only the variants without an
// optional member, which may show what the server refuses, and does not add their forms to the map.
// It leaves out these variants, too, if no variant was sent before.
func (t *Conversation) sendVariants(template string, e spec.Event, sent map[string]bool) {
	t.Run = t.NewID()
	r := t.BuildRequest(template, e)
	isSent := func(v dialect.ValidRequestVariant) bool { return sent[v.Form] && !isUnknownAtRoot(v) }
	variants := slices.DeleteFunc(t.dialect.ValidVariants(r), isSent)
	if len(variants) == 0 {
		return
	}
	accepted := t.Send(r)
	if t.wasCutOff() || !accepted && len(sent) == 0 {
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

// isUnknownAtRoot reports whether v has an unknown member beside the documented members of the body.
// A server may check these members with different code for different kinds of requests.
func isUnknownAtRoot(v dialect.ValidRequestVariant) bool {
	return strings.Count(v.Name, "/") == 1 && strings.HasSuffix(v.Name, " is present")
}

// sendUploadVariants uploads an image and sends a request that contains the image. Then it sends
// the variants of the request, except those for whose form (see [dialect.ValidRequestVariant]) the
// map sent contains true. All requests are in the same new thread. Unlike
// [Conversation.sendVariants], it does not modify the map. If the server does not accept the
// request, it sends no variants.
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

// wasCutOff reports whether the last response ended early, for example because the transfer failed.
func (t *Conversation) wasCutOff() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.trace.Exchanges) > 0 && t.trace.Exchanges[len(t.trace.Exchanges)-1].Response.End != nil
}

// sendForms sends the request of a template in all [requestForms], except those in which it would
// be invalid or would not differ from the usual form. If the request does not start a run,
// sendForms first starts a run to which the request can refer. It sends nothing if the dialect or
// the target does not support the template. It also sends no cancel requests in dialects that have
// the template "listen".
func (t *Conversation) sendForms(template string) {
	o, ok := t.dialect.TemplateOperation(template)
	if !ok || template != "prompt" && !t.canSend(template) || template == "cancel" && t.HasTemplate("listen") {
		return
	}
	t.Thread = t.NewID()
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
