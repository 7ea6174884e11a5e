package suites

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// replyScenarios are the scenarios that reply to tool calls and interrupts in all forms that the
// document allows, with several results in one request, or after invalid replies. Most other
// scenarios send only the plain form of a reply.
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

// lateReplyDelay is how long the client waits before it replies in the scenarios with late replies.
// A person usually takes even longer to answer, so a server must not give up within this time.
const lateReplyDelay = 1500 * time.Millisecond

// replyLate makes the server send something to which a request of the template is a reply, such as
// a tool call. It waits for [lateReplyDelay], and then sends the reply.
func (t *Conversation) replyLate(template string) {
	if e, ok := t.newReply(template); ok && t.Sleep(lateReplyDelay) {
		t.SendAndRead(template, e)
	}
}

// promptInsteadOf makes the server send something to which a request of the template is a reply,
// such as a tool call, and sends two prompts instead of the reply. If the target can recall
// messages, it then asks for the previous one. The documents do not say whether a server accepts
// these prompts, and what it then replies, so checks judge only the form of the first reply.
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

// replyTemplates are the templates whose requests reply to something that the server sent before,
// such as a tool call. Each sends the plain form of a reply. A document may have further templates
// for other forms of the same reply. Their names begin with the name of the plain form and a
// hyphen, as in "tool-result-parts".
var replyTemplates = []string{"tool-result", "tool-results", "resume-cancelled", "resume", "sign", "uploaded"}

// plainReplyTemplate returns the element of [replyTemplates] that is the plain form of the
// template, such as "tool-result" for "tool-result-parts". It returns "" if requests of the
// template are not replies.
func plainReplyTemplate(template string) string {
	for _, plain := range replyTemplates {
		if template == plain || strings.HasPrefix(template, plain+"-") {
			return plain
		}
	}
	return ""
}

// isReplyTemplate reports whether the requests of the template are replies to something that the
// server sent before.
func isReplyTemplate(template string) bool { return plainReplyTemplate(template) != "" }

// sendReplyForms sends a reply in each form that the document allows, each in a new thread. It uses
// all templates whose plain form is plainTemplate, and the variants of their requests. It leaves
// out the forms of variants that prompts can have as well, because the variants scenario sends
// prompts in these forms. Variants with an unknown member are sent nevertheless, because servers
// may read a reply with different code.
func (t *Conversation) sendReplyForms(plainTemplate string) {
	o, _ := t.dialect.TemplateOperation(plainTemplate)
	sent := map[string]bool{} // forms of variants
	t.Run = t.NewID()
	for _, v := range t.dialect.ValidVariants(t.BuildRequest("prompt", t.PromptEvent("text", "one"))) {
		sent[v.Form] = !strings.HasSuffix(v.Form, " is present") // servers may read a reply with other code
	}
	for _, template := range o.Templates() {
		if plainReplyTemplate(template) == plainTemplate {
			t.sendReplyVariants(template, sent)
		}
	}
}

// newReply makes the server call a client tool, send an interrupt or store a file in a new thread,
// depending on what requests of the template reply to (see [Conversation.elicit]). It returns the
// event with the values for such a request. ok is false if the server did not do so. ok is also
// false if the server sent an interrupt with a schema for the answer and the template is for an
// answer in a form other than the plain one, because the schema may not allow other forms.
func (t *Conversation) newReply(template string) (e spec.Event, ok bool) {
	t.Thread = t.NewID()
	e, ok = t.elicit(template)
	interrupt, _ := t.onlyInterrupt()
	return e, ok && (interrupt.AnswerSchema == "" || template == plainReplyTemplate(template))
}

// buildReply sets t.Run to a new run id and returns the request for that run that is built from the
// template with the given name. The event e has the values that replace the placeholders of the
// template (see [Conversation.BuildRequest]), such as the id of the tool call or interrupt to which
// the request replies.
func (t *Conversation) buildReply(template string, e spec.Event) spec.Request {
	t.Run = t.NewID()
	return t.BuildRequest(template, e)
}

// sendReplyVariants sends a reply of the template and then variants of this reply, each in a new
// thread. It leaves out variants that are not replies, and those for whose form (see
// [dialect.ValidRequestVariant]) the map sent contains true. It adds the forms of the others to
// that map. If the server does not accept the first reply, which checks judge, sendReplyVariants
// sends no variants.
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

// maxRefusedForms is the approximate maximum number of requests that
// [Conversation.sendRefusedForms] sends.
const maxRefusedForms = 3

