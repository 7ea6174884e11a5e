package suites

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// replyScenarios are the scenarios that reply to tool calls and interrupts in special ways: in
// every form that the document allows, with several results in one request, after invalid replies,
// late, or not at all.
var replyScenarios = []Scenario{
	forTools("replies-tools", "results of client tools in every form that the document allows",
		func(t *Conversation) { t.sendReplyForms("tool-result") }),
	forTools("replies-tools-refused", "a result of a client tool after results that the server must refuse",
		func(t *Conversation) { t.sendReplyAfterRefusals("tool-result") }),
	{
		Name: "replies-tools-together", Doc: "the results of two calls of client tools in one request",
		Capability: "client-tool", Templates: []string{"tool-offer", "tool-results"}, Run: runToolResults,
	},
	forInterrupts("replies-interrupts", "answers to interrupts in every form that the document allows",
		func(t *Conversation) {
			t.sendReplyForms("resume")
			if t.HasTemplate("resume-cancelled") {
				t.sendReplyForms("resume-cancelled")
			}
		}),
	forInterrupts("replies-interrupts-refused", "an answer to an interrupt after answers that the server must refuse",
		func(t *Conversation) { t.sendReplyAfterRefusals("resume") }),
	forTools("tools-late", "a result of a client tool a while after the call",
		func(t *Conversation) { t.replyLate("tool-result") }),
	forInterrupts("interrupts-late", "an answer to an interrupt a while after it",
		func(t *Conversation) { t.replyLate("resume") }),
	forTools("tools-ignored", "prompts in place of the result of a client tool",
		func(t *Conversation) { t.promptInsteadOf("tool-result") }),
	forInterrupts("interrupts-ignored", "prompts in place of an answer to an interrupt, and after one that was dismissed",
		func(t *Conversation) {
			t.promptInsteadOf("resume")
			if !t.HasTemplate("resume-cancelled") {
				return
			}
			if e, ok := t.newReply("resume-cancelled"); ok {
				t.SendAndRead("resume-cancelled", e)
				t.startIfTaken("", t.PromptEvent("text", "after a dismissal"))
			}
		}),
}

// lateReplyDelay is the time for which the client waits before a late reply. A server must accept
// such a reply, because people usually take even more time to answer.
const lateReplyDelay = 1500 * time.Millisecond

// replyLate elicits a tool call or an interrupt (see [Conversation.newReply]), waits for
// [lateReplyDelay], and sends the reply, which it builds from the template with the given name.
func (t *Conversation) replyLate(template string) {
	if e, ok := t.newReply(template); ok && t.Sleep(lateReplyDelay) {
		t.SendAndRead(template, e)
	}
}

// promptInsteadOf elicits a tool call or an interrupt (see [Conversation.newReply]), and then sends
// prompts instead of a reply from the template with the given name. If the server refuses a prompt
// or the run fails, the exchange is removed from the recording (see [Conversation.startIfTaken]),
// because the protocol documents do not state whether the server must accept the prompt.
func (t *Conversation) promptInsteadOf(template string) {
	if _, ok := t.newReply(template); ok {
		t.startIfTaken("", t.PromptEvent("text", "instead of a reply"))
		t.startIfTaken("", t.PromptEvent("text", "another prompt instead"))
		if !t.target.lacksCapability("recall") {
			t.startIfTaken("", t.PromptEvent("recall", ""))
		}
	}
}

// forTools returns a scenario with the given name, description and Run function, for dialects that
// have client tools.
func forTools(name, doc string, run func(*Conversation)) Scenario {
	return Scenario{Name: name, Doc: doc, Capability: "client-tool", Templates: needsClientTool.Templates, Run: run}
}

// forInterrupts returns a scenario with the given name, description and Run function, for dialects
// that have interrupts.
func forInterrupts(name, doc string, run func(*Conversation)) Scenario {
	return Scenario{
		Name: name, Doc: doc, Capability: "interrupt", Templates: needsInterrupt.Templates, Kinds: needsInterrupt.Kinds, Run: run,
	}
}

