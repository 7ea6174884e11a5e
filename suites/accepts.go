package suites

import (
	"slices"
	"strings"

	"github.com/streamassay/streamassay/spec"
	"github.com/streamassay/streamassay/spec/dialect"
)

// runAccepts plays the accepts scenario, which sends valid requests in many forms:
//   - a prompt built from each template of the operation that starts runs, except the templates for
//     replies (see [replyTemplates]), each in a new thread and after its history;
//   - after each of these, further prompts in the same thread, which test whether the agent
//     remembers the earlier messages;
//   - prompts with unusual ids of threads and runs, including UUIDs of versions 1 and 7;
//   - a prompt after many earlier messages, if requests repeat the history of their thread;
//   - requests that omit an optional header field.
//
// Checks verify that the server accepts all of these requests.
func runAccepts(t *Conversation) {
	o, _ := t.dialect.TemplateOperation("prompt")
	for _, template := range o.Templates() {
		if isReplyTemplate(template) {
			continue
		}
		t.Thread = t.NewID()
		if o, ok := t.dialect.TemplateOperation("history"); ok && !o.StartsRun && t.canSend("history") {
			t.SendTemplate("history", spec.Event{}) // shows that the thread is new
		}
		e := t.PromptEvent("text", "accepted as "+template)
		e.Name = "paint"
		parts := t.countParts(template, e)
		t.SendAndRead(template, e)
		if t.hasFollowedLastRequest() && !t.target.lacksCapability("recall") {
			recall := t.PromptEvent("recall", "")
			e.Text = recall.Text
			if t.dialect.ParseRequest(t.BuildRequest(template, e)).User != "" {
				t.SendAndRead(template, e) // the requests of this template name a user; ask as the same user
			}
			t.SendAndRead("prompt", recall)
			// A request that should repeat the history, but does not, would lose the thread's
			// messages.
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
	t.sendLongHistory()
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

// countParts returns the number of messages, tools and other parts in the request that
// [Conversation.BuildRequest] returns for the same arguments. It does not send the request.
func (t *Conversation) countParts(template string, e spec.Event) int {
	return len(t.dialect.ParseRequest(t.BuildRequest(template, e)).Parts)
}

// sendAfterHistory tests whether the agent can reason and call a client tool if the request
// contains earlier messages. It sends a prompt that asks for reasoning, built from the template
// with the given name and from e, and a prompt that asks for a tool call, built from the template
// "tool-offer". It omits a prompt that the target does not support. It sends nothing if requests of
// the given template contain only user messages and client tools, or if the last run failed.
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

// longIDLength is the length, in bytes, of the long ids that [Conversation.sendWithUnusualIDs]
// sends. Many servers store ids in fields of 64 or 128 characters, although few of the protocols
// state a limit.
const longIDLength = 200

// sendWithUnusualIDs starts runs with unusual ids of the thread or the run: long ones, ones that
// consist of digits, names that are special in JavaScript, ones with a colon or with characters
// that URLs must escape, and a UUID in capital letters. It omits requests that the dialect's
// document does not allow.
func (t *Conversation) sendWithUnusualIDs() {
	send := func() {
		r := t.BuildRequest("prompt", t.PromptEvent("text", "accepted"))
		if len(t.dialect.ValidateRequest(r)) == 0 && t.Send(r) && !t.respondsWithStream("prompt") {
			t.ReadStream("", 0)
		}
	}
	for _, change := range []func(string) string{
		func(id string) string { return id + strings.Repeat("x", longIDLength-len(id)) },
		digitsOnly, // a server that converts the id to a number drops the leading zeros
	} {
		for _, id := range []*string{&t.Thread, &t.Run} {
			t.Thread, t.Run = t.NewID(), t.NewID()
			*id = change(*id)
			send()
		}
	}
	if !t.respondsWithStream("prompt") { // a stream may have the id in lower case
		t.Thread, t.Run = strings.ToUpper(t.NewID()), t.NewID()
		if r := t.BuildRequest("prompt", t.PromptEvent("text", "accepted")); len(t.dialect.ValidateRequest(r)) == 0 {
			t.Send(r)
		}
	}
	// Every object in JavaScript inherits members with the first two names. The characters of the
	// last id have a meaning in URLs.
	for _, id := range []string{"constructor", "__proto__", "a:" + t.NewID(), t.NewID() + " 1+2&a=b#?%20"} {
		t.Thread, t.Run = id, t.NewID()
		send()
	}
}

// longHistoryLength is the number of earlier messages in the request of
// [Conversation.sendLongHistory]. A limit of 100 is common, although few of the protocols state
// one.
const longHistoryLength = 130

// sendLongHistory sends a prompt in a thread with many earlier messages of the user. It sends
// nothing if requests do not repeat the history of their thread, or if the document does not allow
// that many messages.
func (t *Conversation) sendLongHistory() {
	if !t.dialect.RepeatsHistory(t.BuildRequest("prompt", t.PromptEvent("text", "accepted"))) {
		return
	}
	var earlier dialect.MessageHistory
	for range longHistoryLength {
		t.Thread, t.Run = t.NewID(), t.NewID()
		earlier = t.dialect.AppendRequest(earlier, t.BuildRequest("prompt", t.PromptEvent("text", "accepted")))
	}
	e := t.PromptEvent("text", "accepted after many messages")
	e.Thread, e.Run = t.NewID(), t.NewID()
	r, err := t.dialect.BuildRequestAfter(earlier, "prompt", e)
	if err == nil && len(t.dialect.ValidateRequest(r)) == 0 {
		t.Send(r)
	}
}

// digitsOnly returns an id that consists of decimal digits and begins with two zeros. The other
// digits are the last 14 digits of id, or all of them if there are fewer.
func digitsOnly(id string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, id)
	return "00" + digits[max(0, len(digits)-14):]
}