// sendRefusedForms sends about [maxRefusedForms] invalid forms of the valid request r that name the
// same thread and run as r (see [Conversation.refusedForms]). It returns true if the server refused
// all of them. If the server accepts one, it stops and returns false.
func (t *Conversation) sendRefusedForms(r spec.Request) (refused bool) {
	run := t.dialect.ParseRequest(r).Run
	all := slices.DeleteFunc(t.refusedForms(r), func(m dialect.InvalidRequest) bool {
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

// sendShortAndLongForms sends those invalid forms of the valid request r in which something is
// missing or a text is too short or too long (see [Conversation.refusedForms]). The forms need not
// name the same run as r. It returns true if the server refused all of them. If the server accepts
// one, it stops and returns false.
func (t *Conversation) sendShortAndLongForms(r spec.Request) (refused bool) {
	for _, m := range t.refusedForms(r) {
		shortOrLong := strings.HasSuffix(m.Name, " is missing") || strings.HasSuffix(m.Name, " characters")
		if shortOrLong && t.Send(m.Request) {
			return false
		}
	}
	return true
}

// refusedForms returns the invalid forms of the valid request r that name the same thread as r and
// that the document says the server must or should refuse.
func (t *Conversation) refusedForms(r spec.Request) []dialect.InvalidRequest {
	isDemanded := func(d spec.RefusalRequirement) bool { return d.Level != spec.May }
	thread := t.dialect.ParseRequest(r).Thread
	return slices.DeleteFunc(t.dialect.InvalidRequests(r), func(m dialect.InvalidRequest) bool {
		e := t.dialect.ParseRequest(m.Request)
		isRefusable := slices.ContainsFunc(e.Violations, func(v spec.Violation) bool {
			return slices.ContainsFunc(v.Refusals, isDemanded)
		})
		return e.Thread != thread || !isRefusable
	})
}

// sendReplyAfterRefusals makes the server send something to which a request of the template is a
// reply, such as a tool call. It sends invalid forms of that reply, including all in which
// something is missing, and then the valid reply. It stops if the server accepts an invalid form.
func (t *Conversation) sendReplyAfterRefusals(template string) {
	e, ok := t.newReply(template)
	if !ok {
		return
	}
	if r := t.buildReply(template, e); t.sendRefusedForms(r) && t.sendShortAndLongForms(r) {
		t.SendAndRead(template, e)
	}
}

// elicitAndReply returns a function for the field Run of a scenario. The function makes the server
// call a client tool or send an interrupt, and then sends the reply, which is a request of the
// given template. Checks judge both responses.
func elicitAndReply(replyTemplate string) func(*Conversation) {
	return func(t *Conversation) {
		if e, ok := t.elicit(replyTemplate); ok {
			t.SendAndRead(replyTemplate, e)
		}
	}
}

// runClientTool plays the client-tool scenario. It makes the server call a client tool and sends
// the result. In the same thread and in a new one, it then offers the tool in another form, if the
// dialect has a template for that, and sends no result. In another thread, it offers two tools,
// sends a result, and offers the two tools again. In a further thread, it offers a client tool
// but makes the server call its own tool, and then sends prompts that offer a client tool but do
// not ask for a call.
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
}

// promptsWithTools are the scenarios whose prompts the client-tool scenario sends in requests that
// also offer a tool. The offer must not change the replies.
var promptsWithTools = []string{"text", "messages", "contents", "reasoning", "error-mid"}

// runToolResults plays the replies-tools-together scenario. It sends the result of one call. Then,
// in two other threads, it sends the results of two calls in one request. In the first of these
// threads, the two results differ. In the second, they are equal. A further request in that thread
// has the results of two more calls; one of these results is empty.
func runToolResults(t *Conversation) {
	elicitAndReply("tool-result")(t)
	for i, second := range []string{"painted it once more", "painted it blue", ""} {
		if i < 2 {
			t.Thread = t.NewID()
		}
		if e, ok := t.elicit("tool-results"); ok {
			e.Description = second
			t.SendAndRead("tool-results", e)
		}
	}
}

// elicit makes the server call a client tool, send an interrupt or store a file, depending on what
// requests of the template replyTemplate reply to. For the template "tool-results", whose requests
// send two results at once, the server must call the tool twice, in two runs. elicit returns the
// event with the values for a request of replyTemplate. ok is false if the server did not do so.
func (t *Conversation) elicit(replyTemplate string) (e spec.Event, ok bool) {
	if replyTemplate == "tool-results" {
		first, _ := t.elicit("tool-result")
		second, ok := t.elicit("tool-result")
		first.ID, first.Description = second.Call, "painted it once more"
		return first, ok && first.Call != ""
	}
	switch template, request := t.elicitingRequest(replyTemplate); {
	case template != "attach":
		t.SendAndRead(template, request)
	case !t.canSend(template) || !t.SendTemplate(template, request):
		return spec.Event{}, false
	}
	return t.replyEvent(replyTemplate)
}

// elicitingRequest describes the request that makes the server call a client tool, send an
// interrupt or store a file, depending on what requests of the template replyTemplate reply to. It
// returns the name of the template of that request, and the event with the values for its
// placeholders. It sends nothing.
func (t *Conversation) elicitingRequest(replyTemplate string) (template string, e spec.Event) {
	switch plainReplyTemplate(replyTemplate) {
	case "resume", "resume-cancelled":
		return "prompt", t.PromptEvent("interrupt", `{"question":"Delete 3 files?","steps":["a","b"]}`)
	case "sign", "uploaded":
		return "attach", spec.Event{}
	}
	e = t.PromptEvent("client-tool", `{"color":"blue"}`)
	e.Name = "paint"
	return "tool-offer", e
}

// replyEvent returns the event with the values for a request of the template replyTemplate. It
// takes the ids in it from the response of the last exchange, in which the server must have
// responded to the request that [Conversation.elicitingRequest] describes. ok is false if the
// response does not contain what the request would reply to: a tool call, a stored file, or a
// single interrupt.
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
		e.ID = t.LastEvent(spec.AttachmentStored).Text
		e.Name = e.ID // of a second image
		return e, e.ID != ""
	}
	_, offer := t.elicitingRequest(replyTemplate)
	id := cmp.Or(t.LastEvent(spec.ToolStart).Call, t.LastEvent(spec.ToolCall).Call)
	return spec.Event{Call: id, Name: offer.Name, Text: "painted it blue", Description: offer.Text}, id != ""
}

// onlyInterrupt returns the interrupt in the response of the last exchange. ok is false if the
// response contains no interrupt or several. The requests of the suite answer a single interrupt,
// and a server may refuse a request that leaves other interrupts of the run unanswered.
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
