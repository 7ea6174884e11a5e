package suites

import (
	"strings"
)

// runAccepts plays the accepts scenario. It starts a run with each form of request that the
// document allows. If the run succeeds, two more runs of the thread ask for the previous message.
// The last of them uses the same form of request as the first run, unless requests repeat the
// history. Then runAccepts sends requests with ids of other UUID versions, with unusual ids and, for
// each optional header field, a request without that field. Checks verify that the server accepts
// all of these requests.
func runAccepts(t *Conversation) {
	o, _ := t.dialect.TemplateOperation("prompt")
	for _, template := range o.Templates() {
		if isReplyTemplate(template) {
			continue
		}
		t.Thread = t.NewID()
		e := t.PromptEvent("text", "accepted as "+template)
		e.Name = "paint"
		t.SendAndRead(template, e)
		if t.hasFollowedLastRequest() && !t.target.lacksCapability("recall") {
			recall := t.PromptEvent("recall", "")
			t.SendAndRead("prompt", recall)
			if !t.dialect.RepeatsHistory(t.BuildRequest("prompt", recall)) {
				e.Text = recall.Text
				t.SendAndRead(template, e)
			}
		}
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

// longIDLength is the length of long ids, in characters. Servers often store ids in fields of
// limited size, such as 64 or 128 characters, although few documents state a limit.
const longIDLength = 200

// sendWithUnusualIDs starts runs with unusual ids of their threads and then, in other threads, runs
// with unusual ids: one that is long, and one that looks like a number, which a careless server
// takes for one. It leaves out requests that the document does not allow.
func (t *Conversation) sendWithUnusualIDs() {
	for _, change := range []func(string) string{
		func(id string) string { return id + strings.Repeat("x", longIDLength-len(id)) },
		digitsOnly,
	} {
		for _, id := range []*string{&t.Thread, &t.Run} {
			t.Thread, t.Run = t.NewID(), t.NewID()
			*id = change(*id)
			r := t.BuildRequest("prompt", t.PromptEvent("text", "accepted"))
			if len(t.dialect.ValidateRequest(r)) == 0 && t.Send(r) && !t.respondsWithStream("prompt") {
				t.ReadStream("", 0)
			}
		}
	}
}

// digitsOnly returns two zeros and the last digits of id.
func digitsOnly(id string) string {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, id)
	return "00" + digits[max(0, len(digits)-14):]
}