// replyTemplates are the templates for replies, which are requests that refer to something that the
// server sent before, such as a tool call. A document may have further templates for other forms of
// the same reply. Their names begin with the name in replyTemplates and a hyphen, as in
// "tool-result-parts".
var replyTemplates = []string{"tool-result", "tool-results", "resume-cancelled", "resume", "sign", "uploaded"}

// plainReplyTemplate returns the element of [replyTemplates] to which the template belongs, such as
// "tool-result" for "tool-result" and "tool-result-parts". It returns "" if the template is not for
// replies.
func plainReplyTemplate(template string) string {
	for _, plain := range replyTemplates {
		if template == plain || strings.HasPrefix(template, plain+"-") {
			return plain
		}
	}
	return ""
}

// isReplyTemplate reports whether the template is for replies; see [replyTemplates].
func isReplyTemplate(template string) bool { return plainReplyTemplate(template) != "" }

// sendReplyForms sends a reply in each form that the dialect's document allows, each in a new
// thread. The argument plainTemplate is one of the [replyTemplates]. sendReplyForms uses that
// template and those for other forms of the same reply, and also sends valid variants of these
// requests. It omits most variants that prompts can also have, because the variants scenario sends
// prompts with them.
func (t *Conversation) sendReplyForms(plainTemplate string) {
	o, _ := t.dialect.TemplateOperation(plainTemplate)
	sent := map[string]bool{} // forms of variants
	t.Run = t.NewID()
	for _, v := range t.dialect.ValidVariants(t.BuildRequest("prompt", t.PromptEvent("text", "one"))) {
		// Variants with an unknown member are sent again, because a server may parse replies with
		// other code.
		sent[v.Form] = !strings.HasSuffix(v.Form, " is present")
	}
	for _, template := range o.Templates() {
		if plainReplyTemplate(template) == plainTemplate {
			t.sendReplyVariants(template, sent)
		}
	}
}

// newReply makes the server send or store, in a new thread, what a reply of the template with the
// given name refers to, and returns the event from which the reply can be built; see
// [Conversation.elicit]. ok is false if elicit returned false, or if the reply would not be valid
// for the interrupt that the server sent; see [Conversation.allowsReply].
func (t *Conversation) newReply(template string) (e spec.Event, ok bool) {
	t.Thread = t.NewID()
	e, ok = t.elicit(template)
	return e, ok && t.allowsReply(template, e)
}

// allowsReply reports whether a request that is built from the template and e may be a valid reply
// to the last interrupt. It returns true if the answer in the request matches the schema that the
// interrupt states for its answer, or if the interrupt states none. It also returns true if the
// template is one of the [replyTemplates].
func (t *Conversation) allowsReply(template string, e spec.Event) bool {
	interrupt, _ := t.onlyInterrupt()
	return interrupt.AnswerSchema == "" || template == plainReplyTemplate(template) ||
		t.dialect.AnswersMatch(t.BuildRequest(template, e), interrupt.AnswerSchema)
}

// buildReply sets t.Run to a new id and returns the result of [Conversation.BuildRequest] for the
// same arguments.
func (t *Conversation) buildReply(template string, e spec.Event) spec.Request {
	t.Run = t.NewID()
	return t.BuildRequest(template, e)
}

