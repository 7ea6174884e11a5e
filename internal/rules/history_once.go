package rules

import "github.com/streamassay/streamassay/spec"

// HistoryHasMessagesOnce judges whether a history contains each message no more often than it was
// sent.
var HistoryHasMessagesOnce = &spec.Check{
	ID: "history.tells-once",
	Doc: `the history contains no message more often than it was sent

This is judged for threads that are known to be new, if the streams of all their runs were
read to the end.`,
	Needs: []spec.Kind{spec.History, spec.RunAccepted},
	Watch: eachHistoryPage(func(p *spec.Pass, c *runsAndHistories, x *exchange, page spec.Event) {
		sent, known := c.sentTexts(x, page.Thread)
		if !known {
			return
		}
		told := map[senderText]int{}
		for _, m := range page.Parts {
			told[senderText{m.Kind, m.Text}]++
		}
		for _, m := range page.Parts {
			key := senderText{m.Kind, m.Text}
			// A text that was not sent is not judged. An empty one may accompany a tool call.
			if n := told[key]; n > 0 && sent[key] > 0 && m.Text != "" {
				p.Judge(page, n <= sent[key],
					"history of this thread has the message %q of the %s %s; expected it at most %s, as often as it was sent there",
					m.Text, roleOf[m.Kind], pluralize(n, "time"), pluralize(sent[key], "time"))
			}
			delete(told, key)
		}
	}),
}

// roleOf maps the kind of a message in a history to the role of its sender.
var roleOf = map[spec.Kind]string{spec.HistoryUser: "user", spec.HistoryAssistant: "assistant"}

// A senderText identifies a text that the user or the assistant sent. The field kind is the
// kind of a message with that text in a history: [spec.HistoryUser] or [spec.HistoryAssistant].
type senderText struct {
	kind spec.Kind
	text string
}

// sentTexts returns how often each text was sent in a thread before the history in x was
// requested. These are the texts of the prompts and of the messages of the assistant. If an answer
// has several messages, their joined text is counted, too. The result known is false if the
// numbers are unknown, for example because the thread may have existed before the conversation, or
// because the stream of a run was not read to its end.
func (c *runsAndHistories) sentTexts(x *exchange, thread string) (sent map[senderText]int, known bool) {
	sent = map[senderText]int{}
	for _, r := range c.runs {
		if r.request.Thread != thread || r.request.At > x.request.At {
			continue
		}
		first := len(sent) == 0
		if first && (!c.isFirstInThread(r) || r.acceptance.Created != "true" && !c.hadNoHistory(r)) ||
			r.requestedAgain || r.content == nil || credentialKey(r.request) != credentialKey(x.request) {
			return nil, false
		}
		if prompt, ok := r.request.Prompt(); ok {
			sent[senderText{spec.HistoryUser, prompt}]++
		} else { // other messages follow that of the user
			for _, m := range r.request.PartsOf(spec.InputUser) {
				sent[senderText{spec.HistoryUser, m.Text}]++
			}
		}
		texts := r.content.texts(false)
		for _, text := range texts {
			sent[senderText{spec.HistoryAssistant, text}]++
		}
		if len(texts) > 1 {
			sent[senderText{spec.HistoryAssistant, r.content.text()}]++
		}
	}
	return sent, len(sent) > 0 && !c.changedOtherwise[thread] && !c.changedOtherwise[""]
}
