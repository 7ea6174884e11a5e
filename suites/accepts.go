package suites

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
)

// runAccepts plays the accepts scenario, which sends every form of request that the document
// allows. It starts a run in a new thread with each template of the operation that starts runs,
// except the templates that answer a tool call or an interrupt. If the run succeeds and the target
// can recall messages, up to three further runs in the thread ask for the previous message:
//   - one with the same template, if its requests name a user;
//   - one with the template "prompt";
//   - another one with the same template, unless other requests of the operation repeat the history
//     and those of the template do not.
//
// If requests of the template contain earlier messages, further runs ask for reasoning and a tool
// call. After that, runAccepts sends requests with thread ids that are UUIDs of versions 1 and 7,
// requests with other unusual ids and, for each optional header field, a request without that
// field. Checks verify that the server accepts all of these requests.
func runAccepts(t *Conversation) {
	o, _ := t.dialect.TemplateOperation("prompt")
	for _, template := range o.Templates() {
		if isReplyTemplate(template) {
			continue
		}
		t.Thread = t.NewID()
		e := t.PromptEvent("text", "accepted as "+template)
		e.Name = "paint"
		parts := t.countParts(template, e)
		t.SendAndRead(template, e)
		if t.hasFollowedLastRequest() && !t.target.lacksCapability("recall") {
			recall := t.PromptEvent("recall", "")
			e.Text = recall.Text
			if t.dialect.ParseRequest(t.BuildRequest(template, e)).User != "" {
				t.SendAndRead(template, e) // the same user asks
			}
			t.SendAndRead("prompt", recall)
			if !t.dialect.RepeatsHistory(t.BuildRequest(template, e)) || t.countParts(template, e) > parts {
				t.SendAndRead(template, e)
			}
		}
		t.sendAfterHistory(template, e)
	}
	for _, version := range []string{"1", "7"} { // of UUIDs (RFC 9562); NewID returns version 4
		id := t.NewID()
		t.Thread = id[:14] + version + id[15:]
		t.SendAndRead("prompt", t.PromptEvent("text", "accepted"))
	}
	t.sendWithUnusualIDs()
	for _, template := range []string{"prompt", "listen"} {
		o, _ := t.dialect.TemplateOperation(template)
		if o == nil {
			continue
		}
		for _, optional := range o.OptionalHeaders {
			t.Thread, t.Run = t.NewID(), t.NewID()
			e := t.PromptEvent("text", "accepted")
			if template == "listen" && !t.StartRun("prompt", e) {
				continue
			}
			r := t.BuildRequest(template, e)
			r.Header = r.Header.Without(optional.Name)
			t.Send(r)
		}
	}
}

// countParts returns the number of parts, such as messages and offered tools, in the request of the
// template with the values in e in place of its placeholders. It does not send the request.
func (t *Conversation) countParts(template string, e spec.Event) int {
	return len(t.dialect.ParseRequest(t.BuildRequest(template, e)).Parts)
}

// sendAfterHistory sends two further prompts in the current thread: one that asks for reasoning,
// with the given template, and one that asks for a call of a client tool. e holds the values for
// the placeholders of the template. A prompt for which the target lacks the capability is left out.
// sendAfterHistory sends nothing if requests of the template contain no earlier message in a role
// other than that of the user, or if the last request or its run failed.
func (t *Conversation) sendAfterHistory(template string, e spec.Event) {
	isOther := func(part spec.Event) bool { return part.Kind != spec.InputUser && part.Kind != spec.InputTool }
	parts := t.dialect.ParseRequest(t.BuildRequest(template, e)).Parts
	if !t.hasFollowedLastRequest() || !slices.ContainsFunc(parts, isOther) {
		return
	}
	if !t.target.lacksCapability("reasoning") {
		e.Text = t.PromptEvent("reasoning", "after earlier messages").Text
		t.SendAndRead(template, e)
	}
	if t.target.supports(needsClientTool) {
		_, e = t.elicitingRequest("tool-result")
		t.SendAndRead("tool-offer", e)
	}
}

// longIDLength is the length of long ids, in characters. Servers often store ids in fields of
// limited size, such as 64 or 128 characters, although few documents state a limit.
const longIDLength = 200

// sendWithUnusualIDs starts four runs, each in a new thread. The thread id is unusual in two of
// them, and the run id in the other two: in one run it is [longIDLength] characters long, and in
// the other it consists of digits and begins with zeros. A careless server takes such an id for a
// number and drops the zeros. Two more runs are in threads whose ids are "constructor" and
// "__proto__", the names of members that every JavaScript object inherits, and one is in a thread
// whose id contains a colon. Requests that the document does not allow are left out.
func (t *Conversation) sendWithUnusualIDs() {
	send := func() {
		r := t.BuildRequest("prompt", t.PromptEvent("text", "accepted"))
		if len(t.dialect.ValidateRequest(r)) == 0 && t.Send(r) && !t.respondsWithStream("prompt") {
			t.ReadStream("", 0)
		}
	}
	for _, change := range []func(string) string{
		func(id string) string { return id + strings.Repeat("x", longIDLength-len(id)) },
		digitsOnly,
	} {
		for _, id := range []*string{&t.Thread, &t.Run} {
			t.Thread, t.Run = t.NewID(), t.NewID()
			*id = change(*id)
			send()
		}
	}
	// The first two are names of members that objects of JavaScript inherit.
	for _, id := range []string{"constructor", "__proto__", "a:" + t.NewID()} {
		t.Thread, t.Run = id, t.NewID()
		send()
	}
}

// digitsOnly returns "00" followed by the last 14 decimal digits in id, or by all of them if there
// are fewer.
func digitsOnly(id string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, id)
	return "00" + digits[max(0, len(digits)-14):]
}