// sendReplyVariants sends a reply that it builds from the template with the given name, and then
// valid variants of the reply, each in a new thread. If the server refuses the first reply, it
// sends no variants. The map sent contains the variants sent so far, by
// [dialect.ValidRequestVariant.Form]. sendReplyVariants omits variants with these forms, and adds
// the forms that it sends. It also omits variants that are not replies.
func (t *Conversation) sendReplyVariants(template string, sent map[string]bool) {
	e, ok := t.newReply(template)
	if !ok {
		return
	}
	r := t.buildReply(template, e)
	if !t.Send(r) {
		return
	}
	for i, v := range t.dialect.ValidVariants(r) {
		e := t.dialect.ParseRequest(v.Request)
		if sent[v.Form] || len(e.PartsOf(spec.InputToolResult))+len(e.PartsOf(spec.InputResume)) == 0 {
			continue
		}
		sent[v.Form] = true
		if e, ok = t.newReply(template); !ok {
			return
		}
		if again := t.dialect.ValidVariants(t.buildReply(template, e)); i < len(again) { // with the new ids
			t.Send(again[i].Request)
		}
	}
}

// maxRefusedForms limits the number of requests that [Conversation.sendRefusedForms] sends. It
// sends fewer than twice this number.
const maxRefusedForms = 3

// sendRefusedForms sends invalid forms of the valid request r with the same thread and run ids; see
// [maxRefusedForms]. It stops at the first form that the server accepts. It reports whether the
// server refused all forms that were sent.
func (t *Conversation) sendRefusedForms(r spec.Request) (refused bool) {
	run := t.dialect.ParseRequest(r).Run
	all := slices.DeleteFunc(t.refusedForms(r, nil), func(m dialect.InvalidRequest) bool {
		return t.dialect.ParseRequest(m.Request).Run != run
	})
	step := max(1, len(all)/maxRefusedForms)
	for i := len(all) - 1; i >= 0; i -= step {
		if t.Send(all[i].Request) {
			return false
		}
	}
	return true
}

// sendShortAndLongForms sends the invalid forms of the valid request r in which a member is missing
// or a text is too short or too long. It stops at the first form that the server accepts. It
// reports whether the server refused all of them.
func (t *Conversation) sendShortAndLongForms(r spec.Request) (refused bool) {
	isShortOrLong := func(name string) bool {
		return strings.HasSuffix(name, " is missing") || strings.HasSuffix(name, " characters")
	}
	for _, m := range t.refusedForms(r, isShortOrLong) {
		if t.Send(m.Request) {
			return false
		}
	}
	return true
}

// refusedForms returns the invalid forms of the valid request r that name the same thread and that,
// according to the dialect's document, the server MUST or SHOULD refuse. If wants is not nil, it
// returns only those for whose name (see [dialect.InvalidRequest]) wants returns true.
func (t *Conversation) refusedForms(r spec.Request, wants func(name string) bool) []dialect.InvalidRequest {
	isDemanded := func(d spec.RefusalRequirement) bool { return d.Level != spec.May }
	thread := t.dialect.ParseRequest(r).Thread
	all := t.dialect.UnseenInvalidRequests(r, &dialect.DerivedInvalidRequests{Wants: wants})
	return slices.DeleteFunc(all, func(m dialect.InvalidRequest) bool {
		e := t.dialect.ParseRequest(m.Request)
		isRefusable := slices.ContainsFunc(e.Violations, func(v spec.Violation) bool {
			return slices.ContainsFunc(v.Refusals, isDemanded)
		})
		return e.Thread != thread || !isRefusable
	})
}

// sendReplyAfterRefusals elicits a tool call or an interrupt (see [Conversation.newReply]). It then
// sends invalid forms of the reply, which it builds from the template with the given name, and
// finally the valid reply. It stops if the server accepts an invalid form.
func (t *Conversation) sendReplyAfterRefusals(template string) {
	e, ok := t.newReply(template)
	if !ok {
		return
	}
	if r := t.buildReply(template, e); t.sendRefusedForms(r) && t.sendShortAndLongForms(r) {
		t.SendAndRead(template, e)
	}
}

// elicitAndReply returns a function for the field Run of a scenario. The function elicits a tool
// call or an interrupt (see [Conversation.elicit]) and sends the reply, which it builds from the
// template with the name replyTemplate. Checks judge both responses.
func elicitAndReply(replyTemplate string) func(*Conversation) {
	return func(t *Conversation) {
		if e, ok := t.elicit(replyTemplate); ok {
			t.SendAndRead(replyTemplate, e)
		}
	}
}

// runClientTool plays the client-tool scenario. It sends prompts for calls of client tools in
// requests that offer one or two tools, in each form of offer for which the dialect has a template.
// It sends the results of some of these calls. Then it sends prompts that offer a client tool but
// do not ask for a call of that tool, and one that asks for a call but offers no tool.
func runClientTool(t *Conversation) {
	elicitAndReply("tool-result")(t)
	_, offer := t.elicitingRequest("tool-result")
	if t.HasTemplate("tool-offer-object") {
		t.SendAndRead("tool-offer-object", offer)
	}
	t.Thread = t.NewID()
	for _, template := range []string{"tool-offer-object", "tool-offer-two"} {
		if t.HasTemplate(template) {
			t.SendAndRead(template, offer)
			if e, ok := t.replyEvent("tool-result"); ok && template == "tool-offer-two" {
				t.SendAndRead("tool-result", e)
				t.SendAndRead(template, offer)
			}
			t.Thread = t.NewID()
		}
	}
	if !t.target.lacksCapability("tool") && slices.Contains(t.dialect.Kinds(), spec.ToolResult) {
		offer.Text = t.PromptEvent("tool", `{"city":"Rome"}`).Text
		t.SendAndRead("tool-offer", offer)
	}
	for _, scenario := range promptsWithTools {
		if !t.target.lacksCapability(scenario) {
			offer.Text = t.PromptEvent(scenario, "with a tool").Text
			t.SendAndRead("tool-offer", offer)
		}
	}
	if !t.target.lacksCapability("slow") {
		offer.Text = t.PromptEvent("slow", "8 80").Text
		t.SendAndRead("tool-offer", offer)
	}
	t.Thread = t.NewID() // no request of this thread offers a tool, so none may be called
	t.startIfTaken("", t.PromptEvent("client-tool", `{"color":"blue"}`))
}

// promptsWithTools are the names of the test prompts that the client-tool scenario sends in
// requests that also offer a tool. The replies must not depend on the offer.
var promptsWithTools = []string{"text", "messages", "contents", "reasoning", "error-mid"}

// secondResult is the second of two results of a client tool.
const secondResult = "painted it once more"

// runToolResults plays the replies-tools-together scenario. First, it sends the result of one tool
// call. Then it sends three requests, each with the results of two tool calls. The two results are
// different in the first request and equal in the second. In the third, one of them is empty.
// Finally, it sends two different results in each other form that the dialect has a template for.
func runToolResults(t *Conversation) {
	elicitAndReply("tool-result")(t)
	for i, second := range []string{secondResult, "painted it blue", ""} {
		if i < 2 {
			t.Thread = t.NewID()
		}
		t.sendResults("tool-results", second)
	}
	o, _ := t.dialect.TemplateOperation("tool-results")
	for _, template := range o.Templates() {
		if template != "tool-results" && plainReplyTemplate(template) == "tool-results" {
			t.Thread = t.NewID()
			t.sendResults(template, secondResult)
		}
	}
}

// sendResults makes the server call a client tool in two runs of the current thread, and sends both
// results in one request that it builds from the template with the given name. The argument text is
// the second result.
func (t *Conversation) sendResults(template, text string) {
	if e, ok := t.elicit(template); ok {
		e.Description = text
		t.SendAndRead(template, e)
	}
}

// elicit makes the server call a client tool, send an interrupt or store a file, so that a request
// of the template with the name replyTemplate can refer to it. It returns the event from which that
// request can be built. ok is false if the server did not respond as required. For the template
// "tool-results", whose requests contain two results, elicit makes the server call the tool in two
// runs.
func (t *Conversation) elicit(replyTemplate string) (e spec.Event, ok bool) {
	if plainReplyTemplate(replyTemplate) == "tool-results" {
		first, _ := t.elicit("tool-result")
		second, ok := t.elicit("tool-result")
		first.ID, first.Description = second.Call, secondResult
		return first, ok && first.Call != ""
	}
	switch template, request := t.elicitingRequest(replyTemplate); {
	case template != "attach":
		t.SendAndRead(template, request)
	case !t.canSend(template) || !t.SendTemplate(template, request) && !t.uploadAfterRun(template, request):
		return spec.Event{}, false
	}
	return t.replyEvent(replyTemplate)
}

// uploadAfterRun sends a prompt in the current thread and then repeats the upload that the server
// has refused, built from the template and e, because the server may require that the thread
// exists. It reports whether the server accepted the upload. It sends nothing if the status of the
// refusal was neither 403 nor 404.
func (t *Conversation) uploadAfterRun(template string, e spec.Event) bool {
	if status := t.lastStatus(); status != http.StatusForbidden && status != http.StatusNotFound {
		return false
	}
	t.SendAndRead("prompt", t.PromptEvent("text", "before an upload"))
	return t.SendTemplate(template, e)
}

// elicitingRequest returns the template and the event from which [Conversation.elicit] builds a
// request whose response can be replied to with the template called replyTemplate. For example, for
// "resume" it is a prompt to which the response is an interrupt. elicitingRequest sends nothing.
func (t *Conversation) elicitingRequest(replyTemplate string) (template string, e spec.Event) {
	switch plainReplyTemplate(replyTemplate) {
	case "resume", "resume-cancelled":
		// A server that repeats an earlier interrupt must not go unnoticed.
		question := fmt.Sprintf(`{"question":"Delete %d files?","steps":["a","b"]}`, 3+t.exchangeCount())
		return "prompt", t.PromptEvent("interrupt", question)
	case "sign", "uploaded":
		return "attach", spec.Event{}
	}
	e = t.PromptEvent("client-tool", `{"color":"blue"}`)
	e.Name = "paint"
	return "tool-offer", e
}

// replyEvent returns the event from which a reply to the last response can be built with
// replyTemplate. The last request must be the one that [Conversation.elicitingRequest] describes.
// ok is false if the response does not contain the required tool call, stored file or single
// interrupt.
func (t *Conversation) replyEvent(replyTemplate string) (e spec.Event, ok bool) {
	switch plainReplyTemplate(replyTemplate) {
	case "resume", "resume-cancelled":
		interrupt, only := t.onlyInterrupt()
		return spec.Event{ID: interrupt.ID, Text: "approved"}, only
	case "sign":
		stored := t.LastEvent(spec.AttachmentStored)
		return spec.Event{Name: stored.Name, ID: stored.ID}, stored.ID != ""
	case "uploaded":
		e = t.PromptEvent("text", "an image")
		stored := t.LastEvent(spec.AttachmentStored)
		e.ID, e.Type = stored.Text, stored.Type
		e.Name = e.ID // of a second image
		return e, e.ID != ""
	}
	_, offer := t.elicitingRequest(replyTemplate)
	id := cmp.Or(t.LastEvent(spec.ToolStart).Call, t.LastEvent(spec.ToolCall).Call)
	return spec.Event{Call: id, Name: offer.Name, Text: "painted it blue", Description: offer.Text}, id != ""
}

// onlyInterrupt returns the interrupt in the last response. ok is false if the response contains no
// interrupt or several. Requests of the suite answer only one interrupt, and a server may refuse a
// request that does not answer all interrupts of a run.
func (t *Conversation) onlyInterrupt() (only spec.Event, ok bool) {
	for e := range t.Events(1) {
		for _, part := range append(e.Parts[:len(e.Parts):len(e.Parts)], e) {
			if part.Kind == spec.Interrupt && (only.Kind == "" || part.ID != only.ID) {
				ok = only.Kind == ""
				only = part
			}
		}
	}
	return only, ok
}
